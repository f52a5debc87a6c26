package jsrun

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxJSONDepth is how deeply arrays and objects may be nested, in both
// directions; encoding/json draws the same line.
const maxJSONDepth = 10000

// maxSafeInteger is the largest integer up to which a JavaScript number holds
// every integer; what is beyond becomes a bigint.
const maxSafeInteger = 1<<53 - 1

// fromJSON builds the JavaScript value of one JSON text: ordinary objects with
// the keys in their order, and integers that a number cannot hold as bigint.
// It accepts what encoding/json accepts.
func fromJSON(vm *goja.Runtime, raw []byte) (goja.Value, error) {
	s := jsonScanner{vm: vm, in: raw}
	v, err := s.document()
	if err != nil {
		return nil, err
	}
	return v, nil
}

type jsonScanner struct {
	vm    *goja.Runtime
	in    []byte
	pos   int
	depth int
}

func (s *jsonScanner) document() (goja.Value, error) {
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	s.space()
	if s.pos != len(s.in) {
		return nil, s.unexpected("after the value")
	}
	return v, nil
}

func (s *jsonScanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, or 0 at the end. (A 0 in the
// text is not valid anywhere, so the two need no telling apart.)
func (s *jsonScanner) peek() byte {
	s.space()
	if s.pos == len(s.in) {
		return 0
	}
	return s.in[s.pos]
}

func (s *jsonScanner) unexpected(where string) error {
	if s.pos >= len(s.in) {
		return errors.New("json: unexpected end")
	}
	return fmt.Errorf("json: unexpected %q %s at byte %d", s.in[s.pos], where, s.pos)
}

func (s *jsonScanner) value() (goja.Value, error) {
	switch c := s.peek(); {
	case c == '{':
		return s.nested(s.object)
	case c == '[':
		return s.nested(s.array)
	case c == '"':
		return s.str()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.vm.ToValue(true), s.word("true")
	case c == 'f':
		return s.vm.ToValue(false), s.word("false")
	case c == 'n':
		return goja.Null(), s.word("null")
	}
	return nil, s.unexpected("where a value starts")
}

func (s *jsonScanner) nested(f func() (goja.Value, error)) (goja.Value, error) {
	if s.depth++; s.depth > maxJSONDepth {
		return nil, fmt.Errorf("json: nested more than %d deep", maxJSONDepth)
	}
	s.pos++
	v, err := f()
	s.depth--
	return v, err
}

func (s *jsonScanner) word(w string) error {
	if len(s.in)-s.pos < len(w) || string(s.in[s.pos:s.pos+len(w)]) != w {
		return fmt.Errorf("json: invalid word at byte %d", s.pos)
	}
	s.pos += len(w)
	return nil
}

func (s *jsonScanner) object() (goja.Value, error) {
	o := s.vm.NewObject()
	if s.peek() == '}' {
		s.pos++
		return o, nil
	}
	for {
		if s.peek() != '"' {
			return nil, s.unexpected("where a key starts")
		}
		key, err := s.str()
		if err != nil {
			return nil, err
		}
		if s.peek() != ':' {
			return nil, s.unexpected("after a key")
		}
		s.pos++
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		if err := setOwn(o, key.String(), v); err != nil {
			return nil, err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return o, nil
		default:
			return nil, s.unexpected("in an object")
		}
	}
}

// setOwn gives o an ordinary property. Plain assignment would call the
// accessor for "__proto__", and setters that a program put on Object.prototype.
func setOwn(o *goja.Object, key string, v goja.Value) error {
	return o.DefineDataProperty(key, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

func (s *jsonScanner) array() (goja.Value, error) {
	if s.peek() == ']' {
		s.pos++
		return s.vm.NewArray(), nil
	}
	var items []any
	for {
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return s.vm.NewArray(items...), nil
		default:
			return nil, s.unexpected("in an array")
		}
	}
}

func (s *jsonScanner) number() (goja.Value, error) {
	start := s.pos
	if s.in[s.pos] == '-' {
		s.pos++
	}
	switch {
	case s.pos < len(s.in) && s.in[s.pos] == '0':
		s.pos++
	case s.digits() == 0:
		return nil, s.unexpected("in a number")
	}
	integer := true
	if s.pos < len(s.in) && s.in[s.pos] == '.' {
		integer = false
		s.pos++
		if s.digits() == 0 {
			return nil, s.unexpected("in a number")
		}
	}
	if s.pos < len(s.in) && s.in[s.pos]|0x20 == 'e' {
		integer = false
		s.pos++
		if s.pos < len(s.in) && (s.in[s.pos] == '+' || s.in[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.unexpected("in a number")
		}
	}
	return s.toNumber(string(s.in[start:s.pos]), integer)
}

func (s *jsonScanner) digits() int {
	n := 0
	for s.pos < len(s.in) && '0' <= s.in[s.pos] && s.in[s.pos] <= '9' {
		s.pos++
		n++
	}
	return n
}

func (s *jsonScanner) toNumber(text string, integer bool) (goja.Value, error) {
	if integer && text != "-0" {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && -maxSafeInteger <= i && i <= maxSafeInteger {
			return s.vm.ToValue(i), nil
		}
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return s.vm.ToValue(i), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("json: number %q: %w", text, err)
	}
	return s.vm.ToValue(f), nil // beyond the range it is Infinity, as in JSON.parse
}

// str reads a string. The common case, ASCII without escapes, copies once.
func (s *jsonScanner) str() (goja.Value, error) {
	s.pos++
	start := s.pos
	ascii := true
	for i := s.pos; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			s.pos = i + 1
			text := string(s.in[start:i])
			if !ascii && !utf8.ValidString(text) {
				return s.vm.ToValue(string([]rune(text))), nil
			}
			return s.vm.ToValue(text), nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			s.pos = i
			return nil, s.unexpected("in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.pos = len(s.in)
	return nil, s.unexpected("in a string")
}

// escaped reads a string that has an escape. It collects UTF-16, so that a
// lone surrogate survives.
func (s *jsonScanner) escaped(start int) (goja.Value, error) {
	var units []uint16
	for s.pos = start; s.pos < len(s.in); {
		switch c := s.in[s.pos]; {
		case c == '"':
			s.pos++
			return goja.StringFromUTF16(units), nil
		case c < 0x20:
			return nil, s.unexpected("in a string")
		case c == '\\':
			u, err := s.escape()
			if err != nil {
				return nil, err
			}
			units = append(units, u)
		default:
			r, n := utf8.DecodeRune(s.in[s.pos:])
			units = utf16.AppendRune(units, r)
			s.pos += n
		}
	}
	return nil, s.unexpected("in a string")
}

func (s *jsonScanner) escape() (uint16, error) {
	s.pos++
	if s.pos == len(s.in) {
		return 0, s.unexpected("in an escape")
	}
	c := s.in[s.pos]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		if len(s.in)-s.pos < 5 {
			s.pos = len(s.in)
			return 0, s.unexpected("in an escape")
		}
		u, ok := hex4(s.in[s.pos+1 : s.pos+5])
		if !ok {
			return 0, s.unexpected("in an escape")
		}
		s.pos += 5
		return u, nil
	default:
		return 0, s.unexpected("in an escape")
	}
	s.pos++
	return uint16(c), nil
}

func hex4(b []byte) (uint16, bool) {
	var u uint16
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		u = u<<4 | uint16(c)
	}
	return u, true
}
