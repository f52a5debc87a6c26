package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

// shelfConfig is a config with the test binary's own server, and the state of the
// brokers that use it.
func shelfConfig(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return shelfFile(t)
}

// shelfFile is shelfConfig without the state: for tests that run beside others, whose
// brokers have a directory for it.
func shelfFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"shelf": {"command": "shelf"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveHTTP starts a broker over HTTP and returns its URL.
func serveHTTP(t *testing.T, config string) string {
	t.Helper()
	return serveHTTPAt(t, config, "127.0.0.1:0")
}

func serveHTTPAt(t *testing.T, config, addr string) string {
	t.Helper()
	cmd := brokerCommand(t, "serve", "--http", addr, "--config", config)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	var said strings.Builder
	for lines := bufio.NewReader(stderr); ; { // notes may come first
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			t.Fatalf("serve says %q: %v", &said, err)
		}
		if _, url, ok := strings.Cut(strings.TrimSpace(line), "serving MCP at "); ok {
			return url
		}
	}
}

// A stdioClient speaks raw MCP to a broker process.
type stdioClient struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startStdio(t testing.TB, config string, more ...string) *stdioClient {
	t.Helper()
	return startClient(t, brokerCommand(t, append([]string{"serve", "--config", config}, more...)...))
}

// startClient starts cmd, which serves, and opens a session with it.
func startClient(t testing.TB, cmd *exec.Cmd) *stdioClient {
	t.Helper()
	in, out := pipes.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &stdioClient{cmd, in, bufio.NewScanner(out)}
	c.lines.Buffer(nil, 1<<24)
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
	c.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.answer(t, 0)
	c.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *stdioClient) send(t testing.TB, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		t.Fatal(err)
	}
}

// execute runs a script with more time than any needs here: the sandbox of a
// test with the race detector is many times slower.
func (c *stdioClient) execute(t *testing.T, id int, code string) {
	t.Helper()
	b, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":%s,"timeout":100}}}`, id, b))
}

// answer reads until the answer with this id, which it returns.
func (c *stdioClient) answer(t testing.TB, id int) string {
	t.Helper()
	for c.lines.Scan() {
		var m struct{ ID *int }
		if err := json.Unmarshal(c.lines.Bytes(), &m); err != nil {
			t.Fatalf("not JSON on stdout: %s", c.lines.Text())
		}
		if m.ID != nil && *m.ID == id {
			return c.lines.Text()
		}
	}
	t.Fatalf("no answer %d: %v", id, c.lines.Err())
	return ""
}

func auditList(t *testing.T, config string, more ...string) []struct {
	ID, Status string
	Calls      int
} {
	t.Helper()
	var list struct {
		Executions []struct {
			ID, Status string
			Calls      int
		}
	}
	if err := json.Unmarshal(output(t, brokerCommand(t, append([]string{"audit", "list", "--json", "--config", config}, more...)...)), &list); err != nil {
		t.Fatal(err)
	}
	return list.Executions
}

// Two brokers share a state directory, and one of them is killed in the middle
// of an execution: its finished calls are kept, its execution is interrupted,
// and that of the other still runs and ends.
func TestKilledBrokerLosesNothing(t *testing.T) {
	t.Parallel()
	config, state := shelfFile(t), t.TempDir()
	killed, other := startStdio(t, config, "--state-dir", state), startStdio(t, config, "--state-dir", state)
	const code = `for (let i = 0; i < 3; i++) await shelf.addBook({ title: 'b' + i }); await new Promise(done => setTimeout(done, %d)); return 'done'`
	killed.execute(t, 1, fmt.Sprintf(code, 25000))
	other.execute(t, 1, fmt.Sprintf(code, 4000))
	waitFor(t, "both executions have made their calls", func() bool {
		list := auditList(t, config, "--state-dir", state)
		return len(list) == 2 && list[0].Calls == 3 && list[1].Calls == 3
	})
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait()
	status := map[string]int{}
	for _, e := range auditList(t, config, "--state-dir", state) {
		status[e.Status]++
		if e.Calls != 3 {
			t.Errorf("execution %s has %d calls, want 3", e.ID, e.Calls)
		}
	}
	if status["interrupted"] != 1 || status["running"]+status["done"] != 1 {
		t.Errorf("after the kill: %v, want one interrupted and the other as it was", status)
	}
	if a := other.answer(t, 1); !strings.Contains(a, `\"result\":\"done\"`) {
		t.Errorf("the other broker answers %s", a)
	}
	if list := auditList(t, config, "--state-dir", state); len(list) != 2 || list[0].Status == list[1].Status {
		t.Errorf("at the end: %+v, want one done and one interrupted", list)
	}
}

