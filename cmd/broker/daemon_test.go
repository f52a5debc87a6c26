package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// bridgeCommand serves through a daemon that ends with the test.
func bridgeCommand(t *testing.T, config, state string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := brokerCommand(t, append([]string{"serve", "--config", config, "--state-dir", state}, args...)...)
	cmd.Env = append(os.Environ(), host.DaemonVariable+"=on")
	return cmd
}

// shortDir is a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// daemonStatus asks the daemon of a state directory; nil means that none runs.
func daemonStatus(t *testing.T, state string) *daemon.Welcome {
	t.Helper()
	w, err := daemon.Ask(state, daemon.OpStatus, daemon.Build{})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &w
}

// shelfScript asks an upstream server.
const shelfScript = `return (await callMCPTool("shelf__list_books", {})).books.length`

func TestClientsShareADaemonAndOutliveIt(t *testing.T) {
	config, state := shelfConfig(t), shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	clients := make([]*stdioClient, 3)
	for i := range clients {
		clients[i] = startClient(t, bridgeCommand(t, config, state))
		clients[i].execute(t, 1, shelfScript)
		if a := clients[i].executed(t, 1); a.ExitCode != 0 {
			t.Fatalf("client %d: %+v", i, a)
		}
	}
	first := daemonStatus(t, state)
	if first == nil || len(first.Status.Clients) != len(clients) {
		t.Fatalf("status %+v", first)
	}

	// The daemon is killed while a script waits for a server.
	clients[0].execute(t, 2, `await callMCPTool("shelf__list_books", {}); await new Promise(r => setTimeout(r, 90000))`)
	for running := 0; running == 0; {
		running = statuses(t, config, state)["running"]
	}
	if p, err := os.FindProcess(first.PID); err != nil || p.Kill() != nil {
		t.Fatalf("kill the daemon: %v", err)
	}
	if got := clients[0].answer(t, 2); !strings.Contains(got, "may have had its effect") {
		t.Errorf("the request under way: %s", got)
	}
	for i, c := range clients {
		c.execute(t, 3, shelfScript)
		if a := c.executed(t, 3); a.ExitCode != 0 {
			t.Errorf("client %d afterwards: %+v", i, a)
		}
	}
	second := daemonStatus(t, state)
	if second == nil || second.PID == first.PID || len(second.Status.Clients) != len(clients) {
		t.Errorf("after the kill: %+v", second)
	}
	if n := statuses(t, config, state); n["done"] != 6 || n["interrupted"] != 1 || len(n) != 2 {
		t.Errorf("the record has %v, want 6 done and 1 interrupted", n)
	}

	// A client that wants another mode has a broker of its own.
	other := startClient(t, bridgeCommand(t, config, state, "--mode", "tools"))
	other.send(t, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	if got := other.answer(t, 9); !strings.Contains(got, "call_tool") {
		t.Errorf("tools of mode tools: %s", got)
	}
	if now := daemonStatus(t, state); now == nil || now.PID != second.PID || len(now.Status.Clients) != len(clients) {
		t.Errorf("after a client of another mode: %+v", now)
	}

	if out := output(t, brokerCommand(t, "daemon", "stop", "--config", config, "--state-dir", state)); !strings.Contains(string(out), "stopped daemon") {
		t.Errorf("stop: %s", out)
	}
}

// Each client of a daemon has its state in a server that keeps some, and clients
// in one folder share a server that is for a project.
func TestClientsOfADaemonHaveTheirInstances(t *testing.T) {
	state := shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	server := map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Stateful)}
	forProjects := maps.Clone(server)
	forProjects["instances"] = "project"
	inFolder := maps.Clone(server)
	inFolder["cwd"] = "${workspaceFolder}"
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"kept": server, "tree": forProjects, "folder": inFolder}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, brokerCommand(t, "index", "--config", path, "--state-dir", state))
	folders := []string{t.TempDir(), t.TempDir()}
	folders = append(folders, folders[0])
	var where []string
	for i, dir := range folders {
		cmd := bridgeCommand(t, path, state)
		cmd.Dir = dir
		c := startClient(t, cmd)
		c.execute(t, 2, `await callMCPTool("kept__count_session", {}); return [await callMCPTool("kept__count_session", {}), await callMCPTool("tree__where", {}), await callMCPTool("folder__where", {})]`)
		a := c.executed(t, 2)
		var got []any
		if json.Unmarshal(a.Result, &got) != nil || len(got) != 3 || fmt.Sprint(got[0]) != "2" {
			t.Fatalf("client %d: %+v", i, a)
		}
		where = append(where, fmt.Sprint(got[1]))
		if !strings.HasSuffix(fmt.Sprint(got[2]), filepath.Base(dir)) {
			t.Errorf("client %d in %s: ${workspaceFolder} is %v", i, dir, got[2])
		}
	}
	if where[0] != where[2] || where[0] == where[1] || !strings.HasSuffix(where[1], filepath.Base(folders[1])) {
		t.Errorf("in %q the servers are %q", folders, where)
	}
	if out := string(output(t, brokerCommand(t, "servers", "list", "kept", "--config", path, "--state-dir", state))); !strings.Contains(out, "instances: client, its tool count_session") {
		t.Errorf("servers list kept: %s", out)
	}
}

