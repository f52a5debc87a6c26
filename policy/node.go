package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Source is a text that contains a policy.
type Source struct {
	// File is the name of the text in messages.
	File string
	// Text is JSON, without comments.
	Text []byte
	// Start is the offset of the policy in Text; negative if there is none.
	Start int
	// Profiles is the offset of another value with profiles, with servers, tools and
	// readOnly already checked; 0 if there is none.
	Profiles int
}

// A Position is a position in a file. Line and Column count from 1; the column counts characters,
// as editors do.
type Position struct {
	File         string
	Line, Column int
}

// String returns the position in the form of compilers.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// A Mistake describes an error at a position in a policy.
type Mistake struct {
	Position
	Text string
}

// Error returns the mistake with its position.
func (m Mistake) Error() string { return m.Position.String() + ": " + m.Text }

// maxNesting bounds the depth of a policy, which needs about eight levels.
const maxNesting = 50

// A node is one value of a JSON text.
type node struct {
	off    int
	kind   byte // one of { [ " 0 t f n
	text   string
	keys   []node // of an object, in the order of the text
	values []node
}

// A reader reads the values of a Source and collects mistakes.
type reader struct {
	src      Source
	lines    []int // offset of the first byte of each line
	mistakes []Mistake
	checked  bool // servers and tools of a profile are already checked
}

func newReader(src Source) *reader {
	r := &reader{src: src, lines: []int{0}}
	for i, b := range src.Text {
		if b == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	return r
}

func (r *reader) position(off int) Position {
	i := sort.SearchInts(r.lines, off+1) - 1
	return Position{r.src.File, i + 1, 1 + utf8.RuneCount(r.src.Text[r.lines[i]:off])}
}

func (r *reader) fail(n node, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{r.position(n.off), fmt.Sprintf(format, args...)})
}

// read reads the value at an offset.
func (r *reader) read(off int) (node, bool) {
	for off < len(r.src.Text) && bytes.IndexByte([]byte(" \t\r\n"), r.src.Text[off]) >= 0 {
		off++
	}
	d := json.NewDecoder(bytes.NewReader(r.src.Text[off:]))
	d.UseNumber()
	n, err := r.value(d, off, 0)
	if err != nil {
		r.fail(node{off: min(off+int(d.InputOffset()), len(r.src.Text))}, "%v", err)
	}
	return n, err == nil
}

// value reads the next value of d, which began at offset base of the text.
func (r *reader) value(d *json.Decoder, base, depth int) (node, error) {
	if depth > maxNesting {
		return node{}, fmt.Errorf("nested more than %d levels deep", maxNesting)
	}
	n := node{off: base + int(d.InputOffset())}
	for n.off < len(r.src.Text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src.Text[n.off]) >= 0 {
		n.off++
	}
	token, err := d.Token()
	if err != nil {
		return n, err
	}
	switch t := token.(type) {
	case json.Delim:
		n.kind = byte(t)
		for d.More() {
			if n.kind == '{' {
				key, err := r.value(d, base, depth+1)
				if err != nil {
					return n, err
				}
				n.keys = append(n.keys, key)
			}
			v, err := r.value(d, base, depth+1)
			if err != nil {
				return n, err
			}
			n.values = append(n.values, v)
		}
		_, err = d.Token()
	case string:
		n.kind, n.text = '"', t
	case json.Number:
		n.kind, n.text = '0', t.String()
	case bool:
		n.kind, n.text = 'f', "false"
		if t {
			n.kind, n.text = 't', "true"
		}
	default:
		n.kind, n.text = 'n', "null"
	}
	return n, err
}

// fields calls the function of each key of an object. An unknown key is a mistake: a policy that
// ignored it might allow too much.
func (r *reader) fields(n node, where string, read map[string]func(node)) (seen map[string]node) {
	seen = make(map[string]node)
	if !r.isKind(n, '{', where, "an object, { … }") {
		return seen
	}
	known := make([]string, 0, len(read))
	for k := range read {
		known = append(known, k)
	}
	slices.Sort(known)
	for i, k := range n.keys {
		_, twice := seen[k.text]
		f, ok := read[k.text]
		switch {
		case twice:
			r.fail(k, "duplicate key %s in %s", shown(k.text), where)
		case !ok:
			r.fail(k, "unknown key %s in %s%s", shown(k.text), where, didYouMean(k.text, known))
		case n.values[i].kind != 'n': // null is how generated files leave a key out
			seen[k.text] = k
			f(n.values[i])
		}
	}
	return seen
}

// members calls f for each member of an object.
func (r *reader) members(n node, where string, f func(key, value node)) {
	if !r.isKind(n, '{', where, "an object, { … }") {
		return
	}
	seen := make(map[string]bool)
	for i, k := range n.keys {
		if seen[k.text] {
			r.fail(k, "duplicate key %s in %s", shown(k.text), where)
			continue
		}
		seen[k.text] = true
		f(k, n.values[i])
	}
}

var kinds = map[byte]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}

func (r *reader) isKind(n node, kind byte, where, want string) bool {
	if n.kind == kind {
		return true
	}
	r.fail(n, "%s must be %s, not %s", where, want, kinds[n.kind])
	return false
}

// choice reads one of several words.
func (r *reader) choice(n node, where string, words ...string) string {
	if !r.isKind(n, '"', where, "a string") {
		return ""
	}
	if slices.Contains(words, n.text) {
		return n.text
	}
	r.fail(n, "unknown %s %s%s", where, shown(n.text), hint(n.text, words))
	return ""
}

func (r *reader) boolean(n node, where string) bool {
	if n.kind != 't' && n.kind != 'f' {
		r.fail(n, "%s must be true or false, not %s", where, kinds[n.kind])
	}
	return n.kind == 't'
}

// list returns the strings of a list, or of a single string. An empty list is a
// mistake, since it could mean all or nothing.
func (r *reader) list(n node, where string) []node {
	if n.kind == '"' {
		return []node{n}
	}
	if !r.isKind(n, '[', where, "a list of strings") {
		return nil
	}
	if len(n.values) == 0 {
		r.fail(n, "%s is empty: write what it is about, or leave it out", where)
	}
	for _, v := range n.values {
		if !r.isKind(v, '"', "each of "+where, "a string") {
			return nil
		}
	}
	return n.values
}

// shown returns a text of the policy for a message.
func shown(s string) string { return fmt.Sprintf("%q", gate.Cut(s, 60)) }

func didYouMean(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

func nearNames(name string, known []string) []string { return nearest.Names(name, known, 3) }

// hint suggests the nearest word, or all words.
func hint(s string, words []string) string {
	if h := didYouMean(s, words); h != "" {
		return h
	}
	var text strings.Builder
	text.WriteString(": write ")
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%q", w)
	}
	return text.String()
}
