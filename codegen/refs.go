package codegen

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// maxHops bounds chains of references.
const maxHops = 100

// reference returns the type that a $ref refers to. A reference that is unresolved, circular or
// outside the document is unknown: nothing is fetched.
func (b *builder) reference(ref string) *typ {
	target, ok := b.find(ref)
	var passed []*object
	t := unknown
	for ok && len(passed) < maxHops {
		s, isObject := target.(*object)
		if !isObject {
			t = b.schemaType(target, 0)
			break
		}
		next, onlyRef := soleReference(s)
		if !onlyRef {
			t = b.name(s, ref)
			break
		}
		if known := b.aliases[s]; known != nil {
			t = known
			break
		}
		passed = append(passed, s)
		ref = next
		target, ok = b.find(ref)
	}
	for _, s := range passed {
		b.aliases[s] = t
	}
	return t
}

// soleReference returns the reference of a schema that consists of nothing else.
func soleReference(s *object) (string, bool) {
	ref := s.Text("$ref")
	if ref == "" {
		return "", false
	}
	for _, k := range s.Keys {
		switch k {
		case "$ref", "$anchor", "$comment", "description", "title", "default", "examples", "deprecated", "$defs", "definitions":
		default:
			return "", false
		}
	}
	return ref, true
}

// name returns the reference to schema s, which gets a name on its first reference.
func (b *builder) name(s *object, ref string) *typ {
	n := b.byTarget[s]
	if n == nil {
		if len(b.named) >= maxNamed {
			return unknown
		}
		n = &named{schema: s}
		if s == b.root && b.rootName != "" {
			n.name = b.rootName
		} else {
			n.name = b.names.Add(refName(ref))
		}
		b.byTarget[s] = n
		b.named = append(b.named, n)
	}
	return &typ{kind: kindRef, ref: n}
}

// refName derives the name of a type from the end of a reference.
func refName(ref string) string {
	ref = strings.TrimRight(ref, "/#")
	if i := strings.LastIndexAny(ref, "/#"); i >= 0 {
		ref = ref[i+1:]
	}
	if plain, err := url.PathUnescape(ref); err == nil {
		ref = plain
	}
	return tsname.Type(ref)
}

// find returns the target of a reference.
func (b *builder) find(ref string) (target value, ok bool) {
	return schema.Document{Root: b.root}.Find(ref)
}

// embedded reports whether s is a separate document within b's.
func (b *builder) embedded(s *object) bool { return schema.Document{Root: b.root}.Embedded(s) }

// cutLoops cuts types that consist only of themselves, such as "A or A", which neither compiler
// accepts. A type that contains itself in an array or an object is left alone.
func (b *builder) cutLoops(t *typ) *typ {
	l := loops{state: make(map[*named]int)}
	for _, n := range b.named {
		l.visit(n)
	}
	return l.cut(t, nil)
}

// loops walks from type to type; the state of a name is 1 while its parts are visited, and 2 after
// that.
type loops struct{ state map[*named]int }

func (l *loops) visit(n *named) {
	if l.state[n] == 0 {
		l.state[n] = 1
		n.typ = l.cut(n.typ, n)
		l.state[n] = 2
	}
}

func (l *loops) cut(t *typ, of *named) *typ {
	switch t.kind {
	case kindRef:
		if l.visit(t.ref); l.state[t.ref] == 1 {
			return unknown
		}
	case kindUnion, kindInter:
		items := slices.Clone(t.items)
		items = slices.DeleteFunc(items, func(m *typ) bool { return m.kind == kindRef && m.ref == of })
		changed := len(items) < len(t.items)
		for i, m := range items {
			items[i] = l.cut(m, of)
			changed = changed || items[i] != m
		}
		switch {
		case !changed:
		case len(items) == 0:
			return unknown
		case t.kind == kindUnion:
			return unite(items...)
		default:
			all := items[0]
			for _, m := range items[1:] {
				all = intersect(all, m)
			}
			return all
		}
	}
	return t
}
