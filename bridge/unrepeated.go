package bridge

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

const (
	// contentKey is the property of a value for the content of a result that its structured
	// content does not repeat. contentKey2 replaces it if the structured content itself has a
	// property contentKey.
	contentKey  = "content"
	contentKey2 = "content_"
	// maxCompared bounds the texts that are compared with the structured content, in bytes.
	maxCompared = 8 << 20
)

// hasStructured reports whether structured content is significant. Some frameworks send
// an empty object beside the blocks.
func hasStructured(structured json.RawMessage, blocks int) bool {
	switch text := string(bytes.TrimSpace(structured)); {
	case text == "" || text == "null":
		return false
	case blocks > 0 && text[0] == '{':
		return strings.TrimSpace(text[1:len(text)-1]) != ""
	}
	return true
}

// Unrepeated returns the value of the structured content of a result if it is
// significant and none of the blocks repeats it.
func Unrepeated(tool *discovery.Tool, structured json.RawMessage, raw []json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 || !hasStructured(structured, len(raw)) {
		return nil, false
	}
	blocks := make([]content, len(raw))
	for i, c := range raw {
		_ = json.Unmarshal(c, &blocks[i]) // a block of an unknown kind repeats nothing
	}
	return unwrap(tool, structured), len(unrepeated(tool, structured, blocks)) == len(blocks)
}

// unrepeated returns the indices of the blocks that structured content does not repeat.
func unrepeated(tool *discovery.Tool, structured json.RawMessage, blocks []content) (rest []int) {
	value := unwrap(tool, structured)
	if len(blocks) == 0 || itemsRepeated(value, blocks) {
		return nil
	}
	whole, inner := original{raw: structured}, original{raw: value}
	for i, b := range blocks {
		switch {
		case b.Type == "text" && b.err == nil && (b.Text == "" || repeats(&whole, &inner, b.Text)):
		case b.Data != "" && bytes.Contains(structured, []byte(b.Data)):
		case b.Resource != nil && b.Resource.Blob != "" && bytes.Contains(structured, []byte(b.Resource.Blob)):
		default:
			rest = append(rest, i)
		}
	}
	return rest
}

// repeats reports whether a text is a copy of structured content, or of a text in it.
func repeats(structured, value *original, text string) bool {
	wrapped := len(value.raw) != len(structured.raw)
	if structured.equals(text) || wrapped && value.equals(text) {
		return true
	}
	trimmed := strings.TrimSpace(text)
	if holdsText(structured.raw, text) || trimmed != text && holdsText(structured.raw, trimmed) {
		return true
	}
	// Some servers write the value in their language's syntax, such as True or 1.0.
	return wrapped && strings.EqualFold(string(value.raw), trimmed)
}

// holdsText reports whether structured contains text as a JSON string, encoded with or
// without HTML escapes.
func holdsText(structured json.RawMessage, text string) bool {
	html, err := json.Marshal(text)
	if err != nil {
		return false
	}
	spellings := [][]byte{html}
	if plain := []byte(compact(text)); !bytes.Equal(plain, html) {
		spellings = append(spellings, plain)
	}
	for _, quoted := range spellings {
		for rest := structured; ; {
			i := bytes.Index(rest, quoted)
			if i < 0 {
				break
			}
			if rest = rest[i+len(quoted):]; !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")) { // skip keys
				return true
			}
		}
	}
	return false
}

// itemsRepeated reports whether each block is a copy of one element of a list, in
// order; some frameworks write lists this way.
func itemsRepeated(value json.RawMessage, blocks []content) bool {
	var items []json.RawMessage
	if len(blocks) < 2 || json.Unmarshal(value, &items) != nil || len(items) != len(blocks) {
		return false
	}
	for i, b := range blocks {
		var text string
		isText := json.Unmarshal(items[i], &text) == nil && text == b.Text
		if b.Type != "text" || !isText && !(&original{raw: items[i]}).equals(b.Text) {
			return false
		}
	}
	return true
}

// An original is JSON that is compared with texts. It is decoded at most once.
type original struct {
	raw     json.RawMessage
	decoded bool
	value   any // nil if it cannot be decoded
}

