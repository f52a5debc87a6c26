package codegen

import (
	"slices"
)

// A result reaches a script without its binary data: the bridge replaces the base64 data of an
// image, a sound or a file by a size and a reference. Declared types are changed accordingly.

// bytesDoc is the comment on a reference.
var bytesDoc = &doc{text: "its bytes as base64: results.get(ref, { encoding: 'base64' })"}

// mediaTypes are the values of "type" in a block whose data is base64.
var mediaTypes = []value{"image", "audio", "video", "resource", "blob", "file", "binary", "document"}

// withReferences changes the types of a declared result: a block with base64 data becomes the
// bridge's replacement.
func (b *builder) withReferences(t *typ) *typ {
	m := &mediaTyper{seen: make(map[*typ]bool), blobs: make(map[*typ]bool), docs: b.docs}
	m.walk(t)
	for _, n := range b.named {
		m.walk(n.typ)
	}
	return t
}

// A mediaTyper changes types in place: the builder has just made them, and nothing else
// refers to them.
type mediaTyper struct {
	seen  map[*typ]bool
	blobs map[*typ]bool // types that are references already
	docs  bool
}

func (m *mediaTyper) walk(t *typ) {
	if m.seen[t] {
		return
	}
	m.seen[t] = true
	if t.kind == kindObject && len(t.fields) > 0 {
		m.object(t)
	}
	if t.elem != nil {
		m.walk(t.elem)
	}
	for _, item := range t.items {
		m.walk(item)
	}
	for _, f := range t.fields {
		m.walk(f.typ)
	}
	if t.rest != nil {
		m.walk(t.rest)
	}
}

// object changes one object. A resource with a blob becomes its reference, in place of its parent;
// one that may have a text instead makes its parent a union.
func (m *mediaTyper) object(t *typ) {
	kind, resource := t.field("type"), t.field("resource")
	switch {
	case t.hasText("data") && t.field("mimeType") != nil && kind != nil:
		m.data(t, kind.typ)
	case t.hasText("blob") && t.field("mimeType") != nil:
		t.fields = m.reference(&typ{kind: kindLiteral, lit: "resource"}, t.field("uri") != nil)
		m.blobs[t] = true
	case resource != nil && kind != nil:
		var texts, blobs []*typ
		for _, r := range members(target(resource.typ)) {
			if r = target(r); m.blobs[r] || r.kind == kindObject && r.hasText("blob") {
				blobs = append(blobs, r)
			} else {
				texts = append(texts, r)
			}
		}
		if len(blobs) == 0 {
			return
		}
		reference := &typ{kind: kindObject, fields: m.reference(kind.typ, true), closed: t.closed}
		if len(texts) == 0 {
			*t = *reference
			return
		}
		with := *t
		with.fields = slices.Clone(t.fields)
		with.field("resource").typ = unite(texts...)
		m.seen[&with] = true
		for _, text := range texts {
			m.walk(text)
		}
		*t = typ{kind: kindUnion, items: []*typ{&with, reference}}
	}
}

// data changes a block with data. If the data may not be base64, the block remains an alternative.
func (m *mediaTyper) data(t *typ, kind *typ) {
	t.fields = slices.Clone(t.fields)
	data := t.field("data")
	certain := !data.optional && !slices.ContainsFunc(members(target(kind)), func(k *typ) bool {
		return k.kind != kindLiteral || !slices.Contains(mediaTypes, k.lit)
	})
	if certain {
		t.fields = m.reference(kind, t.field("uri") != nil)
		return
	}
	added := m.reference(kind, false)[2:]
	for i := range added {
		added[i].optional = true
	}
	data.optional = true
	t.fields = append(t.fields, slices.DeleteFunc(added, func(f field) bool { return t.field(f.name) != nil })...)
}

// reference returns the fields that the bridge writes for a block with base64 data.
func (m *mediaTyper) reference(kind *typ, uri bool) []field {
	fields := []field{{name: "type", typ: kind}, {name: "mimeType", typ: text}}
	if uri {
		fields = append(fields, field{name: "uri", typ: text})
	}
	ref := field{name: "ref", typ: text}
	if m.docs {
		ref.doc = bytesDoc
	}
	return append(fields, field{name: "size", typ: numeric}, ref)
}

// target returns the type that t refers to, or t.
func target(t *typ) *typ {
	for n := 0; t.kind == kindRef && t.ref.typ != nil && n < maxDepth; n++ {
		t = t.ref.typ
	}
	return t
}

// field returns the declared key of an object, or nil.
func (t *typ) field(name string) *field {
	for i := range t.fields {
		if t.fields[i].name == name {
			return &t.fields[i]
		}
	}
	return nil
}

func (t *typ) hasText(name string) bool {
	f := t.field(name)
	return f != nil && kindOf(target(f.typ)) == kindString
}

// isReference reports whether an object represents an image, a sound or a file in a
// result.
func isReference(t *typ) bool {
	return t.kind == kindObject && t.field("size") != nil && t.field("ref") != nil && t.field("mimeType") != nil &&
		!slices.ContainsFunc(t.fields, func(f field) bool {
			return !slices.Contains([]string{"type", "mimeType", "uri", "size", "ref"}, f.name)
		})
}
