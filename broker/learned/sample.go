package learned

import (
	"bytes"
	"errors"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A sample describes one result. Unlike a node, it contains all keys in plain text: it exists only
// until it is merged.
type sample struct {
	tally
	object *sampleObject
	elem   *sample
}

type sampleObject struct {
	n    int
	keys []string // in the order of their first occurrence
	// members has at most sampleKeys entries; more reports whether there were others.
	members map[string]*sampleMember
	more    bool
}

type sampleMember struct {
	n int
	sample
}

// sampleKeys bounds the keys of a sample at one location: enough to recognize a map.
const sampleKeys = maxKeys + 1

var errSyntax = errors.New("not JSON")

// sampleElems bounds the elements of one array in a sample.
const sampleElems = 256

// take reads a result into a sample.
func take(text []byte) (*sample, error) {
	r := reader{jsonscan.New(text)}
	s := &sample{}
	if r.value(s, 0); !r.End() {
		return s, errSyntax
	}
	return s, nil
}

type reader struct{ jsonscan.Scanner[[]byte] }

// value reads one value into s; a nil s skips it.
func (r *reader) value(s *sample, depth int) {
	if s == nil {
		r.Skip()
		return
	}
	switch k := r.Kind(); k {
	case '{':
		r.object(s, depth)
	case '[':
		r.array(s, depth)
	default:
		raw := r.Skip()
		switch {
		case r.Broken():
		case k == '"':
			s.addString(raw[1 : len(raw)-1])
		case k == 't', k == 'f':
			s.Kinds[kindBool]++
		case k == 'n':
			s.Kinds[kindNull]++
		case bytes.ContainsAny(raw, ".eE"):
			s.Kinds[kindNumber]++
		default:
			s.Kinds[kindInteger]++
		}
	}
}

func (s *sample) addString(text []byte) {
	one := tally{Formats: formatsOf(text)}
	one.Kinds[kindString] = 1
	s.tally.add(one)
}

func (r *reader) array(s *sample, depth int) {
	s.Kinds[kindArray]++
	var elem *sample
	if depth < maxDepth {
		if s.elem == nil {
			s.elem = &sample{}
		}
		elem = s.elem
	}
	n := 0
	for r.Enter('['); r.More(']'); {
		if n++; n > sampleElems {
			elem = nil
		}
		r.value(elem, depth+1)
	}
}

func (r *reader) object(s *sample, depth int) {
	if depth >= maxDepth {
		r.Skip()
		s.Kinds[kindObject]++
		return
	}
	// It is read as an object of its own first, so that a duplicate key counts once.
	one := &sampleObject{n: 1, members: map[string]*sampleMember{}}
	for r.Enter('{'); r.More('}'); {
		key := r.Key()
		if r.Broken() {
			return
		}
		var to *sample
		if m := one.member(string(jsonscan.Unquote(key))); m != nil {
			m.n = 1
			to = &m.sample
		}
		r.value(to, depth+1)
	}
	if r.Broken() {
		return
	}
	s.Kinds[kindObject]++
	if s.object == nil {
		s.object = one
	} else {
		s.object.add(one)
	}
}

// member returns the member called name, or nil if there are too many.
func (o *sampleObject) member(name string) *sampleMember {
	m := o.members[name]
	if m == nil {
		if len(o.keys) >= sampleKeys {
			o.more = true
			return nil
		}
		m = &sampleMember{}
		o.members[name] = m
		o.keys = append(o.keys, name)
	}
	return m
}

func (o *sampleObject) add(p *sampleObject) {
	o.n += p.n
	o.more = o.more || p.more
	for _, name := range p.keys {
		if m := o.member(name); m != nil {
			m.n += p.members[name].n
			m.sample.add(&p.members[name].sample)
		}
	}
}

func (s *sample) add(t *sample) {
	s.tally.add(t.tally)
	if t.elem != nil {
		if s.elem == nil {
			s.elem = &sample{}
		}
		s.elem.add(t.elem)
	}
	if t.object != nil {
		if s.object == nil {
			s.object = &sampleObject{members: map[string]*sampleMember{}}
		}
		s.object.add(t.object)
	}
}
