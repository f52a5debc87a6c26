// Package nodejs prepares programs for Node that package script has read: one script
// with its modules, its source map, and edits where Node needs other text than goja,
// for which package jsrun changes the tree.
package nodejs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	gojatoken "github.com/dop251/goja/token"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// A Bundle is a program prepared for an engine other than goja, such as Node: checked, and combined
// with its modules in one script.
type Bundle struct {
	// File is what positions in the agent's text are called.
	File string `json:"file"`
	// Code is an expression: a function of ($keep, $call, $error, $broker_absent,
	// $broker_float) that passes the program to $keep as an async function. $call is
	// callMCPTool, $error the class ToolError, $broker_absent throws the error of a
	// withheld name, and the property "of" of $broker_float is set to promises that
	// statements start and do not await.
	Code string `json:"code"`
	// Sources and Mappings are those of a source map of Code from its second line on,
	// as it was before Edits; Before columns stand in front of the first line of File.
	Sources  []string `json:"sources"`
	Mappings string   `json:"mappings"`
	Before   int      `json:"before"`
	// Edits are places of Code, lines and columns from 0, and how many columns were
	// put in there, or taken out below 0.
	Edits [][3]int `json:"edits"`
	// Implicit means that the value is that of the last expression, which is not a
	// result if the program prints.
	Implicit bool `json:"implicit,omitempty"`
	// Getters is set if the program has classes with getters.
	Getters bool `json:"getters,omitempty"`
	// Hints are hints for undefined names, Withheld are hints for globals of other
	// runtimes, and Messages are hints for error messages of the engine.
	Hints    map[string]string `json:"hints,omitempty"`
	Messages map[string]string `json:"messages"`
	Withheld map[string]string `json:"withheld"`
	// Shapes are those of the verdict. If there are any, or the program may read the
	// bytes of an image, Plain are the places in Code,
	// "line:column" from 1, of reads whose value is used unchecked.
	Shapes map[string]*sandbox.Shape `json:"shapes,omitempty"`
	Plain  []string                  `json:"plain,omitempty"`
	// Media says how programs get the bytes of images, sounds and files.
	Media *script.Media `json:"media"`
}

// Bundled reads and checks p, and makes it ready for an engine that knows the
// global names of that kind. The error, a *script.Refusal, is for the agent to read; the
// notes of the verdict come with it.
func Bundled(ctx context.Context, p script.Program, knows func(name string) bool) (_ *Bundle, notes []string, err error) {
	defer func() {
		if x := recover(); x != nil { // a fault in the parser
			err = fmt.Errorf("internal error of the JavaScript parser: %v\nhint: write the program in another way\n0 tools called", x)
		}
	}()
	if p.Check == nil { // the names that nothing declares are asked for all the same
		p.Check = func(context.Context, sandbox.Parsed) sandbox.Verdict { return sandbox.Verdict{} }
	}
	f, verdict, err := checked(ctx, p, knows)
	if err != nil {
		err = script.WithRest(p, err, func(rest script.Program) error {
			_, _, err := checked(ctx, rest, knows)
			return err
		})
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, verdict.Notes, err
	}
	notes = verdict.Notes
	if idle := f.Idle(); idle != "" {
		notes = append(notes, idle)
	}
	return f.bundled(verdict), notes, nil
}

// checked reads a program and asks its check.
func checked(ctx context.Context, p script.Program, knows func(name string) bool) (*foreign, sandbox.Verdict, error) {
	src, err := script.Read(p)
	if err != nil {
		return nil, sandbox.Verdict{}, err
	}
	tree, err := src.Build(parser.IgnoreRegExpErrors)
	if err != nil {
		return nil, sandbox.Verdict{}, err
	}
	f := &foreign{Tree: tree, text: tree.Text}
	verdict, err := f.Ask(ctx, knows)
	return f, verdict, err
}

// A foreign program is one that another engine will run.
type foreign struct {
	*script.Tree
	bundle *Bundle
	text   string // of the whole script
	edits  []edit
	lines  []int // where lines of text begin; nil before it is needed
	wide   bool  // text is not all ASCII
}

// An edit puts text, which is ASCII, in the place of a part of a script's line.
type edit struct {
	start, end int
	text       string
}

func (f *foreign) bundled(verdict sandbox.Verdict) *Bundle {
	f.bundle = &Bundle{File: f.File, Shapes: verdict.Shapes, Withheld: script.Withheld, Messages: script.MessageHints(), Media: &script.MediaTexts, Getters: f.HasGetters(), Hints: make(map[string]string)}
	if f.Main != nil && !f.Asked() {
		f.finish()
	}
	f.withhold()
	slices.SortFunc(f.edits, func(a, b edit) int { return a.start - b.start })
	f.bundle.Sources, f.bundle.Mappings, f.bundle.Before = f.SourceMap()
	for _, e := range f.edits {
		line, column := f.place(e.start)
		f.bundle.Edits = append(f.bundle.Edits, [3]int{line, column, len(e.text) - (e.end - e.start)})
	}
	f.bundle.Code = f.edited()
	if f.bundle.Shapes != nil || f.ReadsBytes() {
		f.reads()
	}
	for _, n := range f.Unknown() {
		if hint := f.Hint(n.Name, verdict.Hints); hint != "" {
			f.bundle.Hints[n.Name] = hint
		}
	}
	return f.bundle
}