// The config can be edited while the broker serves; a wrong edit changes
// nothing, and the model is told.
func TestConfigIsReloaded(t *testing.T) {
	t.Parallel()
	config := shelfFile(t)
	c := startStdio(t, config, "--state-dir", t.TempDir())
	id := 0
	servers := func() string {
		id++
		c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_servers","arguments":{}}}`, id))
		return c.answer(t, id)
	}
	edit := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(`{"mcpServers": {"shelf": {"command": "shelf"}, "second": {"command": "shelf"}}}`)
	waitFor(t, "the new server is listed", func() bool { return strings.Contains(servers(), `\"name\":\"second\"`) })
	edit(`{"mcpServers": {"shelf": {"comand": "shelf"}}}`)
	waitFor(t, "the wrong edit is told", func() bool { return strings.Contains(servers(), "did you mean") })
	if a := servers(); !strings.Contains(a, "second") {
		t.Errorf("a wrong edit took a server away: %s", a)
	}
	edit(`{"mcpServers": {"third": {"command": "shelf"}}}`)
	waitFor(t, "the right edit is in force", func() bool {
		a := servers()
		return strings.Contains(a, "third") && !strings.Contains(a, "second") && !strings.Contains(a, "wrong")
	})
	id++
	c.execute(t, id, "return (await third.listBooks()).books.length")
	if a := c.answer(t, id); !strings.Contains(a, `\"result\":2`) {
		t.Errorf("a call of the new server: %s", a)
	}
}

// When its stdin ends, serve ends with 0 and takes everything with it: the
// script, its sandbox and the servers.
func TestServeEndsWithItsClient(t *testing.T) {
	t.Parallel()
	c := startStdio(t, shelfFile(t), "--state-dir", t.TempDir())
	c.execute(t, 1, "return await shelf.listBooks().then(b => b.books.length)")
	c.answer(t, 1)
	c.execute(t, 2, "for (;;) {}")
	waitFor(t, "the sandbox runs", func() bool { return len(descendants(t, c.cmd.Process.Pid)) >= 2 })
	tree := descendants(t, c.cmd.Process.Pid)
	start := time.Now()
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("serve: %v, want exit code 0", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("serve took %s to end", took)
	}
	for _, pid := range tree {
		waitFor(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}

// A broker that is killed takes everything with it, also what a server has
// started in a session of its own and what ignores signals.
func TestKilledBrokerLeavesNoProcess(t *testing.T) {
	config := filepath.Join(t.TempDir(), "servers.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"leaves": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Daemon)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c := startStdio(t, config)
	c.execute(t, 1, "return await callMCPTool('leaves__echo', { a: 1 })")
	if a := c.executed(t, 1); a.ExitCode != 0 {
		t.Fatalf("%+v", a)
	}
	waitFor(t, "the guard runs", func() bool {
		return slices.ContainsFunc(descendants(t, c.cmd.Process.Pid), func(pid int) bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may be gone
			return strings.HasPrefix(string(line), "broker-guard\x00")
		})
	})
	tree := descendants(t, c.cmd.Process.Pid)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	for _, pid := range tree {
		waitFor(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}

// waitFor polls until ok holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventually.True(t, what, ok)
}

// descendants are the processes below pid, from /proc.
func descendants(t testing.TB, pid int) []int {
	t.Helper()
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("needs /proc to see processes")
	}
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, child), descendants(t, child)...)
		}
	}
	return all
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
