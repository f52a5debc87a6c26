// Package codegen turns catalogue tools into code that a person, a model and a
// compiler can read: the typed wrappers that an editor completes, the compact
// declaration and the one-line signature in a search hit, stubs for Python, and
// the untyped module that a script runs.
//
// It is pure: a catalogue goes in, text comes out, the same bytes every time,
// and it does no I/O. All texts of a tool are written from one model, which is
// built from its JSON Schemas (2020-12 and draft-07). Schemas are untrusted: what is
// wrong in one, or too large, becomes "unknown", and so does
// what it refers to by $anchor or $id; no schema makes an error or costs a tool
// its wrapper.
package codegen

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A Generator writes code for tools. The zero value shows the types that the
// tools declare. It is safe for concurrent use if Output is.
type Generator struct {
	// Output returns what is known of a tool's results besides what the tool
	// declares, and takes its place; nil leaves the declared type. It is called
	// once for every text that is written of a tool. A nil Output knows
	// nothing.
	Output func(t *discovery.Tool) *Output
	// Wanted reports whether an optional parameter keeps its place where others are
	// left out; nil means none.
	Wanted func(parameter string) bool
}

// An Output is the type of a tool's results.
type Output struct {
	// Schema is a JSON Schema of the value that a call gives, as a script
	// sees it: nothing is unwrapped.
	Schema json.RawMessage
	// Note is a comment on the type, such as "learned from 14 calls"; it may be empty.
	Note string
	// Held is the data in the tool's text results; nil if unknown.
	Held *Held
}

// A Held describes the data in a text: its schema, and a TypeScript expression that
// extracts it from a result r.
type Held struct {
	Schema json.RawMessage
	Parse  string
}

// heldMax bounds the type of the data in a text.
const heldMax = 600

// HeldType returns the type of the data in the text results of t, on one line, and the
// expression that extracts it. Both are "" if unknown.
func (g *Generator) HeldType(t *discovery.Tool) (typ, parse string) {
	if g.Output == nil {
		return "", ""
	}
	o := g.Output(t)
	if o == nil || o.Held == nil {
		return "", ""
	}
	root := rootObject(o.Held.Schema)
	if root == nil {
		return "", ""
	}
	b := newBuilder(root, "Output", &tsname.Set{})
	return fitting(b.build(root), heldMax, style{tight: true, enumMax: 6, vague: "any"}, style{tight: true, enumMax: 4, vague: "any", depth: 3},
		style{tight: true, enumMax: 4, vague: "any", depth: 1}, style{tight: true, vague: "any", depth: 1, most: 8}), o.Held.Parse
}

// A model is what the texts of one tool are written from.
type model struct {
	input, output *typ
	// named are the types that input and output refer to: the first inputs of
	// them are the input's.
	named  []*named
	inputs int
	// noInput is whether the tool takes no argument worth mentioning.
	noInput bool
	note    string
	// untyped is whether nothing is known of the results, which are texts then.
	untyped bool
}

// UntypedNote says what a call gives if nothing is known of the tool's results.
const UntypedNote = "text (parsed if JSON) or [{type,text|mimeType,size,ref}]"

// Untyped reports whether nothing is known of the results of t.
func (g *Generator) Untyped(t *discovery.Tool) bool {
	b, _, _ := g.outputRoot(t, &tsname.Set{})
	return b == nil
}

// model builds the model of t, with the comments of its fields if docs is true.
func (g *Generator) model(t *discovery.Tool, docs bool) *model {
	names := &tsname.Set{}
	for _, taken := range []string{"Input", "Output"} {
		names.Add(taken)
	}
	m := &model{}
	in := newBuilder(inputRoot(t.InputSchema), "Input", names)
	in.docs = docs
	m.input = in.build(in.root)
	m.noInput = m.input.kind == kindObject && len(m.input.fields) == 0 && !hasExtraKeys(in.root)
	m.named, m.inputs = in.named, len(in.named)

	m.output = unknown
	out, at, note := g.outputRoot(t, names)
	if m.untyped = out == nil; !m.untyped {
		out.docs = docs
		m.output = out.build(at)
		m.named = append(m.named, out.named...)
		m.note = note
	}
	if same(m.output, anyObject) {
		m.output = unknown // says nothing that helps
	}
	return m
}

