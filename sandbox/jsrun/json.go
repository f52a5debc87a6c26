package jsrun

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
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
//
// Texts in the value are parts of raw, which lives as long as one of them does.
func fromJSON(vm *goja.Runtime, raw string) (goja.Value, error) {
	s := jsonScanner{vm: vm, in: raw, words: make(map[string]goja.Value)}
	v, err := s.document()
	if wrong, ok := errors.AsType[*jsonError](err); ok && wrong.message == "" {
		c, _ := utf8.DecodeRuneInString(raw[wrong.at:])
		wrong.message = fmt.Sprintf("Unexpected token '%c', %s is not valid JSON", c, excerpt(raw, wrong.at))
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// excerpt quotes what is around a byte of a text.
func excerpt(raw string, at int) string {
	const around = 10
	if len(raw) <= 4*around {
		return `"` + raw + `"`
	}
	from, to := max(0, at-around), min(len(raw), at+around)
	text := `"` + strings.ToValidUTF8(raw[from:to], "") + `"`
	if at >= around {
		text = "..." + text
	}
	if to < len(raw) {
		text += "..."
	}
	return text
}

// A jsonError is what is wrong with a text, in the words of V8, which programs
// print and models know.
type jsonError struct {
	message string
	at      int // a byte of the text
}

func (e *jsonError) Error() string { return e.message + " at byte " + strconv.Itoa(e.at) }

// Texts up to maxInterned bytes that come again and again are made once, as long
// as there are not too many.
const (
	maxInterned = 24
	maxInterns  = 1024
)

type jsonScanner struct {
	vm     *goja.Runtime
	in     string
	pos    int
	depth  int
	items  []any        // of the arrays that are being read, one behind the other
	values []goja.Value // of the objects, likewise
	root   keyPath
	paths  int // how many begin at root
	words  map[string]goja.Value
}

func (s *jsonScanner) document() (goja.Value, error) {
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	s.space()
	if s.pos != len(s.in) {
		return nil, s.wrong("Unexpected non-whitespace character after JSON")
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

// unexpected is the error of a character that nothing can begin with.
func (s *jsonScanner) unexpected() error {
	if s.pos >= len(s.in) {
		return &jsonError{"Unexpected end of JSON input", len(s.in)}
	}
	return &jsonError{"", s.pos}
}

// wrong is an error at the present place.
func (s *jsonScanner) wrong(message string) error {
	return &jsonError{message, min(s.pos, len(s.in))}
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
	return nil, s.unexpected()
}

func (s *jsonScanner) nested(f func() (goja.Value, error)) (goja.Value, error) {
	if s.depth++; s.depth > maxJSONDepth {
		return nil, s.wrong(fmt.Sprintf("Nested more than %d deep", maxJSONDepth))
	}
	s.pos++
	v, err := f()
	s.depth--
	return v, err
}

func (s *jsonScanner) word(w string) error {
	for i := range len(w) {
		if s.pos == len(s.in) || s.in[s.pos] != w[i] {
			return s.unexpected()
		}
		s.pos++
	}
	return nil
}

func (s *jsonScanner) object() (goja.Value, error) {
	if s.peek() == '}' {
		s.pos++
		return s.vm.NewObject(), nil
	}
	expected := "Expected property name or '}' in JSON"
	path, first := &s.root, len(s.values)
	for {
		if s.peek() != '"' {
			return nil, s.wrong(expected)
		}
		var err error
		if path, err = s.key(path); err != nil {
			return nil, err
		}
		if s.peek() != ':' {
			return nil, s.wrong("Expected ':' after property name in JSON")
		}
		s.pos++
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		s.values = append(s.values, v)
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			o, err := s.newObject(path, s.values[first:])
			clear(s.values[first:])
			s.values = s.values[:first]
			return o, err
		default:
			return nil, s.wrong("Expected ',' or '}' after property value in JSON")
		}
		expected = "Expected double-quoted property name in JSON"
	}
}

// key reads the name of a property behind those of p.
func (s *jsonScanner) key(p *keyPath) (*keyPath, error) {
	start := s.pos + 1
	if q := p.guess; q != nil && q.plain {
		if end := start + len(q.raw); end < len(s.in) && s.in[end] == '"' && s.in[start:end] == q.raw {
			s.pos = end + 1
			return q, nil
		}
	}
	end, plain := s.plainEnd(start)
	if plain {
		s.pos = end + 1
		raw := s.in[start:end]
		return s.then(p, raw, true, unistring.String(raw)), nil
	}
	v, err := s.str()
	if err != nil {
		return nil, err
	}
	return s.then(p, s.in[start:s.pos-1], false, nameOf(v.(goja.String))), nil
}

// nameOf is a text as a name. A Go string would lose what is half a pair.
func nameOf(text goja.String) unistring.String {
	units := []uint16{unistring.BOM}
	wide := false
	for i := range text.Length() {
		c := text.CharAt(i)
		units = append(units, c)
		wide = wide || c >= utf8.RuneSelf
	}
	if !wide {
		return unistring.String(text.String())
	}
	return unistring.FromUtf16(units)
}

// plainEnd returns where a string ends that is ASCII and has no escapes.
func (s *jsonScanner) plainEnd(start int) (end int, plain bool) {
	for i := start; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			return i, true
		case c < 0x20 || c == '\\' || c >= utf8.RuneSelf:
			return i, false
		}
	}
	return len(s.in), false
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
	first := len(s.items)
	for {
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, v)
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			a := s.vm.NewArray(s.items[first:]...) // which copies them
			clear(s.items[first:])
			s.items = s.items[:first]
			return a, nil
		default:
			return nil, s.wrong("Expected ',' or ']' after array element in JSON")
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
		if s.pos < len(s.in) && isDigit(s.in[s.pos]) {
			return nil, s.wrong("Unexpected number in JSON")
		}
	case s.digits() == 0:
		return nil, s.wrong("No number after minus sign in JSON")
	}
	integer := true
	if s.pos < len(s.in) && s.in[s.pos] == '.' {
		integer = false
		s.pos++
		if s.digits() == 0 {
			return nil, s.wrong("Unterminated fractional number in JSON")
		}
	}
	if s.pos < len(s.in) && s.in[s.pos]|0x20 == 'e' {
		integer = false
		s.pos++
		if s.pos < len(s.in) && (s.in[s.pos] == '+' || s.in[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.wrong("Exponent part is missing a number in JSON")
		}
	}
	return s.toNumber(s.in[start:s.pos], integer)
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
		return nil, s.wrong("Unexpected number in JSON")
	}
	return s.vm.ToValue(f), nil // beyond the range it is Infinity, as in JSON.parse
}

