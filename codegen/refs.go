package codegen

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// maxHops bounds the references to references that are followed.
const maxHops = 100

// reference returns the type behind a $ref. What leads nowhere, in a circle or
// out of the document is unknown: nothing is fetched.
func (b *builder) reference(ref string) *typ {
	target, scope, ok := b.find(ref, b.scope)
	var passed []*object
	t := unknown
	for ok && len(passed) < maxHops {
		s, isObject := target.(*object)
		if !isObject {
			t = b.of(target, 0)
			break
		}
		next, onlyRef := soleReference(s)
		if !onlyRef {
			t = b.name(s, scope, ref)
			break
		}
		if known := b.aliases[s]; known != nil {
			t = known
			break
		}
		passed = append(passed, s)
		ref, scope = next, scopeOf(s, scope)
		target, scope, ok = b.find(ref, scope)
	}
	for _, s := range passed {
		b.aliases[s] = t
	}
	return t
}

// soleReference returns the reference of a schema that says nothing else.
func soleReference(s *object) (string, bool) {
	ref := s.text("$ref")
	if ref == "" {
		return "", false
	}
	for _, k := range s.keys {
		switch k {
		case "$ref", "$id", "$anchor", "$comment", "description", "title", "default", "examples", "deprecated", "$defs", "definitions":
		default:
			return "", false
		}
	}
	return ref, true
}

// name returns the reference to schema s, which gets a name when it is first
// referred to.
func (b *builder) name(s, scope *object, ref string) *typ {
	n := b.byTarget[s]
	if n == nil {
		if len(b.named) >= maxNamed {
			return unknown
		}
		n = &named{schema: s, scope: scope}
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

// refName makes a type's name of the end of a reference.
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

// find returns what a reference points to, and what "#" means there.
func (b *builder) find(ref string, scope *object) (target value, in *object, ok bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" {
		if scope = b.resource(base, scope); scope == nil {
			return nil, nil, false
		}
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	switch {
	case fragment == "":
		return scope, scope, true
	case fragment[0] != '/':
		s := b.anchors(scope)[fragment]
		return s, scope, s != nil
	}
	target = scope
	for part := range strings.SplitSeq(fragment[1:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch at := target.(type) {
		case *object:
			if !at.has(part) {
				return nil, nil, false
			}
			target, scope = at.get(part), scopeOf(at, scope)
		case []value:
			i := integer(number(part), -1)
			if part == "" || i < 0 || i >= len(at) {
				return nil, nil, false
			}
			target = at[i]
		default:
			return nil, nil, false
		}
	}
	return target, scope, true
}

// scopeOf returns what "#" means in s, which stands in scope.
func scopeOf(s, scope *object) *object {
	if id := s.text("$id"); id != "" && id[0] != '#' {
		return s
	}
	return scope
}

// places are the schemas of a document that have names of their own.
type places struct {
	ids     map[string]*object
	anchors map[*object]map[string]*object // by the schema with the $id around
}

func (b *builder) lookUp() *places {
	if b.places == nil {
		b.places = &places{ids: make(map[string]*object), anchors: make(map[*object]map[string]*object)}
		b.places.walk(b.root, b.root)
	}
	return b.places
}

func (p *places) walk(v value, scope *object) {
	switch v := v.(type) {
	case []value:
		for _, item := range v {
			p.walk(item, scope)
		}
	case *object:
		if id := v.text("$id"); strings.HasPrefix(id, "#") { // how draft-06 and -07 wrote anchors
			p.add(scope, id[1:], v)
		} else if id != "" {
			scope = v
			p.ids[strings.TrimSuffix(id, "#")] = v
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if a := v.text(key); a != "" {
				p.add(scope, a, v)
			}
		}
		for _, item := range v.vals {
			p.walk(item, scope)
		}
	}
}

func (p *places) add(scope *object, anchor string, s *object) {
	if p.anchors[scope] == nil {
		p.anchors[scope] = make(map[string]*object)
	}
	if p.anchors[scope][anchor] == nil {
		p.anchors[scope][anchor] = s
	}
}

func (b *builder) anchors(scope *object) map[string]*object { return b.lookUp().anchors[scope] }

// resource finds a schema of the document by its $id, absolute or relative to
// that of the scope.
func (b *builder) resource(ref string, scope *object) *object {
	ids := b.lookUp().ids
	if s := ids[ref]; s != nil {
		return s
	}
	for _, base := range []*object{scope, b.root} {
		from, err := url.Parse(base.text("$id"))
		if err != nil {
			continue
		}
		to, err := from.Parse(ref)
		if err != nil {
			return nil
		}
		for id, s := range ids {
			if abs, err := from.Parse(id); err == nil && *abs == *to {
				return s
			}
		}
	}
	return nil
}

// cutLoops ends types that are made of nothing but themselves, such as
// "A or A", which neither compiler takes. A type that holds itself in an array
// or an object is none of these.
func (b *builder) cutLoops(t *typ) *typ {
	l := loops{state: make(map[*named]int)}
	for _, n := range b.named {
		l.visit(n)
	}
	return l.cut(t, nil)
}

// loops walks from type to type; a name is visited (1) until what it is made of
// has been (2).
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
