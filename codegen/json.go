package codegen

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// A value is any JSON value with the order of object keys kept: an *object, a
// []value, a string, a number, a bool or nil.
type value any

// A number is a JSON number with the digits that it was written with.
type number string

// An object is a JSON object in the order in which it was written. Of a key
// that stands there twice, the last value counts.
type object struct {
	keys  []string
	vals  []value
	index map[string]int // of large objects only
}

// indexedFrom is the number of keys from which a map is faster than looking.
const indexedFrom = 12

func (o *object) at(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}

func (o *object) set(key string, v value) {
	if i := o.at(key); i >= 0 {
		o.vals[i] = v
		return
	}
	o.keys, o.vals = append(o.keys, key), append(o.vals, v)
	switch {
	case o.index != nil:
		o.index[key] = len(o.keys) - 1
	case len(o.keys) == indexedFrom:
		o.index = make(map[string]int, 2*indexedFrom)
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

func (o *object) get(key string) value {
	if i := o.at(key); i >= 0 {
		return o.vals[i]
	}
	return nil
}

// has tells a key that is absent from one whose value is null.
func (o *object) has(key string) bool { return o.at(key) >= 0 }

func (o *object) object(key string) *object {
	v, _ := o.get(key).(*object)
	return v
}

func (o *object) list(key string) []value {
	v, _ := o.get(key).([]value)
	return v
}

func (o *object) text(key string) string {
	v, _ := o.get(key).(string)
	return v
}

// size is the number of keys.
func (o *object) size() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// maxNesting bounds the depth to which a schema is read. What lies deeper is
// read as true, the schema that accepts anything.
const maxNesting = 200

var errNotJSON = errors.New("schema is not valid JSON")

// decode reads one JSON value. encoding/json would lose the order of keys and
// the digits of numbers, and its token reader takes longer than everything else
// that is done with a schema.
func decode(raw []byte) (value, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	d := decoder{raw: string(raw)}
	return d.value(0), nil
}

// A decoder reads text that is known to be valid JSON.
type decoder struct {
	raw string
	pos int
}

func (d *decoder) space() byte {
	for {
		switch c := d.raw[d.pos]; c {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return c
		}
	}
}

func (d *decoder) value(depth int) value {
	switch c := d.space(); c {
	case '{', '[':
		if depth > maxNesting {
			d.skip()
			return true
		}
		if c == '{' {
			return d.object(depth)
		}
		return d.list(depth)
	case '"':
		return d.string()
	case 't':
		d.pos += len("true")
		return true
	case 'f':
		d.pos += len("false")
		return false
	case 'n':
		d.pos += len("null")
		return nil
	}
	start := d.pos
	for d.pos < len(d.raw) && strings.IndexByte("+-.eE0123456789", d.raw[d.pos]) >= 0 {
		d.pos++
	}
	return number(d.raw[start:d.pos])
}

func (d *decoder) object(depth int) *object {
	o := &object{}
	d.pos++
	for d.space() != '}' {
		if d.raw[d.pos] == ',' {
			d.pos++
			d.space()
		}
		key := d.string()
		d.space()
		d.pos++ // the colon
		o.set(key, d.value(depth+1))
	}
	d.pos++
	return o
}

func (d *decoder) list(depth int) []value {
	list := []value{}
	d.pos++
	for d.space() != ']' {
		if d.raw[d.pos] == ',' {
			d.pos++
		}
		list = append(list, d.value(depth+1))
	}
	d.pos++
	return list
}

func (d *decoder) string() string {
	start := d.pos
	plain := true
	for d.pos++; d.raw[d.pos] != '"'; d.pos++ {
		switch c := d.raw[d.pos]; {
		case c == '\\':
			d.pos++
			plain = false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	d.pos++
	if plain {
		return d.raw[start+1 : d.pos-1]
	}
	var s string
	if err := json.Unmarshal([]byte(d.raw[start:d.pos]), &s); err != nil {
		return "" // cannot be: the text is valid
	}
	return s
}

// skip passes over an object or a list.
func (d *decoder) skip() {
	for depth := 0; ; {
		switch d.raw[d.pos] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			d.string()
			continue
		}
		d.pos++
		if depth == 0 {
			return
		}
	}
}

// encode is v as compact JSON.
func encode(v value) string {
	var b strings.Builder
	writeJSON(&b, v)
	return b.String()
}

func writeJSON(b *strings.Builder, v value) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(k) + ":")
			writeJSON(b, v.vals[i])
		}
		b.WriteByte('}')
	case []value:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	case number:
		b.WriteString(string(v))
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
}

// quote is s as a string literal on one line, of JSON and of TypeScript.
func quote(s string) string {
	if plainText(s) {
		return `"` + s + `"`
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // cannot be: every string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plainText reports whether s needs no escapes in a literal.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}
