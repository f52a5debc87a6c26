package mcpbroker_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandLines is the number of lines that the commands may have. Logic belongs into a
// package that can be described in one sentence.
const commandLines = 9000

// A command parses flags, calls one function and prints: cmd/broker holds no lock, starts
// no goroutine, opens no state and stays short. The options of a command are a type of
// their own: no type has the commands as its methods.
func TestCommandsAreThin(t *testing.T) {
	lines, methods := 0, map[string]int{}
	for _, u := range wholeModule(t) {
		if u.pkg != "cmd/broker" {
			continue
		}
		lines += u.set.Position(u.file.FileEnd).Line - 1
		for _, problem := range slices.Concat(concurrent(u), opening(u)) {
			t.Error(problem)
		}
		for name, n := range commandMethods(u) {
			if methods[name] += n; methods[name] > 1 {
				t.Errorf("%s: %d methods of %s make or run a command: give each command its own options", u.name, methods[name], name)
			}
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
	for text, want := range map[string]int{
		"package p\nimport \"m/state/local\"\nvar b local.Backend":                                 1,
		"package p\nimport x \"m/state/postgres/schema\"\nvar v = x.V":                             1,
		"package p\nimport (\"m/state\"; \"m/statement/x\")\nvar v state.Filter; var w x.T":        0,
		"package p\nfunc f(s *S) { st, _ := s.OpenAnyState(nil); st.Close() }":                     1,
		"package p\nfunc f(s *S) { s.LoadState(nil); s.OpenState(nil); app.OpenDirectory(\"d\") }": 3,
		"package p\nfunc f(st *T) { st.Audit(nil, state.AuditOptions{ReadOnly: true}) }":           1,
		"package p\nvar o state.RunOptions\nfunc f(st *T) { st.Runs(o) }":                          1,
		"package p\nfunc f(s *S) { s.WithState(nil, nil); s.Open(nil); s.OpenRecord(nil) }":        0,
	} {
		if got := opening(sample(t, "p/p.go", text)[0]); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
	const grown = "package p\nfunc (a *app) x() *cobra.Command { return nil }\nfunc (a *app) y(n int) *cobra.Command { return nil }\nfunc z(a *app) *cobra.Command { return nil }\nfunc (a app) v() error { return nil }"
	if got := commandMethods(sample(t, "p/p.go", grown)[0]); len(got) != 1 || got["app"] != 2 {
		t.Errorf("of a type with two commands, it finds %v", got)
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

// implementation matches the import of a package below state.
var implementation = regexp.MustCompile(`(?:^|/)state/`)

// openers are functions of internal/app that open state, and leave it to the caller to
// close it, and the options with which a backend opens a record or journals.
var openers = []string{"OpenState", "OpenAnyState", "OpenPrepared", "OpenDirectory", "OpenAudit", "LoadState", "AuditOptions", "RunOptions"}

// opening returns where a file opens state: that is up to internal/app, which closes it
// too.
func opening(u unit) (list []string) {
	for _, i := range u.file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); implementation.MatchString(path) {
			list = append(list, fmt.Sprintf("%s: %s imports %s, an implementation of state", u.at(i), u.pkg, path))
		}
	}
	ast.Inspect(u.file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(openers, s.Sel.Name) {
			list = append(list, fmt.Sprintf("%s: %s opens state with %s: use Open or a With function of internal/app", u.at(s), u.pkg, s.Sel.Name))
		}
		return true
	})
	return list
}

// commandMethods returns the number of methods of each type that make a command.
func commandMethods(u unit) map[string]int {
	count := map[string]int{}
	for _, d := range u.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv != nil && f.Type.Results != nil && len(f.Type.Results.List) == 1 && types.ExprString(f.Type.Results.List[0].Type) == "*cobra.Command" {
			count[receiver(f)]++
		}
	}
	return count
}
