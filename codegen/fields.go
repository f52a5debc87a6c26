package codegen

import "github.com/mcpbroker/mcpbroker/discovery"

// Fields describe the values at one location in a tool's results. Nil means unknown.
type Fields struct {
	// Props are the known properties of an object; their values may be nil.
	Props map[string]*Fields
	// Open means that an object may have other properties too, Closed that its schema
	// forbids them. If the schema says neither, both are false.
	Open, Closed bool
	// Elem describes the elements of an array.
	Elem *Fields
}

const (
	// maxFieldsDepth and maxFields bound the fields of one tool.
	maxFieldsDepth = 8
	maxFields      = 2000
)

// Fields returns the known fields of the value of a call of t, or nil.
func (g *Generator) Fields(t *discovery.Tool) *Fields {
	r := fieldReader{left: maxFields}
	f := r.read(g.model(t, false).output, 0)
	if r.left < 0 {
		return nil // a partial result would make the rest unknown
	}
	return f
}

type fieldReader struct{ left int }

func (r *fieldReader) read(t *typ, depth int) *Fields {
	if depth > maxFieldsDepth || r.left < 0 {
		return nil
	}
	switch t.kind {
	case kindObject:
		return r.object(t, depth)
	case kindArray:
		return elements(r.read(t.elem, depth+1))
	case kindTuple:
		return elements(r.alternatives(append(t.items[:len(t.items):len(t.items)], rest(t)...), depth+1))
	case kindRef:
		return r.read(t.ref.typ, depth+1)
	case kindUnion:
		return r.alternatives(t.items, depth)
	case kindInter:
		return r.together(t.items, depth)
	}
	return nil
}

func rest(t *typ) []*typ {
	if t.elem == nil {
		return nil
	}
	return []*typ{t.elem}
}

func elements(of *Fields) *Fields {
	if of == nil {
		return nil
	}
	return &Fields{Open: true, Elem: of}
}

func (r *fieldReader) object(t *typ, depth int) *Fields {
	if len(t.fields) == 0 {
		return nil
	}
	f := &Fields{Props: make(map[string]*Fields, len(t.fields)), Open: t.rest != nil, Closed: t.closed && t.rest == nil}
	for _, p := range t.fields {
		r.left--
		f.Props[p.name] = r.read(p.typ, depth+1)
	}
	return f
}

// alternatives returns the fields of a value with one of several types. Primitive
// values have no fields; if one of the objects is unknown, all fields are unknown.
func (r *fieldReader) alternatives(types []*typ, depth int) *Fields {
	var all *Fields
	for _, t := range types {
		if primitive(t) || t.kind == kindNever {
			continue
		}
		f := r.read(t, depth)
		if f == nil {
			return nil
		}
		if all = join(all, f); all == nil {
			return nil
		}
	}
	return all
}

// together returns the fields of a value that has all of the types.
func (r *fieldReader) together(types []*typ, depth int) *Fields {
	var all *Fields
	for _, t := range types {
		f := r.read(t, depth)
		if f == nil {
			return nil
		}
		all = join(all, f)
	}
	if all != nil {
		all.Closed = false
	}
	return all
}

// join merges a and b. It may change a.
func join(a, b *Fields) *Fields {
	if a == nil {
		return b
	}
	if (a.Elem == nil) != (b.Elem == nil) {
		return nil // it is either an array or an object
	}
	a.Open, a.Closed = a.Open || b.Open, a.Closed && b.Closed
	if a.Elem != nil {
		a.Elem = join(a.Elem, b.Elem)
	}
	for name, f := range b.Props {
		if known, ok := a.Props[name]; !ok {
			a.Props[name] = f
		} else if known == nil || f == nil {
			a.Props[name] = nil
		} else {
			a.Props[name] = join(known, f)
		}
	}
	return a
}