// hasExtraKeys reports whether a schema asks for keys that it does not declare.
func hasExtraKeys(s *object) bool {
	_, isSchema := s.Get("additionalProperties").(*object)
	return isSchema || s.Get("additionalProperties") == true || s.Has("patternProperties")
}

// inputRoot is the schema of a tool's argument, which is always an object.
func inputRoot(raw []byte) *object {
	root := rootObject(raw)
	if root == nil {
		root = &object{}
	}
	if _, stated := statedKinds(root); stated || root.Has("$ref") || root.Has("anyOf") || root.Has("oneOf") || root.Has("allOf") {
		return root
	}
	typed := &object{}
	for i, k := range root.Keys {
		if k != "type" {
			typed.Set(k, root.Vals[i])
		}
	}
	typed.Set("type", "object")
	return typed
}

// outputRoot returns the builder of the output type and the schema to build: the
// one that the caller knows, else the declared one, where a lone "result" is
// unwrapped as the bridge does it. It returns nil when nothing is known: the
// type is then any, because unknown makes ordinary code fail.
func (g *Generator) outputRoot(t *discovery.Tool, names *tsname.Set) (b *builder, at value, note string) {
	if g.Output != nil {
		if o := g.Output(t); o != nil {
			if v, err := decode(o.Schema); err == nil {
				root, ok := v.(*object)
				if !ok {
					root = &object{}
				}
				note := strings.Join(strings.Fields(commentText(o.Note)), " ")
				return newBuilder(root, "Output", names), root, note
			}
		}
	}
	root := rootObject(t.OutputSchema)
	if root.Size() == 0 {
		return nil, nil, ""
	}
	b, at = newBuilder(root, "Output", names), root
	if props := root.Object("properties"); props != nil && t.WrapsResult() {
		b, at = newBuilder(root, "", names), props.Get("result")
	}
	b.declared = true
	return b, at, ""
}

func rootObject(schema []byte) *object {
	if len(schema) == 0 {
		return nil
	}
	v, err := decode(schema)
	if err != nil {
		return nil
	}
	o, _ := v.(*object)
	return o
}

// worthNaming are the named types that a compact text writes by name: those
// that hold themselves, which cannot be expanded, and larger ones that occur
// more than once.
func (m *model) worthNaming() []*named {
	if len(m.named) == 0 {
		return nil
	}
	w := &weighing{uses: make(map[*named]int), looping: make(map[*named]bool)}
	w.walk(m.input)
	w.walk(m.output)
	var kept []*named
	for _, n := range m.named {
		if w.looping[n] || w.uses[n] > 1 && !primitive(n.typ) && isLong(n.typ) {
			kept = append(kept, n)
		}
	}
	return kept
}

// isLong reports whether a type is longer than its name would be.
func isLong(t *typ) bool {
	p := &printer{limit: 40}
	p.typ(t, kindUnknown)
	return p.failed || p.b.Len() > p.limit
}

// weighing counts the references of a model, each named type walked once.
type weighing struct {
	uses    map[*named]int
	looping map[*named]bool
	path    []*named
}

func (w *weighing) walk(t *typ) {
	if t.kind == kindRef {
		n := t.ref
		for i, at := range w.path {
			if at == n {
				for _, in := range w.path[i:] {
					w.looping[in] = true
				}
			}
		}
		if w.uses[n]++; w.uses[n] == 1 {
			w.path = append(w.path, n)
			w.walk(n.typ)
			w.path = w.path[:len(w.path)-1]
		}
		return
	}
	if t.elem != nil {
		w.walk(t.elem)
	}
	for _, item := range t.items {
		w.walk(item)
	}
	for _, f := range t.fields {
		w.walk(f.typ)
	}
	if t.rest != nil {
		w.walk(t.rest)
	}
}
