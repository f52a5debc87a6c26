package codegen

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A value is any JSON value with the order of object keys kept: an *object, a
// []value, a string, a number, a bool or nil.
type value any

// A number is a JSON number with the digits that it was written with.
type number string

// An object is a JSON object in the order in which it was written. Of a
// duplicate key, the last value counts.
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

// has distinguishes an absent key from one with the value null.
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

// decode reads one JSON value. encoding/json would lose the order of keys and
// the digits of numbers, and its token reader takes longer than everything else
// that is done with a schema.
func decode(raw []byte) (value, error) {
	if !json.Valid(raw) {
		return nil, errors.New("schema is not valid JSON")
	}
	d := decoder{raw: string(raw)}
	return d.value(0), nil
}

// A decoder reads one text, which is valid JSON.
type decoder struct {
	raw string
	pos int
}

// next passes over white space, commas and colons, and returns the byte behind.
func (d *decoder) next() byte {
	for strings.IndexByte(" \t\r\n,:", d.raw[d.pos]) >= 0 {
		d.pos++
	}
	return d.raw[d.pos]
}

func (d *decoder) value(depth int) value {
	var v value
	switch c := d.next(); c {
	case '{':
		o := &object{}
		for d.pos++; d.next() != '}'; {
			key := d.string()
			o.set(key, d.value(depth+1))
		}
		d.pos++
		v = o
	case '[':
		list := []value{}
		for d.pos++; d.next() != ']'; {
			list = append(list, d.value(depth+1))
		}
		d.pos++
		v = list
	case '"':
		return d.string()
	default:
		switch word := d.word(); word {
		case "true", "false":
			return word == "true"
		case "null":
			return nil
		default:
			return number(word)
		}
	}
	if depth > maxNesting {
		return true
	}
	return v
}

// word reads a number or a name.
func (d *decoder) word() string {
	start := d.pos
	for d.pos < len(d.raw) && strings.IndexByte(" \t\r\n,]}", d.raw[d.pos]) < 0 {
		d.pos++
	}
	return d.raw[start:d.pos]
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
			plain = false // it may be invalid UTF-8
		}
	}
	d.pos++
	if plain {
		return d.raw[start+1 : d.pos-1]
	}
	var s string
	_ = json.Unmarshal([]byte(d.raw[start:d.pos]), &s) // it is valid
	return s
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

// quote is s as a string literal on one line, of JSON and of TypeScript. Invisible
// characters are escaped, so that the literal hides nothing.
func quote(s string) string {
	if plainText(s) {
		return `"` + s + `"`
	}
	return string(gate.Escape(gate.Compact(s)))
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
