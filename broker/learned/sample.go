package learned

import (
	"encoding/json"
	"errors"
)

// A sample is what one result looks like. Unlike a node, it holds the keys as
// they are: it lives only until it is merged.
type sample struct {
	tally
	object *sampleObject
	elem   *sample
}

type sampleObject struct {
	n    int
	keys []string // in order of first sight
	// members has at most sampleKeys; more says that there were others.
	members map[string]*sampleMember
	more    bool
}

type sampleMember struct {
	n int
	sample
}

// sampleKeys is how many different keys of one place a sample holds: enough to
// know that it is a map.
const sampleKeys = maxKeys + 1

var errSyntax = errors.New("not JSON")

// sampleElems is how many elements of one array a sample looks at.
const sampleElems = 256

// take reads a result into a sample.
func take(text []byte) (*sample, error) {
	r := &reader{text: text}
	s := &sample{}
	return s, r.value(s, 0)
}

// A reader walks over valid JSON. It does not validate it.
type reader struct {
	text []byte
	i    int
}

func (r *reader) next() (byte, error) {
	for ; r.i < len(r.text); r.i++ {
		switch c := r.text[r.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c, nil
		}
	}
	return 0, errSyntax
}

// value reads one value into s; a nil s skips it.
func (r *reader) value(s *sample, depth int) error {
	c, err := r.next()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return r.object(s, depth)
	case '[':
		return r.array(s, depth)
	case '"':
		text, _, err := r.str()
		if err == nil && s != nil {
			s.addString(text)
		}
		return err
	}
	k, err := r.scalar()
	if err == nil && s != nil {
		s.Kinds[k]++
	}
	return err
}

func (s *sample) addString(text []byte) {
	one := tally{Formats: formatsOf(text)}
	one.Kinds[kindString] = 1
	s.tally.add(one)
}

// str reads a string and returns what stands between its quotes, and whether
// that has escapes.
func (r *reader) str() ([]byte, bool, error) {
	start, escaped := r.i+1, false
	for r.i++; r.i < len(r.text); r.i++ {
		switch r.text[r.i] {
		case '\\':
			escaped = true
			r.i++
		case '"':
			r.i++
			return r.text[start : r.i-1], escaped, nil
		}
	}
	return nil, false, errSyntax
}

// scalar reads a number, true, false or null.
func (r *reader) scalar() (kind, error) {
	start, k := r.i, kindInteger
	for ; r.i < len(r.text); r.i++ {
		switch r.text[r.i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return k, nil
		case '.', 'e', 'E':
			if k == kindInteger {
				k = kindNumber
			}
		}
		if r.i == start {
			switch r.text[start] {
			case 'n':
				k = kindNull
			case 't', 'f':
				k = kindBool
			case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			default:
				return 0, errSyntax
			}
		}
	}
	return k, nil // the end of the text is that of a lone scalar
}

func (r *reader) array(s *sample, depth int) error {
	var elem *sample
	if s != nil {
		s.Kinds[kindArray]++
		if depth < maxDepth {
			if s.elem == nil {
				s.elem = &sample{}
			}
			elem = s.elem
		}
	}
	n := 0
	return r.list(']', func() error {
		if n++; n > sampleElems {
			elem = nil
		}
		return r.value(elem, depth+1)
	})
}

func (r *reader) object(s *sample, depth int) error {
	if s == nil || depth >= maxDepth {
		if s != nil {
			s.Kinds[kindObject]++
		}
		return r.list('}', func() error { return r.member(nil, depth) })
	}
	// It is read as an object of its own first: a key that is there twice is
	// there once.
	one := &sampleObject{n: 1, members: map[string]*sampleMember{}}
	if err := r.list('}', func() error { return r.member(one, depth) }); err != nil {
		return err
	}
	s.Kinds[kindObject]++
	if s.object == nil {
		s.object = one
	} else {
		s.object.add(one)
	}
	return nil
}

// member reads a key and its value into o; nil skips them.
func (r *reader) member(o *sampleObject, depth int) error {
	if c, err := r.next(); err != nil {
		return err
	} else if c != '"' {
		return errSyntax
	}
	raw, escaped, err := r.str()
	if err != nil {
		return err
	}
	if c, err := r.next(); err != nil {
		return err
	} else if c != ':' {
		return errSyntax
	}
	r.i++
	var to *sample
	if o != nil {
		if m := o.member(key(raw, escaped)); m != nil {
			m.n = 1
			to = &m.sample
		}
	}
	return r.value(to, depth+1)
}

func key(raw []byte, escaped bool) string {
	if escaped {
		var s string
		if json.Unmarshal([]byte(`"`+string(raw)+`"`), &s) == nil {
			return s
		}
	}
	return string(raw)
}

// member returns the member called name, or nil when there are too many.
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

// list reads what stands from an opening bracket to its end, one item after
// the other.
func (r *reader) list(end byte, item func() error) error {
	r.i++
	for first := true; ; first = false {
		c, err := r.next()
		switch {
		case err != nil:
			return err
		case c == end:
			r.i++
			return nil
		case !first && c != ',':
			return errSyntax
		case !first:
			r.i++
		}
		if err := item(); err != nil {
			return err
		}
	}
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
