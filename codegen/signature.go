package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// signatureMax is the length beyond which a signature leaves optional parameters out, in bytes; a
// model can ask for all with detail "full".
const signatureMax = 320

// declarationMax bounds a declaration, in bytes: about 800 tokens.
const declarationMax = 2900

// Signature returns the tool as one line of TypeScript, ready to call:
//
//	github.listIssues(input: { owner: string; repo: string }): Promise<any>
//
// A long input keeps its required parameters and counts the others.
func (g *Generator) Signature(s *discovery.Server, t *discovery.Tool) string {
	m := g.model(t, false)
	in, out := style{enumMax: 6}, style{enumMax: 6, vague: "any"}
	sig := m.callable(s, t, in.print(m.input), out.print(m.output))
	if len(sig) <= signatureMax {
		return sig
	}
	input := fitting(m.input, signatureMax/2, style{enumMax: 4, required: true, depth: 2}, style{enumMax: 4, required: true, depth: 1})
	output := fitting(m.output, signatureMax/2, style{enumMax: 4, vague: "any", depth: 3}, style{enumMax: 4, vague: "any", depth: 2}, style{enumMax: 4, vague: "any", depth: 1})
	return m.callable(s, t, shorten(input), shorten(output))
}

// shorten replaces a type that is long in every style.
func shorten(typ string) string {
	if len(typ) > signatureMax {
		return "object /* … */"
	}
	return typ
}

// declarationStyles are in order of length; the first that fits is used.
var declarationStyles = []style{
	{lines: true, brief: 80, briefTo: 99, enumMax: 20},
	{lines: true, brief: 60, briefTo: 2, enumMax: 12},
	{lines: true, brief: 40, briefTo: 1, enumMax: 8, depth: 4},
	{lines: true, enumMax: 6, depth: 3},
	{lines: true, enumMax: 4, depth: 2},
	{lines: true, enumMax: 3, depth: 1},
	{lines: true, enumMax: 3, depth: 1, names: true},
	{lines: true, enumMax: 3, depth: 1, names: true, maxOptional: 24},
	{lines: true, enumMax: 3, depth: 1, names: true, maxOptional: 12},
	{lines: true, enumMax: 3, depth: 1, required: true},
}

// Declaration returns the compact declaration of the tool: every parameter with a short comment,
// the output type, and the first sentence of the description. Types that are recursive or occur
// more than once come first. A declaration of more than about 800 tokens loses comments, then
// levels, and refers to the full one.
func (g *Generator) Declaration(s *discovery.Server, t *discovery.Tool) string {
	m := g.model(t, true)
	head := ""
	if d := FirstSentence(commentText(t.Description), 200); d != "" {
		head = "/** " + d + " */\n"
	}
	if text, ok := m.fittingDeclaration(s, t, head, declarationMax, declarationStyles, shortened(t)); ok {
		return text
	}
	return head + g.Signature(s, t) + shortened(t)
}

// DeclarationWithin is like Declaration without the description, in at most limit bytes unless the
// line of the tool is longer. Without comments, it is for a reader who has the schema. If
// something is cut, a comment with the text of more says where the rest is.
func (g *Generator) DeclarationWithin(s *discovery.Server, t *discovery.Tool, limit int, comments bool, more string) string {
	m := g.model(t, comments)
	m.input = g.usedFirst(s, t, m.input)
	styles := declarationStyles
	if !comments {
		styles = slices.DeleteFunc(slices.Clone(styles), func(st style) bool { return st.brief > 0 })
		styles = append([]style{{lines: true, enumMax: 20}}, styles...)
	}
	if text, ok := m.fittingDeclaration(s, t, "", limit, styles, " // "+more); ok {
		return text
	}
	line := g.Line(s, t)
	return m.callable(s, t, line.Input, cmp.Or(line.Output, "any")) + " // " + more
}

// fittingDeclaration returns the declaration in the first style with at most limit
// bytes. In all but the first style it adds more.
func (m *model) fittingDeclaration(s *discovery.Server, t *discovery.Tool, head string, limit int, styles []style, more string) (text string, ok bool) {
	for i, st := range styles {
		if text = m.declare(s, t, st, head); len(text) > limit {
			continue
		}
		if i > 0 {
			text += more
		}
		return text, true
	}
	return "", false
}

func shortened(t *discovery.Tool) string { return " // shortened, see " + t.WrapperPath }

// declare writes the named types that the tool needs, and the tool with its comment.
func (m *model) declare(s *discovery.Server, t *discovery.Tool, st style, comment string) string {
	shown := m.worthNaming()
	st.file = t.WrapperPath
	st.named = func(n *named) bool { return slices.Contains(shown, n) }
	out := st
	out.vague = "any"
	in, given := st.print(m.input), out.print(m.output)
	for _, n := range shown { // except one that is the whole type itself
		switch n.name {
		case "Input":
			in = n.name
		case "Output":
			given = n.name
		}
	}
	text := m.callable(s, t, in, given)
	var b strings.Builder
	for _, n := range shown {
		// With fewer levels, some types are no longer used.
		if strings.Contains(text, n.name) || strings.Contains(b.String(), n.name) {
			fmt.Fprintf(&b, "type %s = %s;\n", n.name, st.print(n.typ))
		}
	}
	return b.String() + comment + text
}

// callable writes the function, with the comment on the output at the end.
func (m *model) callable(s *discovery.Server, t *discovery.Tool, in, out string) string {
	arg := "input: " + in
	switch {
	case m.noInput:
		arg = ""
	case acceptsEmpty(m.input):
		arg = "input?: " + in
	}
	sig := fmt.Sprintf("%s.%s(%s): Promise<%s>", s.Namespace, t.Func, arg, out)
	if m.note != "" {
		sig += " // " + m.note
	}
	return sig
}
