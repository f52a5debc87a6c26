package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// While a command waits for servers, the terminal shows the progress of each, and a key
// press goes on without them.
func TestAKeyGoesOn(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"search", "books"}, "not searched: slow: still starting after "},
		{[]string{"servers", "list", "--refresh"}, "slow    stdio      starting"},
		{[]string{"policy", "check"}, "every pattern matches a tool"},
		{[]string{"index"}, "not waited for"},
	} {
		t.Run(tt.args[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "servers.json")
			writeConfig(t, file, map[string]any{"mcpServers": map[string]any{"slow": map[string]any{"command": "sh", "args": []string{"-c", "read -r line; read -r line; sleep 60"}}}})
			var stdout bytes.Buffer
			person, cmd := atTerminal(t, &stdout, append(tt.args, "--config", file, "--state-dir", filepath.Join(dir, "state"))...)
			seen := readText(t, person, "press a key to go on")
			if !strings.Contains(seen, "0 of 1 servers answered; slow starting, ") {
				t.Errorf("the terminal shows %q", seen)
			}
			began := time.Now()
			if _, err := person.WriteString(" "); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // some exit with the code of servers that failed
			if took := time.Since(began); took > 8*time.Second || !strings.Contains(stdout.String(), tt.want) {
				t.Errorf("after %s: %q, want %q", took, stdout.String(), tt.want)
			}
		})
	}
}

// Commands ask a running daemon first: they show the states of its servers, and do not
// start a server that it is starting.
func TestADaemonIsAskedFirst(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "b") // short, for its socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file, trace := filepath.Join(dir, "servers.json"), filepath.Join(dir, "trace")
	writeConfig(t, file, map[string]any{
		"broker": map[string]any{"search": map[string]any{"wait": "100ms"}},
		"mcpServers": map[string]any{
			"slow": map[string]any{"command": "sh", "args": []string{"-c", "echo >>'" + trace + "'; read -r line; read -r line; sleep 60"}},
			"bad":  map[string]any{"command": "sh", "args": []string{"-c", "exit 7"}},
		}})
	common := []string{"--config", file, "--state-dir", filepath.Join(dir, "state")}
	host := brokerCommand(t, append([]string{"daemon", "run"}, common...)...)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Signal(os.Interrupt); _ = host.Wait() })
	run := func(args ...string) string {
		text, _ := brokerCommand(t, append(args, common...)...).CombinedOutput() // some exit with the code of servers that failed
		return string(text)
	}
	eventually.True(t, "the list shows what the daemon does", func() bool {
		list := run("servers", "list")
		return strings.Contains(list, "slow    stdio      starting") && strings.Contains(list, "bad     stdio      failed") && strings.Contains(list, "exit status 7")
	})
	if text := run("search", "books"); !strings.Contains(text, "not searched: slow: still starting after ") || !strings.Contains(text, "not searched: bad: failed ") {
		t.Errorf("search: %s", text)
	}
	if text := run("tools", "list"); !strings.Contains(text, "slow: still starting after ") {
		t.Errorf("tools list: %s", text)
	}
	if b, err := os.ReadFile(trace); err != nil || len(b) != 1 {
		t.Errorf("slow was started %d times, %v", len(b), err)
	}
}

// A search that finds something on servers that are known does not wait long for others.
func TestKnownToolsAreShownSoon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.json")
	slow := map[string]any{"command": "sh", "args": []string{"-c", "read -r line; read -r line; sleep 60"}}
	shelf := map[string]any{"command": "shelf"}
	common := []string{"--config", file, "--state-dir", filepath.Join(dir, "state")}
	writeConfig(t, file, map[string]any{"mcpServers": map[string]any{"shelf": shelf}})
	output(t, brokerCommand(t, append(common, "servers", "list", "--refresh")...))
	writeConfig(t, file, map[string]any{"mcpServers": map[string]any{"shelf": shelf, "slow": slow}})
	began := time.Now()
	text, _ := brokerCommand(t, append(common, "search", "books")...).CombinedOutput() // its exit code may be that of servers that failed
	if took := time.Since(began); took > 8*time.Second || !strings.Contains(string(text), "shelf__") || !strings.Contains(string(text), "not searched: slow: still starting after ") {
		t.Errorf("after %s: %s", took, text)
	}
}

// readText reads the output of a program to a terminal until it contains a text.
func readText(t *testing.T, terminal *os.File, want string) string {
	t.Helper()
	if err := terminal.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(seen, []byte(want)) {
		n, err := terminal.Read(buf)
		if seen = append(seen, buf[:n]...); err != nil {
			t.Fatalf("%v; the terminal shows %q", err, seen)
		}
	}
	return string(seen)
}
