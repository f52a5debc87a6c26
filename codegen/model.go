package codegen

import (
	"slices"
	"strconv"
)

// A kind selects the fields of a typ that are used.
type kind uint8

const (
	kindUnknown kind = iota
	kindNever
	kindString
	kindNumber
	kindBoolean
	kindNull
	kindLiteral // lit
	kindArray   // elem
	kindTuple   // items, min, elem
	kindObject  // fields, rest
	kindUnion   // items
	kindInter   // items
	kindRef     // ref
)

// A typ is a type of TypeScript and Python, built from a JSON Schema. It is not changed once it is
// part of another.
type typ struct {
	kind   kind
	lit    value
	elem   *typ   // of an array, or of the rest of an open tuple
	items  []*typ // of a tuple, a union, an intersection
	min    int    // number of required items of a tuple
	fields []field
	ref    *named
	// rest is the type of undeclared keys of an object, or nil. restOptional means that
	// they may also be undefined.
	rest         *typ
	restOptional bool
	closed       bool // an object whose schema forbids other keys
}

// A field is one declared key of an object.
type field struct {
	name     string
	typ      *typ
	optional bool
	doc      *doc
}

// A named is the target of references. It needs a name, since it may be recursive.
type named struct {
	name   string
	typ    *typ
	schema *object
}

var (
	unknown   = &typ{kind: kindUnknown}
	never     = &typ{kind: kindNever}
	null      = &typ{kind: kindNull}
	text      = &typ{kind: kindString}
	numeric   = &typ{kind: kindNumber}
	boolean   = &typ{kind: kindBoolean}
	anyObject = &typ{kind: kindObject, rest: unknown}
	anyArray  = &typ{kind: kindArray, elem: unknown}
)

// literalOf returns the type of exactly one JSON value.
func literalOf(v value) *typ {
	switch v := v.(type) {
	case nil:
		return null
	case number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil {
			return numeric // no literal can express it
		}
	case *object:
		t := &typ{kind: kindObject}
		for i, k := range v.Keys {
			t.fields = append(t.fields, field{name: k, typ: literalOf(v.Vals[i])})
		}
		return t
	case []value:
		t := &typ{kind: kindTuple, min: len(v)}
		for _, item := range v {
			t.items = append(t.items, literalOf(item))
		}
		return t
	}
	return &typ{kind: kindLiteral, lit: v}
}

// kindOf returns the primitive kind of a literal, or the kind of another type.
func kindOf(t *typ) kind {
	if t.kind != kindLiteral {
		return t.kind
	}
	switch t.lit.(type) {
	case string:
		return kindString
	case number:
		return kindNumber
	}
	return kindBoolean
}

// primitive reports whether t is a string, a number, a boolean, null or one
// value of these.
func primitive(t *typ) bool { return t.kind >= kindString && t.kind <= kindLiteral }

// members returns the alternatives of a type.
func members(t *typ) []*typ {
	if t.kind == kindUnion {
		return t.items
	}
	return []*typ{t}
}

// unite returns "a or b": each alternative once, without literals of a kind that is an
// alternative. Unknown absorbs everything; a union of nothing is never.
func unite(types ...*typ) *typ {
	var u unionBuilder
	for _, t := range types {
		for _, m := range members(t) {
			if m.kind == kindUnknown {
				return unknown
			}
			u.add(m)
		}
	}
	kept := slices.DeleteFunc(u.alternatives, func(m *typ) bool { return m.kind == kindLiteral && u.kinds[kindOf(m)] })
	switch len(kept) {
	case 0:
		return never
	case 1:
		return kept[0]
	}
	return &typ{kind: kindUnion, items: kept}
}

// A unionBuilder collects the alternatives of a union.
type unionBuilder struct {
	alternatives []*typ
	kinds        [kindRef + 1]bool
	literals     map[value]bool
}

func (u *unionBuilder) add(m *typ) {
	switch {
	case m.kind == kindNever:
		return
	case m.kind == kindLiteral:
		if u.literals[m.lit] {
			return
		}
		if u.literals == nil {
			u.literals = make(map[value]bool)
		}
		u.literals[m.lit] = true
		if u.literals[true] && u.literals[false] && !u.kinds[kindBoolean] {
			u.add(boolean)
			return
		}
	case primitive(m):
		if u.kinds[m.kind] {
			return
		}
		u.kinds[m.kind] = true
	default:
		if len(u.alternatives) < maxCompared && slices.ContainsFunc(u.alternatives, func(k *typ) bool { return same(k, m) }) {
			return
		}
	}
	u.alternatives = append(u.alternatives, m)
}

// maxCompared bounds the alternatives that are compared with each other.
const maxCompared = 200

