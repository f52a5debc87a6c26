package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// clientHome is a home with three clients and their servers.
func clientHome(t *testing.T) (home string, files map[string]string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("BROKER_KEYRING", "off")
	t.Chdir(t.TempDir())
	files = map[string]string{
		".cursor/mcp.json":          "{\n\t// mine\n\t\"mcpServers\": { \"shelf\": { \"command\": \"shelf\" }, }\n}",
		"config/Code/User/mcp.json": "{\"servers\": {\"diary\": {\"type\": \"stdio\", \"command\": \"diary\"}}, \"inputs\": []}\r\n",
		".codex/config.toml":        "model = \"m\" # best\n[mcp_servers.shelf]\ncommand = \"shelf\"\nargs = [\"other\"]\n",
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, files
}

// broker without arguments leads from the files of three clients to a search, and
// uninstall back to the same bytes.
func TestInitAtTheTerminalAndBack(t *testing.T) {
	home, files := clientHome(t)
	config := filepath.Join(home, "config", "broker", "servers.json")
	same := func(when string) {
		t.Helper()
		for name, text := range files {
			if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != text {
				t.Errorf("%s, %s is %q, %v", when, name, got, err)
			}
		}
	}
	var stdout bytes.Buffer
	person, cmd := atTerminal(t, &stdout)
	answer := func(question, typed string) string {
		t.Helper()
		seen := readUntil(t, person, question)
		if _, err := person.WriteString(typed + "\n"); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	answer("Take 3 servers over?", "")
	seen := readUntil(t, person, "Connect Cursor?")
	same("before the question")
	if _, err := person.WriteString("yes\n"); err != nil || !strings.Contains(seen, "shelf: ready, 2 tools, ") || !strings.Contains(seen, "diary: ready, 1 tool, ") {
		t.Errorf("the progress is %q, %v", seen, err)
	}
	if _, err := os.Stat(config); err != nil {
		t.Error("before the clients are connected:", err)
	}
	answer("Connect VS Code?", "")
	answer("Connect Codex?", "y")
	answer("Open the console", "n")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	for _, want := range []string{
		"will add  shelf: as shelf-codex, since another server shelf came from", "3 added", " tokens in every turn before, ",
		`codex: ~/.codex/config.toml will get the entry "broker" in place of shelf`,
		`cursor: ~/.cursor/mcp.json will get the entry "broker" in place of shelf`, "  broker uninstall vscode\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	for name := range files {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || !strings.Contains(string(got), "--config") {
			t.Errorf("%s has no broker: %s %v", name, got, err)
		}
	}
	if found := output(t, brokerCommand(t, "search", "list books")); !bytes.Contains(found, []byte("shelf__list_books")) {
		t.Errorf("the search finds %s", found)
	}
	for _, id := range []string{"codex", "vscode", "cursor"} {
		output(t, brokerCommand(t, "uninstall", id))
	}
	same("after uninstall")
}

// Whoever declines leaves everything as it was.
func TestInitDeclined(t *testing.T) {
	home, _ := clientHome(t)
	var stdout bytes.Buffer
	person, cmd := atTerminal(t, &stdout, "init", "--no-console")
	readUntil(t, person, "Take 3 servers over?")
	if _, err := person.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, "config", "broker")); err == nil || !strings.Contains(stdout.String(), "no client was connected") {
		t.Errorf("%v\n%s", err, &stdout)
	}
}

// tail --follow begins before the first script, prints what other processes record,
// and an interrupt is how it ends.
func TestTailFollowsOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	config, script := filepath.Join(dir, "servers.json"), filepath.Join(dir, "s.js")
	for path, text := range map[string]string{config: `{"mcpServers": {"shelf": {"command": "shelf"}}}`, script: "return (await callMCPTool('shelf__list_books', {})).books.length"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := brokerCommand(t, "tail", "--follow", "--json", "--config", config)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output(t, brokerCommand(t, "exec", "--config", config, script))
	lines := bufio.NewScanner(out)
	calls := 0
	for done := false; !done && lines.Scan(); {
		var row tailLine
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Call.Tool != "" {
			calls++
		}
		done = row.Execution.Status == "done"
	}
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
	output(t, brokerCommand(t, "exec", "--config", config, script))
	if !lines.Scan() {
		t.Error("the second script is not followed")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error("after an interrupt:", err)
	}
	linesFit(t, config)
}

type tailLine struct {
	Execution struct{ Status string }
	Call      struct{ Tool string }
}

// linesFit checks that lines are no wider than the terminal.
func linesFit(t *testing.T, config string) {
	t.Helper()
	const width = 50
	person, program := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: width}); err != nil {
		t.Fatal(err)
	}
	cmd := brokerCommand(t, "tail", "--config", config)
	cmd.Stdout = program
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	seen := 0
	for s := bufio.NewScanner(person); s.Scan(); seen++ {
		if n := len([]rune(s.Text())); n > width {
			t.Errorf("%d characters: %q", n, s.Text())
		}
	}
	if seen != 4 {
		t.Errorf("%d lines, want 4", seen)
	}
}
