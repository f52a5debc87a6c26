package jsrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// maxJSONDepth bounds the nesting of arrays and objects, in both directions, like encoding/json.
const maxJSONDepth = 10000

// maxSafeInteger is the largest integer up to which a JavaScript number represents every integer;
// larger ones become bigints.
const maxSafeInteger = 1<<53 - 1

// fromJSON returns the JavaScript value of one JSON text: ordinary objects with keys in order, and
// bigints for integers that a number cannot represent. It accepts what encoding/json accepts. The
// error is a *jsonError.
//
// Strings in the value are parts of raw, which lives as long as any of them.
func fromJSON(vm *goja.Runtime, raw string) (v goja.Value, err error) {
	defer func() {
		if x := recover(); x != nil {
			wrong, ok := x.(*jsonError)
			if !ok {
				panic(x)
			}
			v, err = nil, wrong
		}
	}()
	s := jsonScanner{vm: vm, src: raw, words: make(map[string]goja.Value), prototype: vm.NewObject().Prototype()}
	v = s.value()
	if s.peek(); s.pos < len(s.src) {
		s.fail("Unexpected non-whitespace character after JSON")
	}
	return v, nil
}

// A jsonError describes an invalid text in the words of V8, which programs print and models know.
type jsonError struct{ message string }

func (e *jsonError) Error() string { return e.message }

// fail stops reading at the current position. Without a message, the error is about the text
// there.
func (s *jsonScanner) fail(message string) {
	switch rest := s.src[s.pos:]; {
	case message != "":
		message += " at position " + strconv.Itoa(len(utf16.Encode([]rune(s.src[:s.pos]))))
	case rest == "":
		message = "Unexpected end of JSON input"
	default:
		c, _ := utf8.DecodeRuneInString(rest)
		message = fmt.Sprintf("Unexpected token '%c', %s is not valid JSON", c, excerpt(s.src, s.pos))
	}
	panic(&jsonError{message})
}

// excerpt quotes the text around a byte offset.
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

// Repeated texts of up to maxInterned bytes are created once, up to maxInterns of them.
const (
	maxInterned = 24
	maxInterns  = 1024
)

type jsonScanner struct {
	vm     *goja.Runtime
	src    string
	pos    int
	depth  int
	items  []any    // of all open arrays, one after the other
	keys   []string // of all open objects, likewise
	values []goja.Value
	words  map[string]goja.Value
	// prototype is the prototype of objects.
	prototype *goja.Object
}

// peek returns the next byte other than space, or 0 at the end. (A 0 is invalid
// everywhere in the text, so it is not ambiguous.)
func (s *jsonScanner) peek() byte {
	for ; s.pos < len(s.src); s.pos++ {
		if c := s.src[s.pos]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

func (s *jsonScanner) value() goja.Value {
	switch c := s.peek(); {
	case c == '{':
		return s.nested(s.object)
	case c == '[':
		return s.nested(s.array)
	case c == '"':
		return s.interned(s.text())
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true", s.vm.ToValue(true))
	case c == 'f':
		return s.word("false", s.vm.ToValue(false))
	case c == 'n':
		return s.word("null", goja.Null())
	}
	s.fail("")
	return nil
}

func (s *jsonScanner) nested(f func() goja.Value) goja.Value {
	if s.depth++; s.depth > maxJSONDepth {
		s.fail(fmt.Sprintf("Nested more than %d deep", maxJSONDepth))
	}
	s.pos++
	v := f()
	s.depth--
	return v
}

func (s *jsonScanner) word(w string, v goja.Value) goja.Value {
	for _, c := range []byte(w) {
		if s.pos == len(s.src) || s.src[s.pos] != c {
			s.fail("")
		}
		s.pos++
	}
	return v
}

func (s *jsonScanner) object() goja.Value {
	if s.peek() == '}' {
		s.pos++
		return s.vm.NewObject()
	}
	expected := "Expected property name or '}' in JSON"
	first := len(s.keys)
	for {
		if s.peek() != '"' {
			s.fail(expected)
		}
		key := s.text()
		if s.peek() != ':' {
			s.fail("Expected ':' after property name in JSON")
		}
		s.pos++
		v := s.value()
		s.keys, s.values = append(s.keys, key), append(s.values, v)
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			o := newObject(s.vm, s.prototype, s.keys[first:], s.values[first:])
			s.keys, s.values = s.keys[:first], s.values[:first]
			return o
		default:
			s.fail("Expected ',' or '}' after property value in JSON")
		}
		expected = "Expected double-quoted property name in JSON"
	}
}

func (s *jsonScanner) array() goja.Value {
	if s.peek() == ']' {
		s.pos++
		return s.vm.NewArray()
	}
	first := len(s.items)
	for {
		s.items = append(s.items, s.value())
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			a := s.vm.NewArray(s.items[first:]...) // NewArray copies them
			s.items = s.items[:first]
			return a
		default:
			s.fail("Expected ',' or ']' after array element in JSON")
		}
	}
}

