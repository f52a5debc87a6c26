package mcpbroker_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// A struct has at most mostFields fields and a type at most mostMethods methods, unless
// large lists it.
const mostFields, mostMethods = 20, 30

// A size is the size that a type may have, and why.
type size struct {
	fields, methods int
	why             string
}

// testKits are packages for tests, and programs that tests start.
var testKits = []string{"internal/fakeupstream", "internal/spawn/spawntest", "internal/workertest", "sandbox/sandboxtest", "state/statetest"}

// mains are the packages that begin and end a process, in which contexts begin.
var mains = []string{"cmd/...", "internal/app/...", "examples/..."}

// A unit is one Go file that is not a test.
type unit struct {
	pkg  string // its directory
	name string
	file *ast.File
	set  *token.FileSet
}

// readUnits parses the files of the module at the root of tree that are not tests.
func readUnits(tree fs.FS) (list []unit, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "dist" || isModule(tree, name)):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		u := unit{pkg: path.Dir(name), name: name, set: token.NewFileSet()}
		u.file, err = parser.ParseFile(u.set, name, text, parser.SkipObjectResolution)
		list = append(list, u)
		return err
	})
	return list, err
}

func isModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, dir+"/go.mod")
	return err == nil
}

var units = sync.OnceValues(func() ([]unit, error) { return readUnits(os.DirFS(".")) })

// at returns the position of a node.
func (u *unit) at(n ast.Node) string { return u.set.Position(n.Pos()).String() }

// wholeModule returns the units of this module.
func wholeModule(t *testing.T) []unit {
	t.Helper()
	list, err := units()
	if err != nil || len(list) < 500 {
		t.Fatalf("%d files were read: %v", len(list), err)
	}
	return list
}

// sample returns the units of a small tree, to prove a checker with.
func sample(t *testing.T, name, text string) []unit {
	t.Helper()
	list, err := readUnits(fstest.MapFS{name: {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// receiver returns the name of the type of a method, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	return types.ExprString(t)
}

// funcName returns the name of a function in its package, such as "Store.Close".
func funcName(f *ast.FuncDecl) string {
	if r := receiver(f); r != "" {
		return r + "." + f.Name.Name
	}
	return f.Name.Name
}

// eachFunc calls f with the nodes of each function, and with its name as in the lists.
func eachFunc(list []unit, f func(u *unit, name string, n ast.Node)) {
	for i := range list {
		u := &list[i]
		for _, d := range u.file.Decls {
			name := u.pkg
			if fn, ok := d.(*ast.FuncDecl); ok {
				name += "." + funcName(fn)
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if n != nil {
					f(u, name, n)
				}
				return true
			})
		}
	}
}

// structs calls f with each struct type that has a name.
func structs(list []unit, f func(u *unit, name string, s *ast.StructType)) {
	for i := range list {
		u := &list[i]
		ast.Inspect(u.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					f(u, u.pkg+"."+spec.Name.Name, s)
				}
			}
			return true
		})
	}
}

