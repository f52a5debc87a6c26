// Package codegen converts catalogue tools to code for people, models and compilers: the typed
// wrappers that an editor completes, the compact declaration and the one-line signature of a
// search hit, stubs for Python, and the untyped module that a script runs.
//
// It is pure: the same catalogue always yields the same bytes, and there is no I/O. All texts of a
// tool derive from one model, which is built from its JSON Schemas (2020-12 and draft-07). Schemas
// are untrusted: an invalid or too large part becomes "unknown", and so does the target of a
// reference by $anchor or $id. No schema causes an error or costs a tool its wrapper.
package codegen

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A Generator generates code for tools. The zero value uses the types that the tools declare. It
// is safe for concurrent use if Output is.
type Generator struct {
	// Output returns the known type of a tool's results, which replaces the declared one; nil
	// keeps the declared type. It is called once for every text about a tool. It may be nil.
	Output func(t *discovery.Tool) *Output
	// Wanted reports whether an optional parameter is kept where others are left out; nil keeps
	// none.
	Wanted func(parameter string) bool
}

// An Output is the type of a tool's results.
type Output struct {
	// Schema is a JSON Schema of the value of a call as a script gets it; it is not unwrapped.
	Schema json.RawMessage
	// Note is a comment on the type, such as "learned from 14 calls"; it may be empty.
	Note string
	// Held describes the data in the tool's text results; nil if unknown.
	Held *Held
}

// A Held describes the data in a text: its schema, and a TypeScript expression that
// extracts it from a result r.
type Held struct {
	Schema json.RawMessage
	Parse  string
}

// maxHeld bounds the type of the data in a text.
const maxHeld = 600

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
	return fitting(b.build(root), maxHeld, style{compact: true, enumMax: 6, vague: "any"}, style{compact: true, enumMax: 4, vague: "any", depth: 3},
		style{compact: true, enumMax: 4, vague: "any", depth: 1}, style{compact: true, vague: "any", depth: 1, maxOptional: 8}), o.Held.Parse
}

// A model contains the types of one tool.
type model struct {
	input, output *typ
	// named are the types that input and output refer to; the first inputs of them belong to the
	// input.
	named  []*named
	inputs int
	// noInput reports that the tool takes no arguments worth mentioning.
	noInput bool
	note    string
	// untyped reports that the type of the results is unknown; they are texts then.
	untyped bool
}

// UntypedNote describes the value of a call if the type of the tool's results is unknown.
const UntypedNote = "text (parsed if JSON) or [{type,text|mimeType,size,ref}]"

// Untyped reports whether the type of the results of t is unknown.
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
		m.output = unknown // the schema says nothing useful
	}
	return m
}

// hasExtraKeys reports whether a schema requires keys that it does not declare.
func hasExtraKeys(s *object) bool {
	_, isSchema := s.Get("additionalProperties").(*object)
	return isSchema || s.Get("additionalProperties") == true || s.Has("patternProperties")
}

// inputRoot returns the schema of a tool's arguments, which are always an object.
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

// outputRoot returns the builder of the output type and the schema to build: that of
// Generator.Output, or the declared one, where a lone "result" is unwrapped as by the bridge. It
// returns nil if nothing is known: the type is then any, because unknown makes ordinary code fail.
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

// worthNaming returns the named types that a compact text refers to by name: recursive ones, which
// cannot be expanded, and larger ones that occur more than once.
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

// isLong reports whether a type is longer than its name.
func isLong(t *typ) bool {
	p := &printer{limit: 40}
	p.typ(t, kindUnknown)
	return p.failed || p.b.Len() > p.limit
}

// weighing counts the references of a model; it walks each named type once.
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
