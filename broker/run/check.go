package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// maxSites bounds the calls, and the names, of a script that are checked.
const maxSites = 2000

// A checker checks the script of an execution before it runs.
type checker struct{ *Execution }

// check checks the arguments of a script's calls to known tools, and the undeclared names that it
// calls. A call of an unknown tool passes, since its server may be about to offer it. If there are
// no problems, a compiler checks the types, if one is available.
func (x checker) check(ctx context.Context, p sandbox.Parsed) sandbox.Verdict {
	_, scope := x.e.catalog.Both()
	p.Calls = p.Calls[:min(len(p.Calls), maxSites)]
	var v sandbox.Verdict
	if !x.o.DisableReadHints {
		v.Shapes = shapesOf(x.e.catalog.Types(), scope, p.Calls)
	}
	for _, c := range p.Calls {
		if ctx.Err() != nil {
			return v
		}
		v.Problems = append(v.Problems, x.checkCall(scope, c)...)
	}
	for _, n := range p.Names[:min(len(p.Names), maxSites)] {
		if ctx.Err() != nil {
			return v
		}
		if len(n.Name) > sandbox.MaxNameBytes {
			continue
		}
		message, hint := undefined(scope, n)
		switch {
		case message != "":
			v.Problems = append(v.Problems, sandbox.Problem{Offset: n.Offset, Message: message, Hint: hint})
		case hint != "":
			if v.Hints == nil {
				v.Hints = make(map[string]string)
			}
			v.Hints[n.Name] = hint
		}
	}
	slices.SortStableFunc(v.Problems, func(a, b sandbox.Problem) int { return a.Offset - b.Offset })
	signOnce(v.Problems)
	if len(v.Problems) == 0 && p.Source != "" && x.o.Typecheck != nil { // the child may send a source that was not requested
		x.checkTypes(ctx, scope, p, &v)
	}
	return v
}

// checkCall checks one call; each problem comes with the signature of the tool.
func (x checker) checkCall(scope *discovery.Catalog, c sandbox.CallSite) []sandbox.Problem {
	tool, ok := scope.Tool(c.Target)
	if !ok {
		return nil
	}
	found := x.e.validator.Judge(tool, literalOf(c.Input))
	if len(found) == 0 {
		return nil
	}
	hint := ""
	if s, ok := scope.Server(tool.Server); ok {
		hint = "signature: " + x.e.catalog.Types().Signature(s, tool)
	}
	problems := make([]sandbox.Problem, len(found))
	for i, f := range found {
		problems[i] = sandbox.Problem{Offset: f.Offset, Message: tool.ID + ": " + f.Message, Hint: hint}
	}
	return problems
}

// signOnce removes all but the last of equal hints.
func signOnce(problems []sandbox.Problem) {
	seen := make(map[string]bool)
	for i := len(problems) - 1; i >= 0; i-- {
		if h := problems[i].Hint; seen[h] {
			problems[i].Hint = ""
		} else {
			seen[h] = true
		}
	}
}

// literalOf converts a literal of the sandbox to one of the bridge.
func literalOf(l sandbox.Literal) bridge.Literal {
	b := bridge.Literal{Kind: bridge.Kind(l.Kind), Offset: l.Offset, Open: l.Open}
	if l.Kind == sandbox.LiteralValue {
		value, err := bridge.ParseLiteral(l.Value)
		if err != nil || value.Kind != bridge.KnownValue {
			return bridge.Literal{Offset: l.Offset}
		}
		b.Value = value.Value
	}
	for _, item := range l.Items {
		b.Items = append(b.Items, literalOf(item))
	}
	for _, f := range l.Fields {
		b.Fields = append(b.Fields, bridge.Field{Name: f.Name, Offset: f.Offset, Value: literalOf(f.Value)})
	}
	return b
}

// undefined returns a message and a hint about an undefined name. With a message, the script
// cannot run; a hint alone is for the error that the name may cause.
func undefined(scope *discovery.Catalog, n sandbox.FreeName) (message, hint string) {
	if s, ok := scope.FindServer(n.Name); ok && n.Called && s.Namespace != n.Name {
		return fmt.Sprintf("%s is not defined: the server %s is %s in scripts", n.Name, s.Listing.Server, s.Namespace), ""
	}
	if n.Withheld {
		return "", ""
	}
	if imports := importsOf(scope, n.Name); len(imports) > 0 {
		hint = strings.Join(imports, "\nor: ")
		if n.Called {
			return n.Name + " is not defined: its import is missing", hint
		}
		return "", hint
	}
	if !n.Called {
		return "", ""
	}
	var names []string
	for _, s := range scope.Servers() {
		names = append(names, s.Namespace)
		for _, t := range s.Tools {
			names = append(names, t.Func)
		}
	}
	near := nearest.Names(n.Name, append(names, "callMCPTool", "tools", "console"), 3)
	near = slices.DeleteFunc(near, func(name string) bool { return name == n.Name })
	if len(near) == 0 {
		return "", ""
	}
	for _, name := range near {
		if imports := importsOf(scope, name); len(imports) > 0 {
			hint = strings.Join(imports, "\nor: ")
			break
		}
	}
	return fmt.Sprintf("%s is not defined; did you mean %s?", n.Name, strings.Join(near, ", ")), hint
}

// maxImports bounds the servers that a hint about a function names.
const maxImports = 3

// importsOf returns the import statements that bring a function of that name into scope. The name
// may also be the name or the id of a tool.
func importsOf(scope *discovery.Catalog, name string) []string {
	var lines []string
	add := func(t *discovery.Tool) {
		if s, ok := scope.Server(t.Server); ok && len(lines) < maxImports {
			lines = append(lines, fmt.Sprintf("import { %s } from './%s'", t.Func, codegen.ModulePath(s)))
		}
	}
	if t, ok := scope.Tool(name); ok {
		add(t)
		return lines
	}
	function := tsname.Func(name)
	for _, t := range scope.Tools() {
		if t.Func == name || t.Name == name || t.Func == function {
			add(t)
		}
	}
	return lines
}
