package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An object keeps its members in order, including duplicate keys: readers differ in which one they
// use.
type object []member

type member struct {
	key   string
	value any
}

// compare orders members by the UTF-16 encoding of their keys. The bytes of UTF-8 have the same
// order unless one is of a code point from U+E000 on.
func (m member) compare(o member) int {
	if belowE000(m.key) && belowE000(o.key) {
		return strings.Compare(m.key, o.key)
	}
	return slices.Compare(utf16.Encode([]rune(m.key)), utf16.Encode([]rune(o.key)))
}

// belowE000 reports whether all code points of s are below U+E000.
func belowE000(s string) bool {
	for i := range len(s) {
		if s[i] >= 0xee { // the first byte of U+E000
			return false
		}
	}
	return true
}

const maxDepth = 200

// parse reads one JSON value: nil, bool, json.Number, string, []any or object.
func parse(raw json.RawMessage) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("invalid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("invalid JSON: %w", json.Unmarshal(raw, new(json.RawMessage)))
	}
	r := reader{text: string(raw)}
	return r.value(0)
}

// A reader reads a text that is known to be one JSON value.
type reader struct {
	text string
	pos  int
}

// next skips white space and returns the byte after it.
func (r *reader) next() byte {
	for {
		switch c := r.text[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	switch r.next() {
	case '{':
		return r.object(depth)
	case '[':
		list := []any{}
		for r.pos++; r.next() != ']'; {
			if r.text[r.pos] == ',' {
				r.pos++
			}
			v, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		r.pos++
		return list, nil
	case '"':
		return r.string()
	case 't':
		r.pos += len("true")
		return true, nil
	case 'f':
		r.pos += len("false")
		return false, nil
	case 'n':
		r.pos += len("null")
		return nil, nil
	}
	begin := r.pos
	for r.pos < len(r.text) && strings.IndexByte("+-.0123456789Ee", r.text[r.pos]) >= 0 {
		r.pos++
	}
	return json.Number(r.text[begin:r.pos]), nil
}

func (r *reader) object(depth int) (any, error) {
	var o object
	for r.pos++; r.next() != '}'; {
		if r.text[r.pos] == ',' {
			r.pos++
			r.next()
		}
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		r.next()
		r.pos++ // the colon
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o = append(o, member{key, v})
	}
	r.pos++
	return o, nil
}

// string reads a string, which usually needs no unescaping.
func (r *reader) string() (string, error) {
	begin, plain := r.pos, true
	for r.pos++; r.text[r.pos] != '"'; r.pos++ {
		if r.text[r.pos] == '\\' {
			plain = false
			r.pos++
		}
	}
	r.pos++
	if plain {
		return r.text[begin+1 : r.pos-1], nil
	}
	var s string
	err := json.Unmarshal([]byte(r.text[begin:r.pos]), &s)
	return s, err
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case json.Number:
		return appendNumber(b, v)
	case string:
		return appendString(b, v), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case object:
		sorted := v
		if !slices.IsSortedFunc(v, member.compare) {
			sorted = slices.Clone(v)
			slices.SortStableFunc(sorted, member.compare)
		}
		b = append(b, '{')
		for i, m := range sorted {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			var err error
			if b, err = appendValue(b, m.value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// appendNumber writes a number as ECMAScript does. An integer that a double cannot represent keeps
// its digits, so that no change of it is lost.
func appendNumber(b []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return append(b, n...), nil
	}
	if math.Abs(f) >= 1<<53 {
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return strconv.AppendInt(b, i, 10), nil
		}
	}
	if f == 0 {
		return append(b, '0'), nil
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if format == 'e' { // write e-09 as e-9
		if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	written := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[written:i]...)
		written = i + 1
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\r':
			b = append(b, `\r`...)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(append(b, s[written:]...), '"')
}
