package jsrun

import (
	"errors"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// goja does not read a default inside of an array that has one itself, where
// names are declared: const { a: [b = 1] = [] } = o, or (x, [b = 1] = []) => b. It
// reads { $broker_default: b = 1 } in the place of b = 1, which is taken out of
// the tree again.
const (
	defaultKey  = "$broker_default"
	defaultHead = "{" + defaultKey + ":"
	defaultTail = "}"
)

// maxDefaultDepth is how deep such arrays may be nested.
const maxDefaultDepth = 20

// A parsedScript is a script that esbuild has built, as goja reads it.
type parsedScript struct {
	tree     *ast.Program
	text     string // without the source map
	whole    string
	smap     sourceMap
	defaults []*ast.ObjectPattern // what stood in the place of a default
}

// parseBuilt reads the text of a script that esbuild has built.
func (src *source) parseBuilt(text string, m sourceMap, mode parser.Mode) (*parsedScript, error) {
	for depth := 0; ; depth++ {
		p := &parsedScript{text: text, whole: text + "\n" + m.comment(), smap: m}
		var err error
		if p.tree, err = parser.ParseFile(nil, builtFile, p.whole, mode, parser.WithSourceMapLoader(noSourceMaps)); err == nil {
			if depth > 0 {
				p.unwrap()
			}
			return p, nil
		}
		edits := wrapDefaults(text, err)
		if len(edits) == 0 || depth == maxDefaultDepth {
			return nil, src.engineError(err)
		}
		f := &foreign{text: text, edits: edits}
		m.Mappings = f.shifted(m.Mappings)
		text = f.edited()
		src.built = m
	}
}

// wrapDefaults are the edits for the defaults that goja complains of.
func wrapDefaults(text string, err error) []edit {
	list, _ := errors.AsType[parser.ErrorList](err)
	var edits []edit
	var lex *scanner
	seen := make(map[int]bool)
	for _, e := range list {
		start := lineStart(text, e.Position.Line) + e.Position.Column - 1
		if e.Message != "Invalid destructuring binding target" || seen[start] {
			continue
		}
		seen[start] = true
		if lex == nil {
			lex = scan(text)
		}
		if end := lex.elementEnd(start); end > start {
			edits = append(edits, edit{start, start, defaultHead}, edit{end, end, defaultTail})
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	return edits
}

// lineStart is where a line of text begins, which count from 1.
func lineStart(text string, line int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at
}

// elementEnd is where the element of an array ends that starts at an offset.
func (s *scanner) elementEnd(start int) int {
	first := s.tokenAt(start)
	for i := first; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; {
		case t.depth < s.tokens[first].depth, t.depth == s.tokens[first].depth && s.text(i) == ",":
			return s.tokens[i-1].end
		}
	}
	return start
}

// unwrap puts the defaults into the tree where they belong.
func (p *parsedScript) unwrap() {
	w := pass{array: func(a *ast.ArrayPattern) {
		for i, e := range a.Elements {
			o, ok := e.(*ast.ObjectPattern)
			if !ok || len(o.Properties) != 1 {
				continue
			}
			if keyed, ok := o.Properties[0].(*ast.PropertyKeyed); ok {
				if key, ok := keyed.Key.(*ast.StringLiteral); ok && key.Value == defaultKey {
					p.defaults = append(p.defaults, o)
					a.Elements[i] = keyed.Value
				}
			}
		}
	}}
	w.statements(p.tree.Body)
}

// defaultEdits are those that take the defaults out of the text again.
func (p *parsedScript) defaultEdits() (edits []edit) {
	for _, o := range p.defaults {
		start, end := int(o.LeftBrace)-p.tree.File.Base(), int(o.RightBrace)-p.tree.File.Base()
		edits = append(edits, edit{start, start + len(defaultHead), ""}, edit{end, end + len(defaultTail), ""})
	}
	return edits
}