func (f *foreign) offset(i file.Idx) int { return int(i) - f.Root.File.Base() }

// finish gives the program a result, as the function finish does in the tree.
func (f *foreign) finish() {
	e := f.Ending()
	end := f.offset(f.Main.Body.RightBrace)
	defer func() { script.EachFloating(e.Body, f.noteFloating) }()
	switch e.Kind {
	case script.EndsWithValue:
		start := f.statementStart(script.Expression(e.Body[len(e.Body)-1]))
		f.edits = append(f.edits, edit{start, start, "return "})
		f.bundle.Implicit = true
		e.Body = e.Body[:len(e.Body)-1]
	case script.EndsWithCall:
		start := f.statementStart(script.Expression(e.Body[len(e.Body)-1]))
		last := len(strings.TrimRight(f.text[:end], "; \n"))
		f.edits = append(f.edits, edit{start, start, "return ("}, edit{last, last, ")()"})
	case script.EndsWithName:
		f.edits = append(f.edits, edit{end, end, ";return " + e.Name.Name.String() + "()"})
	}
}

// noteFloating is the function noteFloating for one expression.
func (f *foreign) noteFloating(e *ast.Expression) {
	end := f.statementStart(*e)
	start := end
	if before, void := strings.CutSuffix(strings.TrimRight(f.text[:end], " "), "void"); void {
		start = len(before)
	}
	f.edits = append(f.edits, edit{start, end, script.FloatName + ".of="})
}

// statementStart is where a statement begins that is an expression: the tree
// does not have its brackets.
func (f *foreign) statementStart(e ast.Expression) int {
	start := f.offset(e.Idx0())
	for {
		before := strings.TrimRight(f.text[:start], " \n")
		if !strings.HasSuffix(before, "(") {
			return start
		}
		start = len(before) - 1
	}
}

// withhold makes withheld names say what to use instead, as amender does in the
// tree.
func (f *foreign) withhold() {
	absent := f.Absent()
	if len(absent) == 0 {
		return
	}
	bound := make(map[string]bool)
	known := script.Walk{Bound: func(target, _ ast.Expression) {
		if name, ok := target.(*ast.Identifier); ok {
			bound[name.Name.String()] = true
		}
	}}
	known.Statements(f.Root.Body)
	name := func(e ast.Expression) (*ast.Identifier, bool) {
		i, ok := e.(*ast.Identifier)
		return i, ok && absent[i.Name.String()] && !bound[i.Name.String()]
	}
	asked := make(map[*ast.Identifier]bool)
	change := script.Walk{Visit: func(n ast.Node) bool {
		e, ok := n.(ast.Expression)
		if !ok {
			return true
		}
		if o, ok := e.(*ast.ObjectLiteral); ok {
			for _, p := range o.Value { // {fetch} reads what Node has, which is nothing
				if p, ok := p.(*ast.PropertyShort); ok {
					asked[&p.Name] = true
				}
			}
		}
		if u, ok := e.(*ast.UnaryExpression); ok && u.Operator == gojatoken.TYPEOF {
			if i, ok := name(u.Operand); ok {
				asked[i] = true
				f.edits = append(f.edits, edit{f.offset(u.Idx), f.offset(i.Idx1()), `"undefined"`})
			}
		} else if i, ok := name(e); ok && !asked[i] {
			f.edits = append(f.edits, edit{f.offset(i.Idx), f.offset(i.Idx1()), script.AbsentName + `("` + i.Name.String() + `")`})
		}
		return true
	}}
	change.Statements(f.Root.Body)
}

// edited is the script with its edits, which are in order.
func (f *foreign) edited() string {
	var b strings.Builder
	at := 0
	for _, e := range f.edits {
		b.WriteString(f.text[at:e.start] + e.text)
		at = e.end
	}
	b.WriteString(f.text[at:])
	return b.String()
}

// place is where an offset of the script stands: line and column, from 0, the
// latter in UTF-16.
func (f *foreign) place(offset int) (line, column int) {
	if f.lines == nil {
		f.lines = []int{0}
		for i := range len(f.text) {
			if f.text[i] == '\n' {
				f.lines = append(f.lines, i+1)
			}
			f.wide = f.wide || f.text[i] >= utf8.RuneSelf
		}
	}
	line, exact := slices.BinarySearch(f.lines, offset)
	if !exact {
		line--
	}
	start := f.lines[line]
	if !f.wide { // nearly always: esbuild writes escapes
		return line, offset - start
	}
	for _, r := range f.text[start:offset] {
		column += max(1, utf16.RuneLen(r))
	}
	return line, column
}

// shift is by how much the edits move what stands at a place.
func (f *foreign) shift(line, column int) int {
	by := 0
	for _, e := range f.bundle.Edits {
		if e[0] == line && e[1] <= column {
			by += e[2]
		}
	}
	return by
}

// reads notes where properties are read and used as they come.
func (f *foreign) reads() {
	sites := script.ReadSites(f.Root, func(i file.Idx) script.Spot {
		line, column := f.place(f.offset(i))
		return script.Spot{Line: line + 1, Column: column + f.shift(line, column) + 1}
	})
	for at, kind := range sites {
		if kind == script.ReadPlain {
			f.bundle.Plain = append(f.bundle.Plain, fmt.Sprintf("%d:%d", at.Line, at.Column))
		}
	}
	slices.Sort(f.bundle.Plain)
}
