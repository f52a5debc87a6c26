package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"
)

const sample = `
-- a/a.go --
// Package a is a sample.
package a

type T[X any] struct{}

// Get gets.
func (t *T[X]) Get() int {
	return 1
}

func helper() {}
-- a/broken.go --
package a; func {
-- b.md --
# Title
helper in prose
-- .hidden/x.go --
package hidden
-- node_modules/m/i.js --
helper()
`

// session returns a client of a server over a sample tree, joined by in-memory
// transports.
func session(t *testing.T) *mcp.ClientSession {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for _, f := range txtar.Parse([]byte(sample)).Files {
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	write(t, filepath.Join(dir, "c.bin"), "helper\x00")
	write(t, filepath.Join(dir, "..", "secret.txt"), "secret\n")
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	ct, st := mcp.NewInMemoryTransports()
	ss, err := newServer(tr).Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
		tr.Close()
	})
	return cs
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTools(t *testing.T) {
	cs := session(t)
	tests := []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"files in path order, hidden ones left out", "list_files", nil,
			`{"files":[{"bytes":131,"path":"a/a.go"},{"bytes":18,"path":"a/broken.go"},{"bytes":24,"path":"b.md"},{"bytes":7,"path":"c.bin"}]}`},
		{"files by ending, with or without a dot", "list_files", map[string]any{"ext": "md"},
			`{"files":[{"bytes":24,"path":"b.md"}]}`},
		{"files of one directory, up to a limit", "list_files", map[string]any{"dir": "a/", "limit": 1},
			`{"files":[{"bytes":131,"path":"a/a.go"}],"truncated":true}`},
		{"lines", "count_lines", map[string]any{"path": "a/a.go"},
			`{"blank":3,"code":6,"comments":2,"lines":11,"path":"a/a.go"}`},
		{"functions, methods of generic types among them", "list_functions", map[string]any{"path": "a/a.go"},
			`{"functions":[{"exported":true,"line":7,"lines":3,"name":"T.Get"},{"exported":false,"line":11,"lines":1,"name":"helper"}],"path":"a/a.go"}`},
		{"search passes over what is not text", "search_text", map[string]any{"pattern": "HELPER"},
			`{"matches":[]}`},
		{"search ignores case on request", "search_text", map[string]any{"pattern": "(?i)HELPER", "limit": 2},
			`{"matches":[{"line":11,"path":"a/a.go","text":"func helper() {}"},{"line":2,"path":"b.md","text":"helper in prose"}]}`},
		{"search tells that there is more", "search_text", map[string]any{"pattern": "helper", "limit": 1},
			`{"matches":[{"line":11,"path":"a/a.go","text":"func helper() {}"}],"truncated":true}`},
		{"some lines of a file", "read_file", map[string]any{"path": "b.md", "from": 2, "lines": 1},
			`{"text":"helper in prose\n"}`},
		{"a whole file", "read_file", map[string]any{"path": "b.md"},
			`{"text":"# Title\nhelper in prose\n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(res.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || res.IsError {
				t.Errorf("%s (error %t), -want +got:\n%s", tt.tool, res.IsError, diff)
			}
		})
	}
}

func TestMistakesAreExplained(t *testing.T) {
	cs := session(t)
	tests := []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"missing file", "count_lines", map[string]any{"path": "nope.go"}, "list_files"},
		{"a directory", "count_lines", map[string]any{"path": "a"}, "not a file"},
		{"missing directory", "list_files", map[string]any{"dir": "nope"}, "no directory"},
		{"outside, by dots", "read_file", map[string]any{"path": "../secret.txt"}, "escapes"},
		{"a directory outside", "list_files", map[string]any{"dir": "../"}, "outside"},
		{"not text", "read_file", map[string]any{"path": "c.bin"}, "not text"},
		{"not Go", "list_functions", map[string]any{"path": "b.md"}, "ext .go"},
		{"broken Go", "list_functions", map[string]any{"path": "a/broken.go"}, "a/broken.go:1"},
		{"bad pattern", "search_text", map[string]any{"pattern": "("}, "missing closing"},
		{"negative line", "read_file", map[string]any{"path": "b.md", "from": -1}, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if !res.IsError || !strings.Contains(text, tt.want) {
				t.Errorf("isError %t, text %q, want an error with %q", res.IsError, text, tt.want)
			}
			if strings.Contains(text, "secret\n") {
				t.Error("a file outside the tree was read")
			}
		})
	}
}

func TestSymbolicLinksDoNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.txt"), "secret\n")
	if err := os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if out, err := tr.readFile(t.Context(), readFileIn{Path: "link.txt"}); err == nil {
		t.Errorf("a link out of the tree was followed: %q", out.Text)
	}
	files, err := tr.listFiles(t.Context(), listFilesIn{})
	if err != nil || len(files.Files) != 0 {
		t.Errorf("files = %v, error %v, want none", files.Files, err)
	}
}

func TestToolsAreDescribedAndReadOnly(t *testing.T) {
	res, err := session(t).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tools) != 5 {
		t.Errorf("%d tools, want 5", len(res.Tools))
	}
	for _, tool := range res.Tools {
		if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s lacks a description, a schema or readOnlyHint", tool.Name)
		}
	}
}

func FuzzReadOutside(f *testing.F) {
	dir := f.TempDir()
	tr, err := openTree(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { tr.Close() })
	for _, p := range []string{"../x", "/etc/passwd", "a/../../x", "\x00", ".", ""} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, name string) {
		// The tree is empty: whatever is read comes from outside.
		if out, err := tr.readFile(t.Context(), readFileIn{Path: name}); err == nil {
			t.Errorf("readFile(%q) = %q", name, out.Text)
		}
	})
}