func (s *jsonScanner) number() goja.Value {
	start := s.pos
	n, i := int64(0), start
	for ; i < len(s.src) && i < start+15 && s.src[i] >= '0' && s.src[i] <= '9'; i++ {
		n = 10*n + int64(s.src[i]-'0')
	}
	if i > start && s.src[start] != '0' && i < len(s.src) && (s.src[i] == ',' || s.src[i] == '}' || s.src[i] == ']') { // the common case
		s.pos = i
		return s.vm.ToValue(n)
	}
	for s.pos < len(s.src) && strings.IndexByte("0123456789.+-eE", s.src[s.pos]) >= 0 {
		s.pos++
	}
	text := s.src[start:s.pos]
	integer := !strings.ContainsAny(text, ".eE")
	if integer && text[0] != '0' && !strings.HasPrefix(text, "-0") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && -maxSafeInteger <= i && i <= maxSafeInteger {
			return s.vm.ToValue(i)
		}
	}
	if !jsonscan.Valid(text) {
		s.pos = start + 1 // usually it is 0
		s.fail("Unexpected number in JSON")
	}
	if i, ok := new(big.Int).SetString(text, 10); ok && i.Sign() != 0 {
		return s.vm.ToValue(i)
	}
	f, _ := strconv.ParseFloat(text, 64) // beyond the range it is Infinity, as in JSON.parse
	return s.vm.ToValue(f)
}

// interned returns the value of a text.
func (s *jsonScanner) interned(text string) goja.Value {
	if len(text) > maxInterned {
		return s.vm.ToValue(text)
	}
	v, ok := s.words[text]
	if !ok {
		v = s.vm.ToValue(text)
		if len(s.words) < maxInterns {
			s.words[text] = v
		}
	}
	return v
}

// text reads a string. Half of a surrogate pair becomes U+FFFD.
func (s *jsonScanner) text() string {
	start, plain := s.pos, true
	if end, escaped, ok := jsonscan.String(s.src, start); ok && !escaped {
		if text := s.src[start+1 : end-1]; utf8.ValidString(text) {
			s.pos = end
			return text
		}
	}
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			if quoted := s.src[start:s.pos]; !plain {
				return s.unquoted(quoted, start)
			}
			return s.src[start+1 : s.pos-1]
		case c == '\\':
			s.pos++
			plain = false
		case c < 0x20:
			s.fail("Bad control character in string literal in JSON")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.pos = len(s.src)
	s.fail("Unterminated string in JSON")
	return ""
}

// unquoted returns a string that begins at start and has escapes or is not ASCII.
func (s *jsonScanner) unquoted(quoted string, start int) (text string) {
	if text = quoted[1 : len(quoted)-1]; !strings.Contains(text, `\`) && utf8.ValidString(text) {
		return text
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(quoted), &text)); ok {
		s.pos = start + int(wrong.Offset) - 1
		s.fail("Bad escaped character in JSON")
	}
	return text
}
