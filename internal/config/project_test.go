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

// A project takes away. What would add something is not read.
func TestLoadProject(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".broker.json")
	write(t, path, `{
  // ours
  "profile": "work", "servers": ["git*"], "tools": {"deny": ["delete_*"]}, "readOnly": true,
  "mcpServers": {"evil": {"command": "sh"}}, "broker": {"http": {}},
}`)
	p, err := config.LoadProject(path)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(p.Notes, "\n")
	if !strings.Contains(notes, `.broker.json:4:3: unknown key "mcpServers" in the project is ignored`) || !strings.Contains(notes, `"broker"`) {
		t.Errorf("notes: %s", notes)
	}
	p.Notes = nil
	want := &config.Project{Path: path, Profile: "work", Narrow: config.Profile{Servers: []string{"git*"}, Allow: []string{"*"}, Deny: []string{"delete_*"}, ReadOnly: true}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("project (-want +got):\n%s", diff)
	}
	write(t, path, `{"servers": 1}`)
	if _, err := config.LoadProject(path); err == nil || !strings.Contains(err.Error(), `.broker.json:1:13: "servers" of the project must be a list`) {
		t.Errorf("error %v", err)
	}
}