// equals reports whether text is the JSON of o, ignoring white space or after decoding both.
func (o *original) equals(text string) bool {
	if sameButSpace(o.raw, text) {
		return true
	}
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxCompared || len(o.raw) > maxCompared || text[0] != bytes.TrimSpace(o.raw)[0] && !isNumber(text[0]) {
		return false
	}
	if !o.decoded {
		o.decoded = true
		o.value, _ = decodeExact(o.raw)
	}
	if o.value == nil { // null was compared above
		return false
	}
	b, err := decodeExact([]byte(text))
	return err == nil && equalJSON(o.value, b)
}

func isNumber(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

// sameButSpace reports whether two JSON texts are equal without the white space between
// tokens.
func sameButSpace(a json.RawMessage, b string) bool {
	for i, j := 0, 0; ; {
		i, j = jsonscan.Space(a, i), jsonscan.Space(b, j)
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		n := 1
		if a[i] == '"' {
			end, _, ok := jsonscan.String(a, i)
			if !ok {
				return false
			}
			n = end - i
		}
		if len(b)-j < n || string(a[i:i+n]) != b[j:j+n] {
			return false
		}
		i, j = i+n, j+n
	}
}

func decodeExact(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = strconv.ErrSyntax
	}
	return v, err
}

// equalJSON reports whether two values from decodeExact are equal.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		o, ok := b.(map[string]any)
		if !ok || len(a) != len(o) {
			return false
		}
		for key, value := range a {
			other, has := o[key]
			if !has || !equalJSON(value, other) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		if !ok || len(a) != len(l) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], l[i]) {
				return false
			}
		}
		return true
	case json.Number:
		n, ok := b.(json.Number)
		return ok && (a == n || readable(a) && readable(n) && compare(string(a), n) == 0)
	}
	return a == b
}

// readable reports whether a number can be compared.
func readable(n json.Number) bool {
	_, ok := rational(string(n))
	return ok
}

// withContent returns value with the blocks that structured content does not repeat.
func withContent(structured, value json.RawMessage, blocks json.RawMessage) json.RawMessage {
	object := bytes.TrimSpace(structured)
	if len(object) == 0 || object[0] != '{' { // a list cannot contain them
		object = append(append([]byte(`{"result":`), value...), '}')
	}
	key := contentKey
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) == nil && members[key] != nil {
		key = contentKey2
	}
	out := append(make([]byte, 0, len(object)+len(key)+len(blocks)+4), object[:len(object)-1]...)
	if len(members) > 0 {
		out = append(out, ',')
	}
	out = append(append(out, '"'), key...)
	return append(append(append(out, `":`...), blocks...), '}')
}

// asValue returns text as JSON if a script gets its value instead of the text: objects,
// lists, and values that encode to the same bytes. Other texts only look like JSON,
// such as the version 1.10 and the commit 7e10455.
func asValue(text string) (json.RawMessage, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil, false
	}
	switch c := trimmed[0]; {
	case c == '{' || c == '[':
		return json.RawMessage(trimmed), json.Valid([]byte(trimmed))
	case text == "true" || text == "false":
		return json.RawMessage(text), true
	case c == '"':
		var s string
		return json.RawMessage(text), json.Unmarshal([]byte(text), &s) == nil && compact(s) == text
	case isNumber(c):
		return json.RawMessage(text), writtenBack(text)
	}
	return nil, false
}

// maxWrittenBack is the number of digits up to which an integer becomes a value.
const maxWrittenBack = 1000

// writtenBack reports whether JavaScript and Python write a number with the same
// characters after reading it. Integers are exact in both.
func writtenBack(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if strings.Trim(digits, "0123456789") == "" {
		return digits != "" && (digits[0] != '0' || text == "0") && len(digits) <= maxWrittenBack
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strconv.FormatFloat(f, 'f', -1, 64) != text {
		return false
	}
	small := new(big.Float).SetFloat64(f)
	return small.Abs(small).Cmp(big.NewFloat(1e-4)) >= 0
}
