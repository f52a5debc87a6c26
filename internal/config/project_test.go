package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFindProject(t *testing.T) {
	home := t.TempDir()
	at := func(path string) string { return filepath.Join(home, filepath.FromSlash(path)) }
	for _, path := range []string{".broker.json", "a/.broker.json", "a/b/c/x", "a/repo/.git/HEAD", "a/repo/sub/x", "a/tree/.git", "d/x"} {
		write(t, at(path), "{}")
	}
	for dir, want := range map[string]string{
		"a": "a/.broker.json", "a/b/c": "a/.broker.json", // upwards
		"a/repo/sub": "", "a/tree": "", // not out of a repository, or a worktree of one
		"d": "", ".": "", // not from home
	} {
		if want != "" {
			want = at(want)
		}
		if got := config.FindProject(at(dir), home); got != want {
			t.Errorf("FindProject(%s) = %q, want %q", dir, got, want)
		}
	}
}

// A project takes away, and brings servers for those who trust it.
func TestLoadProject(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".broker.json")
	write(t, path, `{
  // ours
  "profile": "work", "servers": ["git*"], "tools": {"deny": ["delete_*"]}, "readOnly": true,
  "mcpServers": {"b": {"command": "sh", "cwd": "sub"}, "off": {"command": "sh", "disabled": true}},
  "include": [".mcp.json", ".vscode/mcp.json", "none.json", "link.json"], "color": 1
}`)
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"b": {"url": "https://h/mcp"}, "a": {"command": "x", "cwd": "/abs"}}}`)
	write(t, filepath.Join(dir, ".vscode/mcp.json"), `{"inputs": [], "servers": {
		"asks": {"command": "x", "env": {"K": "${input:key}"}},
		"z": {"type": "http", "url": "https://h/mcp"}}, "broker": {}}`)
	if err := os.Symlink(filepath.Join(t.TempDir(), "x"), filepath.Join(dir, "link.json")); err != nil {
		t.Skip(err)
	}
	p, err := config.LoadProject(path)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, want := range []string{
		`.broker.json:5:75: unknown key "color" in the project is ignored`,
		`.mcp.json: server "b" is in a file before it, and ignored here`,
		`mcp.json:3:61: a project cannot set "broker"`,
		`"none.json" of "include" is not there`,
		`"include": openat link.json: path escapes from parent`,
	} {
		if !strings.Contains(strings.Join(p.Notes, "\n"), want) {
			t.Errorf("no note %s in:\n%s", want, strings.Join(p.Notes, "\n"))
		}
	}
	p.Notes = nil
	want := &config.Project{
		Path: path, Profile: "work", Narrow: config.Profile{Servers: []string{"git*"}, Allow: []string{"*"}, Deny: []string{"delete_*"}, ReadOnly: true},
		Files: []string{path, in(".mcp.json"), in(".vscode/mcp.json"), in("none.json"), in("link.json")},
		Servers: []config.Server{
			{Name: "a", File: in(".mcp.json"), Type: "stdio", Command: "x", Dir: "/abs"},
			{Name: "b", File: path, Type: "stdio", Command: "sh", Dir: in("sub")},
			{Name: "off", File: path, Type: "stdio", Command: "sh", Dir: dir, Disabled: true},
		},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("project (-want +got):\n%s", diff)
	}
	write(t, in(".vscode/mcp.json"), `{"servers": {"asks": {"command": "x", "env": {"K": "${input:key}"}}, "z": {"type": "http", "url": "https://h/mcp"}}}`)
	if p, err = config.LoadProject(path); err != nil || len(p.Enabled()) != 3 || !strings.Contains(strings.Join(p.Notes, "\n"), "${input:…} is not known here") {
		t.Errorf("with VS Code's: %v, %+v", err, p)
	}
	write(t, path, `{"servers": 1}`)
	if _, err := config.LoadProject(path); err == nil || !strings.Contains(err.Error(), `.broker.json:1:13: "servers" of the project must be a list`) {
		t.Errorf("error %v", err)
	}
}

// The digest is of what servers are, however it is written.
func TestDigestOfAProject(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".broker.json")
	digest := func(text string) string {
		t.Helper()
		write(t, path, text)
		p, err := config.LoadProject(path)
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	const base = `{"mcpServers": {"a": {"command": "x", "args": ["1"], "env": {"A": "1", "B": "${V}"}}, "b": {"url": "https://h/mcp", "headers": {"H": "1"}}}}`
	want := digest(base)
	same := `{"readOnly": true, "mcpServers": { // c
		"b": {"headers": {"H": "1"}, "url": "https://h/mcp"}, "a": {"env": {"B": "${V}", "A": "1"}, "args": ["1"], "command": "x"}, "c": {"command": "y", "disabled": true}}}`
	if got := digest(same); got != want {
		t.Error("what is written otherwise has another digest")
	}
	for old, now := range map[string]string{`"x"`: `"y"`, `["1"]`: `["1", "2"]`, `"A": "1"`: `"A": "2"`, `"A": `: `"C": `, "${V}": "${W}", "https://h": "https://i", `"H": "1"`: `"H": "2"`, `"b"`: `"c"`} {
		if digest(strings.Replace(base, old, now, 1)) == want {
			t.Errorf("with %s instead of %s the digest is the same", now, old)
		}
	}
	if digest(`{"readOnly": true}`) != "" {
		t.Error("without servers and profile there is a digest")
	}
	wide, other := strings.Replace(base, "{", `{"profile": "wide", `, 1), strings.Replace(base, "{", `{"profile": "other", `, 1)
	seen := map[string]string{want: base}
	for _, text := range []string{wide, other, `{"profile": "wide"}`, `{"profile": "other"}`} {
		got := digest(text)
		if before, ok := seen[got]; ok || got == "" {
			t.Errorf("%s has the digest %q of %s", text, got, before)
		}
		seen[got] = text
	}
}
