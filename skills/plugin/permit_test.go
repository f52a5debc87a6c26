package plugin_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// A permit holds for the approved plugin only, whatever is done to the times of its
// files.
func TestPermit(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{
		entry("p/.claude-plugin/plugin.json", `{"name": "p"}`), entry("p/.mcp.json", `{"s": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/run.js"]}}`),
		entry("p/run.js", "good"), entry("p/lib/more.js", "more"), entry("p/data.txt", "data"),
	})
	root := filepath.Join(dir, "p")
	file := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	old := time.Now().Add(-time.Hour)
	age := func(name string) {
		t.Helper()
		if err := os.Chtimes(file(name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		age(name)
	}
	for _, name := range []string{"run.js", "lib/more.js", "data.txt"} {
		age(name)
	}
	p, err := plugin.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	permit := plugin.Permit{Dir: root, Digest: digest}
	if err := permit.MayStart(); err != nil {
		t.Fatalf("as it was approved: %v", err)
	}
	manifest, servers := `{"name": "p"}`, `{"s": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/run.js"]}}`
	for what, c := range map[string]struct{ change, undo func() }{
		"same size and time":  {func() { write("run.js", "evil") }, func() { write("run.js", "good") }},
		"a file below":        {func() { write("lib/more.js", "m0re") }, func() { write("lib/more.js", "more") }},
		"a new file":          {func() { write("lib/new.js", "") }, func() { os.Remove(file("lib/new.js")) }},
		"one is gone":         {func() { os.Remove(file("data.txt")) }, func() { write("data.txt", "data") }},
		"another command":     {func() { write(".mcp.json", `{"s": {"command": "sh"}}`) }, func() { write(".mcp.json", servers) }},
		"one that is renamed": {func() { os.Rename(file("run.js"), file("ran.js")) }, func() { os.Rename(file("ran.js"), file("run.js")) }},
		"no manifest":         {func() { os.Remove(file(".claude-plugin/plugin.json")) }, func() { write(".claude-plugin/plugin.json", manifest) }},
	} {
		c.change()
		if permit.MayStart() == nil {
			t.Errorf("%s: it may start", what)
		}
		c.undo()
		if err := permit.MayStart(); err != nil {
			t.Errorf("%s, undone: %v", what, err)
		}
	}
	if runtime.GOOS != "windows" {
		os.Remove(file("data.txt"))
		if err := os.Symlink("run.js", file("data.txt")); err != nil {
			t.Fatal(err)
		}
		if permit.MayStart() == nil {
			t.Error("a link in the place of a file: it may start")
		}
	}
}