// tooLarge returns the types that have more fields or methods than they may.
func tooLarge(list []unit, large map[string]size) (problems []string) {
	check := func(name, what string, n, most, may int) {
		if n > max(most, may) {
			problems = append(problems, fmt.Sprintf("%s has %d %s, at most %d: split it, or list it with a reason", name, n, what, max(most, may)))
		}
	}
	structs(list, func(u *unit, name string, s *ast.StructType) {
		n := 0
		for _, f := range s.Fields.List {
			n += max(1, len(f.Names))
		}
		check(name, "fields", n, mostFields, large[name].fields)
	})
	methods := map[string]int{}
	for _, u := range list {
		for _, d := range u.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[u.pkg+"."+receiver(f)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		check(name, "methods", methods[name], mostMethods, large[name].methods)
	}
	return problems
}

func TestTypesAreSmall(t *testing.T) {
	for name, s := range largeTypes {
		if len(s.why) < 20 || max(s.fields-mostFields, s.methods-mostMethods) <= 0 {
			t.Errorf("%s is listed without need or reason", name)
		}
	}
	for _, problem := range tooLarge(wholeModule(t), largeTypes) {
		t.Error(problem)
	}
	var text strings.Builder
	text.WriteString("package p\ntype T struct{ a, b int\n" + strings.Repeat("_ int\n", 19) + "}\ntype G[K any] struct{}\n")
	for i := range 31 {
		fmt.Fprintf(&text, "func (g *G[K]) m%d() {}\n", i)
	}
	if got := tooLarge(sample(t, "p/p.go", text.String()), map[string]size{"p.T": {fields: 20}}); len(got) != 2 {
		t.Errorf("of a sample with two large types, it finds %q", got)
	}
	if got := tooLarge(sample(t, "p/p.go", text.String()), map[string]size{"p.T": {fields: 21}, "p.G": {methods: 31}}); len(got) != 0 {
		t.Errorf("of a sample with two listed types, it finds %q", got)
	}
}

// rootless returns the functions that begin a context outside of mains and testKits.
func rootless(list []unit, allowed map[string]string) (problems []string) {
	eachFunc(list, func(u *unit, name string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 0 {
			return
		}
		if f := types.ExprString(call.Fun); f != "context.Background" && f != "context.TODO" {
			return
		}
		if allowed[name] == "" && !matchAny(mains, u.pkg) && !matchAny(testKits, u.pkg) {
			problems = append(problems, fmt.Sprintf("%s: %s begins a context: take the caller's, or list it with a reason", u.at(call), name))
		}
	})
	return problems
}

func TestContextsBeginInMain(t *testing.T) {
	for _, problem := range rootless(wholeModule(t), contexts) {
		t.Error(problem)
	}
	const text = `package p
import "context"
var v = context.TODO()
func (t *T) f() { go func() { use(context.Background()) }() }
func g(ctx context.Context) { use(context.WithoutCancel(ctx)) }`
	if got := rootless(sample(t, "p/p.go", text), nil); len(got) != 2 {
		t.Errorf("of a sample with two contexts, it finds %q", got)
	}
	if got := append(rootless(sample(t, "cmd/p/p.go", text), nil), rootless(sample(t, "p/p.go", text), map[string]string{"p": "x", "p.T.f": "x"})...); len(got) != 0 {
		t.Errorf("of a main package and a listed function, it finds %q", got)
	}
}

// reports reports whether a body tells somebody that it has ended: it closes a channel,
// sends on one, or calls Done of a sync.WaitGroup.
func reports(body *ast.BlockStmt) (ok bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SendStmt:
			ok = true
		case *ast.CallExpr:
			f := types.ExprString(n.Fun)
			ok = ok || f == "close" && len(n.Args) == 1 || strings.HasSuffix(f, "CloseWithError")
		case *ast.ExprStmt, *ast.DeferStmt:
			var call ast.Expr
			if d, isDefer := n.(*ast.DeferStmt); isDefer {
				call = d.Call
			} else {
				call = n.(*ast.ExprStmt).X
			}
			if c, isCall := call.(*ast.CallExpr); isCall && len(c.Args) == 0 && strings.HasSuffix(types.ExprString(c.Fun), ".Done") {
				ok = true
			}
		}
		return !ok
	})
	return ok
}

// stray returns the go statements without an owner: their function does not report its
// end, and no list names who waits for it or what ends it. It also returns the calls of
// Go on a sync.WaitGroup, or the like, that its package never waits for.
func stray(list []unit, owners map[string]string) (problems []string) {
	bodies := map[string]*ast.BlockStmt{} // of functions, by package and last name
	waits := map[string]bool{}            // fields with a Wait, by package and name
	for _, u := range list {
		for _, d := range u.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				bodies[u.pkg+"."+f.Name.Name] = f.Body
			}
		}
	}
	last := func(e ast.Expr) string {
		text := types.ExprString(e)
		return text[strings.LastIndex(text, ".")+1:]
	}
	eachFunc(list, func(u *unit, name string, n ast.Node) {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Wait" || s.Sel.Name == "Close") {
			waits[u.pkg+"."+last(s.X)] = true
		}
	})
	eachFunc(list, func(u *unit, name string, n ast.Node) {
		switch n := n.(type) {
		case *ast.GoStmt:
			body := bodies[u.pkg+"."+last(n.Call.Fun)]
			if f, ok := n.Call.Fun.(*ast.FuncLit); ok {
				body = f.Body
			}
			if (body == nil || !reports(body)) && owners[name] == "" && !matchAny(testKits, u.pkg) {
				problems = append(problems, fmt.Sprintf("%s: a goroutine of %s has no owner: close a channel at its end, use a sync.WaitGroup, or list what ends it", u.at(n), name))
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && s.Sel.Name == "Go" && len(n.Args) == 1 && !waits[u.pkg+"."+last(s.X)] && owners[name] == "" {
				problems = append(problems, fmt.Sprintf("%s: nothing in %s waits for %s", u.at(n), u.pkg, types.ExprString(s.X)))
			}
		}
	})
	return problems
}

