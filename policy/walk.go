package policy

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// What is found at a path of the arguments.
type found struct {
	there  bool // something is, if only an empty list
	leaves bool
	any    bool // a leaf for which the condition holds, or is of another type
	all    bool // it holds for every leaf
}

// members is where the members of the arguments are, found once for all rules.
type members struct {
	args []byte
	n    int // how many there are in at; below 0 before they were looked for, and if there are more
	at   [16]member
}

type member struct {
	key    []byte // as written
	value  int
	scalar bool
	leaf   leaf // of what is scalar
}

// index finds the members, unless there are too many.
func (m *members) index() {
	b := m.args
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	n := 0
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}'; i = skipComma(b, i) {
		end := skipValue(b, i)
		colon := skipSpace(b, end)
		if n == len(m.at) || colon >= len(b) || b[colon] != ':' {
			return
		}
		at := &m.at[n]
		at.key, at.value = b[i:end], skipSpace(b, colon+1)
		i = skipValue(b, at.value)
		if at.scalar = at.value < i && b[at.value] != '{' && b[at.value] != '['; at.scalar {
			at.leaf = leafOf(b[at.value:i])
		}
		n++
	}
	m.n = n
}

// holds reports whether the arguments match, for a rule that allows or for one that
// does not.
func (a *argument) holds(m *members, allow bool) bool {
	f := found{all: true}
	if m.n < 0 {
		m.index()
	}
	if m.n >= 0 && a.path[0] != "*" {
		for i := range m.at[:m.n] {
			switch at := &m.at[i]; { // a key may stand twice
			case !isKey(at.key, a.path[0]):
			case at.scalar && len(a.path) == 1:
				f.note(a.condition.holds(at.leaf))
			default:
				f.walk(m.args, at.value, a.path[1:], &a.condition, 1)
			}
		}
	} else {
		f.walk(m.args, skipSpace(m.args, 0), a.path, &a.condition, 0)
	}
	absent, known := false, false
	if !f.leaves {
		absent, known = a.isAbsent()
	}
	switch {
	case !f.there:
		return absent
	case !f.leaves && known: // an empty list
		return !absent
	}
	if allow {
		return f.leaves && f.all
	}
	return f.any
}

// note counts one leaf.
func (f *found) note(t truth) {
	f.there, f.leaves = true, true
	f.any = f.any || t != no
	f.all = f.all && t == yes
}

// walk examines the value that begins at i and returns its end. For a list on the path,
// it examines each element.
func (f *found) walk(b []byte, i int, path []string, c *condition, depth int) int {
	if i >= len(b) || depth > maxArgumentDepth {
		f.note(unexpected)
		return len(b)
	}
	switch b[i] {
	case '{':
		if len(path) == 0 {
			f.note(notScalar(c))
			return skipValue(b, i)
		}
		return f.object(b, i, path, c, depth)
	case '[':
		return f.list(b, i, path, c, depth)
	}
	end := skipValue(b, i)
	switch {
	case len(path) == 0:
		f.note(c.holds(leafOf(b[i:end])))
	case b[i] != 'n': // the path leads into a value other than an object
		f.note(notScalar(c))
	}
	return end
}

// maxArgumentDepth is how deep arguments are looked into.
const maxArgumentDepth = 1000

// notScalar evaluates a condition for an object.
func notScalar(c *condition) truth {
	if c.op == opAll && len(c.inner) == 1 && c.inner[0].op == opAbsent {
		return truthOf(!c.inner[0].flag)
	}
	return unexpected
}

func (f *found) object(b []byte, i int, path []string, c *condition, depth int) int {
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}'; i = skipComma(b, i) {
		end := skipValue(b, i)
		key := b[i:end]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			f.note(unexpected)
			return len(b)
		}
		i = skipSpace(b, i+1)
		if path[0] == "*" || isKey(key, path[0]) { // a key may stand twice
			i = f.walk(b, i, path[1:], c, depth+1)
		} else {
			i = skipValue(b, i)
		}
	}
	return i + 1
}

func (f *found) list(b []byte, i int, path []string, c *condition, depth int) int {
	only := -1
	if len(path) > 0 {
		if n, err := strconv.Atoi(path[0]); err == nil && n >= 0 && len(path[0]) < 10 {
			only, path = n, path[1:]
		} else if path[0] == "*" {
			path = path[1:]
		}
	}
	if len(path) == 0 {
		f.there = true
	}
	n := 0
	for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; i = skipComma(b, i) {
		if only < 0 || n == only {
			i = f.walk(b, i, path, c, depth+1)
		} else {
			i = skipValue(b, i)
		}
		n++
	}
	return i + 1
}

// leafOf is a literal of JSON.
func leafOf(b []byte) leaf {
	switch b[0] {
	case '"':
		return leaf{'"', unquoted(b)}
	case 't', 'f', 'n':
		return leaf{b[0], b}
	}
	return leaf{'0', b}
}

// unquoted returns the content of a JSON string.
func unquoted(b []byte) []byte {
	if len(b) >= 2 && bytes.IndexByte(b, '\\') < 0 {
		return b[1 : len(b)-1]
	}
	var s string
	if json.Unmarshal(b, &s) != nil {
		return b
	}
	return []byte(s)
}

func isKey(quoted []byte, key string) bool {
	if len(quoted) == len(key)+2 && string(quoted[1:len(quoted)-1]) == key {
		return true
	}
	return len(quoted) > len(key)+2 && bytes.IndexByte(quoted, '\\') >= 0 && string(unquoted(quoted)) == key
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func skipComma(b []byte, i int) int {
	if i = skipSpace(b, i); i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

// skipValue returns the end of the value that begins at i, or the end of b if it is not
// JSON.
func skipValue(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(b))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
		default:
			for i+1 < len(b) && !isEnd(b[i+1]) {
				i++
			}
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

func isEnd(c byte) bool {
	switch c {
	case ',', ':', ']', '}', ' ', '\n', '\t', '\r', '"', '[', '{':
		return true
	}
	return false
}
