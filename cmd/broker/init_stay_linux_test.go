package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// readUntilAll reads what a terminal shows until every text was there.
func readUntilAll(t *testing.T, terminal *os.File, texts ...string) {
	t.Helper()
	if err := terminal.SetReadDeadline(time.Now().Add(90 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	buf := make([]byte, 4096)
	for {
		missing := ""
		for _, text := range texts {
			if !bytes.Contains(seen, []byte(text)) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		n, err := terminal.Read(buf)
		seen = append(seen, buf[:n]...)
		if err != nil {
			t.Fatalf("no %q: %v; the terminal shows %q", missing, err, seen)
		}
	}
}

// At the terminal, a key ends the wait for a server, a daemon goes on with it without
// starting it anew, and one question is about all servers that do not work.
func TestInitGoesOnInTheBackground(t *testing.T) {
	home, files := clientHome(t)
	t.Setenv("BROKER_DAEMON", "on")
	for name, text := range map[string]string{
		".cursor/mcp.json":          `{"mcpServers": {"shelf": {"command": "shelf"}, "paperless": {"command": "paperless"}}}`,
		"config/Code/User/mcp.json": `{"servers": {"needy": {"command": "shelf", "env": {"T": "${input:needy-token}"}}}}`,
		".codex/config.toml":        "[mcp_servers.sleeper]\ncommand = \"sh\"\nargs = [\"-c\", \"echo >> ~/starts; exec sleep 600\"]\nstartup_timeout_sec = 500\n[mcp_servers.diary]\ncommand = \"diary\"\n",
	} {
		files[name] = text
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout bytes.Buffer
	person, cmd := atTerminal(t, &stdout)
	answer := func(typed string) {
		t.Helper()
		if _, err := person.WriteString(typed); err != nil {
			t.Fatal(err)
		}
	}
	readUntil(t, person, "Take 5 servers over?")
	answer("\n")
	readUntilAll(t, person, "shelf: ready", "diary: ready", "paperless: failed", "needy: failed", "press a key to go on")
	answer("x")
	seen := readUntil(t, person, "Leave them with their clients until they do?")
	if !strings.Contains(seen, "paperless, needy, sleeper do not work yet.") {
		t.Errorf("the question is %q", seen)
	}
	answer("\n")
	for _, client := range []string{"Cursor", "VS Code", "Codex"} {
		readUntil(t, person, "Connect "+client+"?")
		answer("\n")
	}
	readUntil(t, person, "Open the console")
	answer("n\n")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	var status struct{ Daemon struct{ PID int } }
	if err := json.Unmarshal(output(t, brokerCommand(t, "daemon", "status", "--json")), &status); err != nil || status.Daemon.PID == 0 {
		t.Fatalf("no daemon runs: %+v, %v", status, err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(status.Daemon.PID, syscall.SIGKILL) // its end would take until the server's
		eventually.True(t, "the daemon has ended", func() bool { return syscall.Kill(status.Daemon.PID, 0) != nil })
	})
	for _, want := range []string{
		"; this goes on in the background; until it is moved, Codex starts it\n      broker servers list\n      broker install codex --move --server sleeper\n",
		"  needy: NEEDY_TOKEN is not set here; set it where the broker starts; until it is moved, VS Code starts it\n",
		`the entry "broker" in place of diary, and keep sleeper`, `the entry "broker", and keep needy`,
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	cfg, err := config.Load(filepath.Join(home, "config", "broker", "servers.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, disabled := range map[string]bool{"shelf": false, "diary": false, "sleeper": false, "paperless": true, "needy": true} {
		if s := cfg.Server(name); s == nil || s.Disabled != disabled {
			t.Errorf("%s is %+v, want disabled: %v", name, s, disabled)
		}
	}
	if list := output(t, brokerCommand(t, "servers", "list")); !bytes.Contains(list, []byte("starting")) || !bytes.Contains(list, []byte("for ")) {
		t.Errorf("the list is\n%s", list)
	}
	if help := output(t, brokerCommand(t)); !bytes.HasPrefix(help, []byte("sleeper: starting, ")) {
		t.Errorf("broker alone prints\n%.200s", help)
	}
	if starts, err := os.ReadFile(filepath.Join(home, "starts")); err != nil || string(starts) != "\n" {
		t.Errorf("sleeper was started %d times, %v", len(starts), err)
	}
	output(t, brokerCommand(t, "uninstall", "--all"))
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// The servers that Claude Code has for projects are taken over if somebody says so, but
// for those of project files that the user has not allowed.
func TestInitTakesServersOfProjects(t *testing.T) {
	home, _ := clientHome(t)
	shop, site := filepath.Join(home, "shop"), filepath.Join(home, "site")
	claude, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"diary": map[string]any{"command": "diary"}}, "projects": map[string]any{
		shop: map[string]any{"mcpServers": map[string]any{"books": map[string]any{"command": "shelf"}}},
		site: map[string]any{"enabledMcpjsonServers": []string{"docs"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(home, ".claude.json"): string(claude), filepath.Join(shop, ".keep"): "",
		filepath.Join(site, ".mcp.json"): `{"mcpServers": {"docs": {"command": "shelf", "args": ["docs"]}, "evil": {"command": "evil"}}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n, test := range []struct {
		flags []string
		want  string
		moved bool
	}{
		{[]string{"--import", "--no-projects"}, "diary", false},
		{[]string{"--import"}, "diary", false}, // nobody can be asked
		{[]string{"--import", "--projects"}, "diary books docs", true},
		{[]string{"--yes", "--client", "claude-code"}, "diary books docs", true},
	} {
		path := filepath.Join(home, string(rune('a'+n))+".json")
		args := append([]string{"init", "--no-index", "--client", "claude-code", "--config", path}, test.flags...)
		out := output(t, brokerCommand(t, args...))
		if !bytes.Contains(out, []byte("  ~/shop: books\n")) || !bytes.Contains(out, []byte("in its .mcp.json: docs; in its .mcp.json, and not allowed by you: evil\n")) {
			t.Errorf("%v: the projects are not shown:\n%s", test.flags, out)
		}
		if hint := bytes.Contains(out, []byte("2 servers of projects: Claude Code still starts them itself\n      broker --config "+path+" init --projects\n")); hint == test.moved {
			t.Errorf("%v: the hint to take them over: %v\n%s", test.flags, hint, out)
		}
		if todo := bytes.Contains(out, []byte("broker --config "+path+" install claude-code --project --move\n")); todo != test.moved {
			t.Errorf("%v: the hint at the project's file: %v", test.flags, todo)
		}
		cfg, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range cfg.Servers {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%v takes %s, want %s", test.flags, got, test.want)
		}
		text, err := os.ReadFile(filepath.Join(home, ".claude.json"))
		if err != nil || bytes.Contains(text, []byte(`"books"`)) == test.moved || bytes.Contains(text, []byte(`"diary"`)) {
			t.Errorf("%v: the file is %s, %v", test.flags, text, err)
		}
		output(t, brokerCommand(t, "uninstall", "--all"))
		if text, err := os.ReadFile(filepath.Join(home, ".claude.json")); err != nil || !bytes.Equal(text, claude) {
			t.Errorf("%v: after uninstall the file is %s, %v", test.flags, text, err)
		}
	}
}