func TestGoroutinesHaveOwners(t *testing.T) {
	for _, problem := range stray(wholeModule(t), goroutines) {
		t.Error(problem)
	}
	const text = `package p
func f() { go func() { work() }() }
func g() { go run() }
func run() { defer close(done) }
func h() { go lost() }
func lost() { <-ctx.Done() }
func (t *T) i() { t.wg.Go(run); t.wg.Wait() }
func (t *T) j() { t.other.Go(run) }
func k() { go func() { defer wg.Done() }(); go func() { c <- 1 }() }`
	if got := stray(sample(t, "p/p.go", text), nil); len(got) != 3 {
		t.Errorf("of a sample with three stray goroutines, it finds %q", got)
	}
	if got := stray(sample(t, "p/p.go", text), map[string]string{"p.f": "x", "p.h": "x", "p.T.j": "x"}); len(got) != 0 {
		t.Errorf("of a sample with three listed functions, it finds %q", got)
	}
}

// growing are the maps of structs that goroutines share: maps beside a mutex, and
// sync.Maps. What they are keyed by comes from outside.
func growing(list []unit) (names []string) {
	structs(list, func(u *unit, name string, s *ast.StructType) {
		shared := slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
			t := types.ExprString(f.Type)
			return t == "sync.Mutex" || t == "sync.RWMutex"
		})
		for _, f := range s.Fields.List {
			t := types.ExprString(f.Type)
			if shared && strings.HasPrefix(t, "map[") || t == "sync.Map" {
				for _, id := range f.Names {
					names = append(names, name+"."+id.Name)
				}
			}
		}
	})
	for _, u := range list {
		for _, d := range u.file.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, s := range vars.Specs {
				if v := s.(*ast.ValueSpec); v.Type != nil && types.ExprString(v.Type) == "sync.Map" {
					names = append(names, u.pkg+"."+v.Names[0].Name)
				}
			}
		}
	}
	return names
}

// named matches the names of constants and functions in the bounds of maps.
var named = regexp.MustCompile(`\b(?:max|min)[A-Z]\w*\b`)

// unbounded returns the maps that bounds does not list, and bounds that name a constant
// which their package does not have.
func unbounded(list []unit, bounds map[string]string) (problems []string) {
	declared := map[string]bool{}
	for _, u := range list {
		for _, d := range u.file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, s := range g.Specs {
					for _, id := range s.(*ast.ValueSpec).Names {
						declared[u.pkg+"."+id.Name] = true
					}
				}
			}
		}
	}
	for _, name := range growing(list) {
		pkg := name[:strings.LastIndex(name, "/")+1]
		rest, _, _ := strings.Cut(strings.TrimPrefix(name, pkg), ".")
		pkg += rest
		bound := bounds[name]
		if bound == "" && !strings.Contains(pkg, "internal/fake") && !matchAny(testKits, pkg) {
			problems = append(problems, fmt.Sprintf("%s grows: list what it is keyed by and its bound", name))
		}
		for _, id := range named.FindAllString(bound, -1) {
			if !declared[pkg+"."+id] {
				problems = append(problems, fmt.Sprintf("%s: its package has no constant %s", name, id))
			}
		}
	}
	return problems
}

func TestMapsAreBounded(t *testing.T) {
	for _, problem := range unbounded(wholeModule(t), mapBounds) {
		t.Error(problem)
	}
	const text = `package p
const maxA = 1
type T struct { mu sync.Mutex; a, b map[string]int; c sync.Map }
type fixed struct { a map[string]int }
var sums sync.Map`
	if got := unbounded(sample(t, "p/p.go", text), map[string]string{"p.T.a": "clients: maxA", "p.T.b": "clients: maxB"}); len(got) != 3 {
		t.Errorf("of a sample with three problems, it finds %q", got)
	}
}

// Lists name only what exists, so that they do not outlive their reasons.
func TestListsOfExceptionsAreCurrent(t *testing.T) {
	list := wholeModule(t)
	exists := map[string]bool{}
	eachFunc(list, func(u *unit, name string, n ast.Node) { exists[name] = true })
	structs(list, func(u *unit, name string, s *ast.StructType) { exists[name] = true })
	for _, name := range growing(list) {
		exists[name] = true
	}
	for _, u := range list {
		for _, d := range u.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				exists[u.pkg+"."+receiver(f)] = true
			}
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(largeTypes)), slices.Collect(maps.Keys(contexts)), slices.Collect(maps.Keys(goroutines)), slices.Collect(maps.Keys(mapBounds)))
	slices.SortFunc(names, cmp.Compare[string])
	for _, name := range names {
		if !exists[name] && !strings.HasPrefix(name, "cmd/") {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}
