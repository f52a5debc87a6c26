package policy

import (
	"strconv"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// found describes the values at a path of the arguments.
type found struct {
	exists bool // there is a value, perhaps an empty list
	leaves bool
	any    bool // the condition holds for a leaf, or a leaf has another type
	all    bool // the condition holds for every leaf
}

// members are the members of the arguments, found once for all rules.
type members struct {
	args []byte
	read bool
	// broken means that the arguments are not JSON, or nested too deep for a decoder: rules that
	// allow do not match, and rules that ask or deny do.
	broken   bool
	complete bool // at[:n] are all members
	n        int
	at       [16]member
}

type member struct {
	key, value []byte // key is decoded, value is raw
	scalar     bool
	leaf       leaf // of a scalar
}

// index finds the members.
func (m *members) index() {
	m.read, m.complete = true, true
	s := jsonscan.New(m.args)
	if s.Kind() != '{' {
		m.complete = false
		s.Skip()
		m.broken = !s.End()
		return
	}
	for s.Enter('{'); s.More('}'); {
		key := s.Key()
		value := s.Skip()
		if m.complete = m.complete && m.n < len(m.at); !m.complete || s.Broken() {
			continue
		}
		at := &m.at[m.n]
		at.key, at.value = jsonscan.Unquote(key), value
		if at.scalar = value[0] != '{' && value[0] != '['; at.scalar {
			at.leaf = leafOf(value)
		}
		m.n++
	}
	m.broken = !s.End()
}

// holds reports whether the arguments match, for a rule that allows or one that does not.
func (a *argument) holds(m *members, allow bool) bool {
	if !m.read {
		m.index()
	}
	if m.broken {
		return !allow
	}
	f := a.in(m)
	absent, known := false, false
	if !f.leaves {
		absent, known = a.isAbsent()
	}
	switch {
	case !f.exists:
		return absent
	case !f.leaves && known: // an empty list
		return !absent
	}
	if allow {
		return f.leaves && f.all
	}
	return f.any
}

// in returns what the arguments contain at the path.
func (a *argument) in(m *members) found {
	f := found{all: true}
	if !m.complete || a.path[0] == "*" {
		s := jsonscan.New(m.args)
		f.walk(&s, a.path, &a.condition, 0)
		return f
	}
	for i := range m.at[:m.n] {
		switch at := &m.at[i]; { // a key may occur twice
		case string(at.key) != a.path[0]:
		case at.scalar && len(a.path) == 1:
			f.note(a.condition.holds(at.leaf))
		default:
			s := jsonscan.New(at.value)
			f.walk(&s, a.path[1:], &a.condition, 1)
		}
	}
	return f
}

// note counts one leaf.
func (f *found) note(t truth) {
	f.exists, f.leaves = true, true
	f.any = f.any || t != no
	f.all = f.all && t == yes
}

// walk examines the next value. It examines each element of a list on the path.
func (f *found) walk(s *jsonscan.Scanner[[]byte], path []string, c *condition, depth int) {
	kind := s.Kind()
	switch {
	case depth > maxArgumentDepth:
		f.note(unexpected)
		s.Skip()
	case kind == '{' && len(path) == 0:
		f.note(notScalar(c))
		s.Skip()
	case kind == '{':
		f.object(s, path, c, depth)
	case kind == '[':
		f.list(s, path, c, depth)
	case len(path) == 0:
		f.note(c.holds(leafOf(s.Skip())))
	default:
		if kind != 'n' { // the path leads into a value other than an object
			f.note(notScalar(c))
		}
		s.Skip()
	}
}

// maxArgumentDepth bounds the examined depth of arguments.
const maxArgumentDepth = 1000

// notScalar evaluates a condition for an object.
func notScalar(c *condition) truth {
	if c.op == opAll && len(c.inner) == 1 && c.inner[0].op == opAbsent {
		return truthOf(!c.inner[0].flag)
	}
	return unexpected
}

func (f *found) object(s *jsonscan.Scanner[[]byte], path []string, c *condition, depth int) {
	for s.Enter('{'); s.More('}'); {
		if key := s.Key(); path[0] == "*" || jsonscan.Is(key, path[0]) { // a key may occur twice
			f.walk(s, path[1:], c, depth+1)
		} else {
			s.Skip()
		}
	}
}

func (f *found) list(s *jsonscan.Scanner[[]byte], path []string, c *condition, depth int) {
	only := -1
	if len(path) > 0 {
		if n, err := strconv.Atoi(path[0]); err == nil && n >= 0 && len(path[0]) < 10 {
			only, path = n, path[1:]
		} else if path[0] == "*" {
			path = path[1:]
		}
	}
	if len(path) == 0 {
		f.exists = true
	}
	n := 0
	for s.Enter('['); s.More(']'); n++ {
		if only < 0 || n == only {
			f.walk(s, path, c, depth+1)
		} else {
			s.Skip()
		}
	}
}

// leafOf returns the leaf for a JSON literal.
func leafOf(b []byte) leaf {
	switch b[0] {
	case '"':
		return leaf{'"', jsonscan.Unquote(b)}
	case 't', 'f', 'n':
		return leaf{b[0], b}
	}
	return leaf{'0', b}
}
