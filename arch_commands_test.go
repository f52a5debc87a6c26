package mcpbroker_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// commandLines is the number of lines that the commands may have. Logic belongs into a
// package that can be described in one sentence.
const commandLines = 9000

// A command parses flags, calls one function and prints: cmd/broker holds no lock, starts
// no goroutine and stays short.
func TestCommandsAreThin(t *testing.T) {
	lines := 0
	for _, u := range wholeModule(t) {
		if u.pkg != "cmd/broker" {
			continue
		}
		lines += u.set.Position(u.file.FileEnd).Line - 1
		for _, problem := range concurrent(u) {
			t.Error(problem)
		}
	}
	if lines < 3000 || lines > commandLines {
		t.Errorf("cmd/broker has %d lines, want at most %d", lines, commandLines)
	}
	for text, want := range map[string]int{
		"package p\nimport \"sync\"\nvar mu sync.Mutex":                       1,
		"package p\nimport \"sync/atomic\"\nvar n atomic.Int32":               1,
		"package p\nfunc f() { go f() }":                                      1,
		"package p\nimport \"sync\"\nfunc f(wg *sync.WaitGroup) { wg.Go(f) }": 1,
		"package p\nimport \"context\"\nfunc f(context.Context) { f(nil) }":   0,
	} {
		if got := concurrent(sample(t, "p/p.go", text)[0]); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// concurrent returns where a file has locks or starts goroutines.
func concurrent(u unit) (list []string) {
	for _, i := range u.file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); path == "sync" || strings.HasPrefix(path, "sync/") || path == "golang.org/x/sync/errgroup" {
			list = append(list, fmt.Sprintf("%s: %s imports %s", u.at(i), u.pkg, path))
		}
	}
	ast.Inspect(u.file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			list = append(list, fmt.Sprintf("%s: %s starts a goroutine", u.at(g), u.pkg))
		}
		return true
	})
	return list
}