// same reports whether two types are written alike, ignoring comments.
func same(a, b *typ) bool {
	if a == b {
		return true
	}
	if a.kind != b.kind || a.lit != b.lit || a.ref != b.ref || a.min != b.min ||
		len(a.items) != len(b.items) || len(a.fields) != len(b.fields) ||
		(a.rest == nil) != (b.rest == nil) || (a.elem == nil) != (b.elem == nil) {
		return false
	}
	for i, f := range a.fields {
		if g := b.fields[i]; f.name != g.name || f.optional != g.optional || !same(f.typ, g.typ) {
			return false
		}
	}
	if a.rest != nil && !same(a.rest, b.rest) {
		return false
	}
	for i := range a.items {
		if !same(a.items[i], b.items[i]) {
			return false
		}
	}
	return a.elem == nil || same(a.elem, b.elem)
}

// maxProduct bounds the unions that are multiplied out.
const maxProduct = 64

// intersect returns "a and b". Contradictory alternatives are dropped; a type that cannot be
// merged stays an intersection.
func intersect(a, b *typ) *typ {
	switch {
	case a.kind == kindUnknown:
		return b
	case b.kind == kindUnknown || same(a, b):
		return a
	case a.kind != kindUnion && b.kind != kindUnion:
		return meet(a, b)
	}
	as, bs := members(a), members(b)
	// One object beside alternatives reads best as "{…} & (A | B)".
	if a.kind == kindObject && !same(a, anyObject) && allObjects(bs) || len(as)*len(bs) > maxProduct {
		return &typ{kind: kindInter, items: []*typ{a, b}}
	}
	var met []*typ
	for _, x := range as {
		for _, y := range bs {
			met = append(met, meet(x, y))
		}
	}
	return unite(met...)
}

func allObjects(types []*typ) bool {
	for _, t := range types {
		if t.kind != kindObject && t.kind != kindRef && t.kind != kindInter {
			return false
		}
	}
	return true
}

// meet returns the intersection of two types that are not unions.
func meet(a, b *typ) *typ {
	switch {
	case a.kind == kindNever || b.kind == kindNever:
		return never
	case a.kind == kindUnknown || same(a, b):
		return b
	case b.kind == kindUnknown:
		return a
	case a.kind == kindRef || b.kind == kindRef || a.kind == kindInter || b.kind == kindInter:
		// A type that accepts any object adds nothing, and would accept misspelt keys.
		if same(a, anyObject) {
			return b
		}
		if same(b, anyObject) {
			return a
		}
		return &typ{kind: kindInter, items: append(parts(a), parts(b)...)}
	case kindOf(a) == kindOf(b) && primitive(a) && primitive(b):
		if a.kind == kindLiteral && b.kind == kindLiteral {
			return never
		}
		if a.kind == kindLiteral {
			return a
		}
		return b
	case a.kind == kindObject && b.kind == kindObject:
		return meetObjects(a, b)
	case same(a, anyArray) && (b.kind == kindArray || b.kind == kindTuple):
		return b
	case same(b, anyArray) && (a.kind == kindArray || a.kind == kindTuple):
		return a
	case a.kind == kindArray && b.kind == kindArray:
		return &typ{kind: kindArray, elem: intersect(a.elem, b.elem)}
	case (a.kind == kindArray || a.kind == kindTuple) && (b.kind == kindArray || b.kind == kindTuple):
		return &typ{kind: kindInter, items: []*typ{a, b}}
	}
	return never
}

// parts returns the members of an intersection.
func parts(t *typ) []*typ {
	if t.kind == kindInter {
		return slices.Clip(t.items)
	}
	return []*typ{t}
}

// meetObjects merges two objects into one, unless that would weaken an index signature.
func meetObjects(a, b *typ) *typ {
	switch {
	case same(a, anyObject):
		return b
	case same(b, anyObject):
		return a
	case a.rest != nil || b.rest != nil:
		return &typ{kind: kindInter, items: []*typ{a, b}}
	}
	m := &typ{kind: kindObject, fields: slices.Clone(a.fields)}
	places := make(map[string]int, len(a.fields))
	for i, f := range a.fields {
		places[f.name] = i
	}
	for _, f := range b.fields {
		i, ok := places[f.name]
		if !ok {
			m.fields = append(m.fields, f)
			continue
		}
		g := &m.fields[i]
		g.typ = intersect(g.typ, f.typ)
		g.optional = g.optional && f.optional
		if g.doc == nil {
			g.doc = f.doc
		}
	}
	return m
}

// acceptsEmpty reports whether {} is of type t.
func acceptsEmpty(t *typ) bool { return acceptsEmptyWithin(t, 8) }

func acceptsEmptyWithin(t *typ, depth int) bool {
	accepts := func(t *typ) bool { return acceptsEmptyWithin(t, depth-1) }
	switch {
	case depth == 0:
		return false
	case t.kind == kindUnknown:
		return true
	case t.kind == kindObject:
		return !slices.ContainsFunc(t.fields, func(f field) bool { return !f.optional })
	case t.kind == kindUnion:
		return slices.ContainsFunc(t.items, accepts)
	case t.kind == kindInter:
		return !slices.ContainsFunc(t.items, func(t *typ) bool { return !accepts(t) })
	case t.kind == kindRef:
		return accepts(t.ref.typ)
	}
	return false
}
