package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// hostile is one server of the test below: what list_servers says of it, and
// the tool calls that must work all the same.
type hostile struct {
	mode   fakeupstream.Mode
	status string
	why    string // part of its error; empty if it has none
	tools  int    // at least
	call   string // an expression that must give true; empty for servers that cannot be called
}

const echoWorks = `JSON.stringify(await callMCPTool('%s__echo', { a: 1 })).includes('1')`

var hostiles = []hostile{
	{mode: fakeupstream.Exits, status: "failed", why: "exit status 3"},
	{mode: fakeupstream.SilentInit, status: "failed", why: "no answer to initialize for"},
	{mode: fakeupstream.BadVersion, status: "failed", why: "2099-01-01"},
	{mode: fakeupstream.SilentList, status: "failed", why: "no answer to tools/list for"},
	{mode: fakeupstream.Legacy, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.SilentProbe, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.StuckProbe, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.ExitsProbe, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.Banner, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.BOM, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.BadAnnotation, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.OddSchemas, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.OddNames, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.RepeatedPage, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.ManyTools, status: "ready", tools: 5000},
	{mode: fakeupstream.Storm, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.Numbers, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.BigResult, status: "ready", tools: 1, call: `(await callMCPTool('%s__big')).length >= 20e6`},
	{mode: fakeupstream.Hangs, status: "ready", tools: 1,
		call: `await callMCPTool('%s__hang').then(() => false, e => e.code === 'timeout')`},
	{mode: fakeupstream.Dies, status: "ready", tools: 1,
		call: `await callMCPTool('%[1]s__die').then(() => false, () => true) && JSON.stringify(await callMCPTool('%[1]s__echo', { a: 1 })).includes('1')`},
	{mode: fakeupstream.IgnoresTerm, status: "ready", tools: 1, call: echoWorks},
	{mode: fakeupstream.Grandchild, status: "ready", tools: 1, call: echoWorks},
}

// One bad server costs nothing but itself: with one of each kind beside a good
// one, the tools are listed at once, the good one works throughout, each bad one
// is listed with its reason, whatever can work does, and no process is left.
func TestBadServersCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the processes are looked at in /proc")
	}
	c := startStdio(t, hostileConfig(t))
	c.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if a := c.answer(t, 1); !strings.Contains(a, `"search_tools"`) {
		t.Fatal(a)
	}
	id := 1
	run := func(code string) broker.ExecuteAnswer {
		t.Helper()
		id++
		c.execute(t, id, code)
		return c.executed(t, id)
	}
	if a := run(`return await callMCPTool('good__echo', { text: 'while the others start' })`); a.ExitCode != 0 {
		t.Fatalf("the good server: %+v", a)
	}
	listed := c.settled(t, &id)
	for _, h := range hostiles {
		s := listed[string(h.mode)]
		if s.Status != h.status || s.ToolCount < h.tools || !strings.Contains(s.Error, h.why) || (h.why == "") != (s.Error == "") {
			t.Errorf("%s is listed as %+v; want %s with %d tools and %q", h.mode, s, h.status, h.tools, h.why)
		}
		t.Logf("%-14s %-7s %4d tools  %s", h.mode, s.Status, s.ToolCount, cli.OneLine(s.Error, 150))
	}
	for name, why := range map[string]string{"no-command": "no-such-program", "dead-url": "127.0.0.1"} {
		if s := listed[name]; s.Status != "failed" || !strings.Contains(s.Error, why) {
			t.Errorf("%s is listed as %+v; want it failed with %q", name, s, why)
		}
		t.Logf("%-14s %-7s %4d tools  %s", name, listed[name].Status, 0, cli.OneLine(listed[name].Error, 150))
	}
	for _, h := range hostiles {
		if h.call == "" {
			continue
		}
		call := fmt.Sprintf(h.call, strings.ReplaceAll(string(h.mode), "-", "_"))
		if a := run("return " + call); string(a.Result) != "true" {
			t.Errorf("%s: %s gives %s\n%s", h.mode, call, a.Result, a.Stderr)
		}
	}
	if a := run(`return await callMCPTool('good__echo', { text: 'after all' })`); a.ExitCode != 0 {
		t.Errorf("the good server at the end: %+v", a)
	}
	tree := descendants(t, c.cmd.Process.Pid)
	if len(tree) < 10 {
		t.Errorf("only %d processes below the broker before its end", len(tree))
	}
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	for _, pid := range tree {
		waitFor(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}

// hostileConfig is a config with all of them, whose time limits suit a test.
func hostileConfig(t *testing.T) string {
	t.Helper()
	server := func(mode fakeupstream.Mode, start int) map[string]any {
		return map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(mode), "startTimeout": start, "callTimeout": 90}
	}
	servers := map[string]any{
		"good":       server(fakeupstream.Good, 60),
		"no-command": map[string]any{"command": "no-such-program"},
		"dead-url":   map[string]any{"url": "http://127.0.0.1:1/mcp", "startTimeout": 20},
	}
	for _, h := range hostiles {
		s := server(h.mode, 60)
		switch h.mode {
		case fakeupstream.SilentInit, fakeupstream.SilentList:
			s["startTimeout"] = 4
		case fakeupstream.StuckProbe:
			s["startTimeout"] = 10
		case fakeupstream.Hangs:
			s["callTimeout"] = 1
		}
		servers[string(h.mode)] = s
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// executed is the answer of execute_code to the request with this id.
func (c *stdioClient) executed(t *testing.T, id int) broker.ExecuteAnswer {
	t.Helper()
	var a broker.ExecuteAnswer
	c.decode(t, id, &a)
	return a
}

// decode reads the one text block of the answer to a request as JSON.
func (c *stdioClient) decode(t *testing.T, id int, v any) {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	line := c.answer(t, id)
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	if err := json.Unmarshal([]byte(m.Result.Content[0].Text), v); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
}

// settled waits until no server is starting, and returns what list_servers says
// of each.
func (c *stdioClient) settled(t *testing.T, id *int) map[string]broker.ServerInfo {
	t.Helper()
	var servers map[string]broker.ServerInfo
	deadline := time.Now().Add(90 * time.Second)
	for {
		*id++
		c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_servers","arguments":{}}}`, *id))
		var a broker.ServersAnswer
		c.decode(t, *id, &a)
		servers = make(map[string]broker.ServerInfo)
		var starting strings.Builder
		for _, s := range a.Servers {
			servers[s.Name] = s
			// A server that failed is tried again by itself a few times.
			if s.Status == "starting" || s.Status == "idle" {
				starting.WriteString(" " + s.Name)
			}
		}
		if starting.String() == "" {
			return servers
		}
		if time.Now().After(deadline) {
			t.Fatalf("still starting:%s", starting.String())
		}
		<-time.After(50 * time.Millisecond)
	}
}