// statuses counts those in the record by their status.
func statuses(t *testing.T, config, state string) map[string]int {
	t.Helper()
	var list struct{ Executions []struct{ Status string } }
	if err := json.Unmarshal(output(t, brokerCommand(t, "audit", "list", "--json", "--config", config, "--state-dir", state)), &list); err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, x := range list.Executions {
		count[x.Status]++
	}
	return count
}

func TestBridgeCommandLine(t *testing.T) {
	t.Setenv(host.DaemonVariable, "on")
	for _, c := range []struct {
		line string
		want bool
	}{
		{"serve", true},
		{"serve --config a.json --state-dir=/s --read-only -v --mode tools", true},
		{"serve --http :0", false},
		{"serve --no-daemon", false},
		{"serve --mode", false},
		{"serve --mode odd", false},
		{"serve extra", false},
		{"search x", false},
	} {
		a, client, ok := bridgeApp(strings.Fields(c.line))
		if ok != c.want {
			t.Errorf("bridgeApp(%q) = %v", c.line, ok)
		}
		if ok && strings.Contains(c.line, "tools") && (a.configPath != "a.json" || a.stateDir != "/s" || !client.ReadOnly || !a.verbose || client.Mode != "tools") {
			t.Errorf("bridgeApp(%q) = %+v", c.line, a)
		}
	}
	t.Setenv("CODEX_SANDBOX", "seatbelt")
	if _, _, ok := bridgeApp([]string{"serve"}); ok {
		t.Error("a confined client starts a daemon")
	}
}

// Whatever decides how "serve" serves reaches the daemon, and is compared by it.
func TestFlagsOfServeReachTheDaemon(t *testing.T) {
	a, clients := &env{skillsPath: "/skills", stateDir: t.TempDir()}, serveFlags{mode: "tools", readOnly: true}
	client := a.client(clients.overrides())
	set, err := client.SettingsOf("/c.json")
	if err != nil {
		t.Fatal(err)
	}
	args := client.Args(set)
	c := &cobra.Command{}
	clients.add(c, a)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if set.Flags[f.Name] == "" || !slices.Contains(args, "--"+f.Name) {
			t.Errorf("--%s is not among the settings %v and the arguments %q", f.Name, set.Flags, args)
		}
	})
}

// fakeSystemctl notes its arguments in a file, and fails without one.
func fakeSystemctl() {
	f, err := os.OpenFile(os.Getenv("SYSTEMCTL_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(1)
	}
	defer f.Close()
	fmt.Fprintln(f, strings.Join(os.Args[1:], " "))
}