// str reads a string. The common case, ASCII without escapes, copies once, or
// not at all.
func (s *jsonScanner) str() (goja.Value, error) {
	s.pos++
	start := s.pos
	end, plain := s.plainEnd(start)
	if !plain {
		return s.wideString(start, end)
	}
	s.pos = end + 1
	raw := s.in[start:end]
	if len(raw) > maxInterned {
		return s.vm.ToValue(raw), nil
	}
	if v, ok := s.words[raw]; ok {
		return v, nil
	}
	v := s.vm.ToValue(raw)
	if len(s.words) < maxInterns {
		s.words[raw] = v
	}
	return v, nil
}

// wideString reads a string that plainEnd did not get through.
func (s *jsonScanner) wideString(start, at int) (goja.Value, error) {
	for i := at; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			s.pos = i + 1
			text := s.in[start:i]
			if !utf8.ValidString(text) {
				text = string([]rune(text))
			}
			return s.vm.ToValue(text), nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			s.pos = i
			return nil, s.wrong("Bad control character in string literal in JSON")
		}
	}
	s.pos = len(s.in)
	return nil, s.wrong("Unterminated string in JSON")
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
			return nil, s.wrong("Bad control character in string literal in JSON")
		case c == '\\':
			u, err := s.escape()
			if err != nil {
				return nil, err
			}
			units = append(units, u)
		default:
			r, n := utf8.DecodeRuneInString(s.in[s.pos:])
			units = utf16.AppendRune(units, r)
			s.pos += n
		}
	}
	return nil, s.wrong("Unterminated string in JSON")
}

func (s *jsonScanner) escape() (uint16, error) {
	s.pos++
	if s.pos == len(s.in) {
		return 0, s.wrong("Unterminated string in JSON")
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
		u, n := hex4(s.in[s.pos+1:])
		if n < 4 {
			s.pos += 1 + n
			return 0, s.wrong("Bad Unicode escape in JSON")
		}
		s.pos += 5
		return u, nil
	default:
		return 0, s.wrong("Bad escaped character in JSON")
	}
	s.pos++
	return uint16(c), nil
}

// hex4 reads up to four hexadecimal digits, and says how many there are.
func hex4(b string) (u uint16, n int) {
	for n < min(4, len(b)) {
		c := b[n]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return u, n
		}
		u = u<<4 | uint16(c)
		n++
	}
	return u, n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
