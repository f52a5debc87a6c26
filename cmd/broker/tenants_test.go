package main

//lint:file-ignore SA1019 roots are deprecated since 2026-07-28, and clients have them still

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// trust trusts the project in a folder as it is.
func trust(t *testing.T, state, dir string) {
	t.Helper()
	p, err := config.LoadProject(filepath.Join(dir, ".broker.json"))
	if err == nil {
		err = approvals.In(approvals.InDir(state)).Approve(approvals.Approval{Kind: approvals.Project, Subject: p.RealPath(), Digest: p.Digest()})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Clients in two projects have the servers of their own, those with another
// credential an instance of their own, and the rest is there once. A change of a
// project's file takes its servers away while clients are connected.
func TestClientsOfADaemonInProjects(t *testing.T) {
	t.Parallel()
	state := shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	server := map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Stateful), "instances": "shared"}
	keyed := maps.Clone(server)
	keyed["env"] = map[string]string{"K": "${ROOM_KEY}"}
	write := func(path string, v any) {
		t.Helper()
		text, err := json.Marshal(v)
		if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	write(path, map[string]any{"mcpServers": map[string]any{"common": server, "keyed": keyed}})
	projects := []string{t.TempDir(), t.TempDir()}
	for _, dir := range projects {
		write(filepath.Join(dir, ".broker.json"), map[string]any{"mcpServers": map[string]any{"db": server}})
	}
	trust(t, state, projects[0])
	trust(t, state, projects[1])
	connect := func(dir, key string) *stdioClient {
		cmd := bridgeCommand(t, path, state)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "ROOM_KEY="+key)
		return startClient(t, cmd)
	}
	id := 1
	ask := func(c *stdioClient) [3]string {
		t.Helper()
		id++
		c.execute(t, id, `const of = async (s) => { try { return String(await callMCPTool(s + "__where", {})) } catch (e) { return e.message } };
			return [await of("common"), await of("keyed"), await of("db")]`)
		var got [3]string
		if a := c.executed(t, id); json.Unmarshal(a.Result, &got) != nil {
			t.Fatalf("%+v", a)
		}
		return got
	}
	a, b, other, none := connect(projects[0], "1"), connect(projects[1], "1"), connect(projects[0], "2"), connect(t.TempDir(), "1")
	ofA, ofB, ofOther, ofNone := ask(a), ask(b), ask(other), ask(none)
	if ofA[0] != ofB[0] || ofA[0] != ofOther[0] || ofA[0] != ofNone[0] {
		t.Errorf("the common server: %q %q %q %q", ofA[0], ofB[0], ofOther[0], ofNone[0])
	}
	if ofA[1] != ofB[1] || ofA[1] != ofNone[1] || ofA[1] == ofOther[1] {
		t.Errorf("the server with a key: %q %q %q, and with another %q", ofA[1], ofB[1], ofNone[1], ofOther[1])
	}
	for i, got := range []string{ofA[2], ofB[2]} {
		if !strings.HasSuffix(got, filepath.Base(projects[i])) {
			t.Errorf("the server of project %s is %q", projects[i], got)
		}
	}
	if !strings.Contains(ofNone[2], "unknown tool") {
		t.Errorf("outside of a project: %q", ofNone[2])
	}
	if w := daemonStatus(t, state); w == nil || len(w.Status.Clients) != 4 {
		t.Errorf("the daemon has not these clients: %+v", w)
	}
	write(filepath.Join(projects[0], ".broker.json"), map[string]any{"mcpServers": map[string]any{"db": server, "more": server}})
	eventually.True(t, "the changed server is gone", func() bool { return strings.Contains(ask(a)[2], "unknown tool") })
	id++
	a.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_servers","arguments":{}}}`, id))
	if got := a.answer(t, id); !strings.Contains(got, "changed since you trusted it: run broker projects trust") {
		t.Errorf("list_servers: %s", got)
	}
	if got := ask(b); got != ofB {
		t.Errorf("the other project has %q, before %q", got, ofB)
	}
	trust(t, state, projects[0])
	eventually.True(t, "the server is back", func() bool { return strings.HasSuffix(ask(a)[2], filepath.Base(projects[0])) })
	write(filepath.Join(projects[1], ".broker.json"), map[string]any{"broker": map[string]any{}})
	eventually.True(t, "nothing is left where the file is wrong", func() bool { return strings.Contains(ask(b)[0], "unknown tool") })
	if got := ask(none); got[0] != ofNone[0] {
		t.Errorf("outside of a project: %q, before %q", got, ofNone)
	}
}

// The project of a client is that of its root, wherever its program was started,
// and is another one when the roots change.
func TestProjectByRootsOfTheClient(t *testing.T) {
	state := shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	path := shelfConfig(t)
	var roots []*mcp.Root
	for _, name := range []string{"one", "two"} {
		dir := t.TempDir()
		text := fmt.Sprintf(`{"mcpServers": {%q: {"command": "shelf"}}}`, name)
		if err := os.WriteFile(filepath.Join(dir, ".broker.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		trust(t, state, dir)
		roots = append(roots, &mcp.Root{URI: "file://" + filepath.ToSlash(dir)})
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	client.AddRoots(roots[0])
	cmd := bridgeCommand(t, path, state)
	cmd.Dir = t.TempDir()
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	has := func(server string) bool {
		t.Helper()
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_servers", Arguments: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		text := answer.Content[0].(*mcp.TextContent).Text
		return strings.Contains(text, `"shelf"`) && strings.Contains(text, `"`+server+`"`)
	}
	eventually.True(t, "the server of the root is there", func() bool { return has("one") && !has("two") })
	client.RemoveRoots(roots[0].URI)
	client.AddRoots(roots[1])
	eventually.True(t, "the server of the other root is there", func() bool { return has("two") && !has("one") })
}

// Programs are looked up in the PATH of each client, not in that of the client that
// started the daemon, and clients with the same PATH share servers.
func TestProgramsAreThoseOfTheClientsPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	state := shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	folder := func() string {
		dir := t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\ncd %s && exec %s %s\n", dir, fakeupstream.Command(), strings.Join(fakeupstream.Args(fakeupstream.Stateful), " "))
		if err := os.WriteFile(filepath.Join(dir, "shelf-server"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	one, two := folder(), folder()
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"shelf": {"command": "shelf-server", "instances": "shared"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	id := 0
	where := func(folders ...string) string {
		t.Helper()
		cmd := bridgeCommand(t, path, state)
		cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Env, "PATH="+strings.Join(append(folders, os.Getenv("PATH")), string(filepath.ListSeparator)))
		c := startClient(t, cmd)
		id++
		c.execute(t, id, `return await callMCPTool("shelf__where", {}).catch(e => e.message)`)
		return string(c.executed(t, id).Result)
	}
	first := where(one)
	for _, c := range []struct {
		folders []string
		want    string
	}{{[]string{two}, two}, {[]string{two, one}, two}, {[]string{one, two}, one}, {nil, "not found"}} {
		if got := where(c.folders...); !strings.Contains(got, filepath.Base(c.want)) {
			t.Errorf("with %v first, the server runs in %s, want %s", c.folders, got, c.want)
		}
	}
	if again := where(one, one+"/"); again != first {
		t.Errorf("with the same folders the server is %s, before %s", again, first)
	}
}
