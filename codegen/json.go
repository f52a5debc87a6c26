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

// maxJSONDepth is where a text is no schema any more; encoding/json draws the
// same line.
const maxJSONDepth = 10000

// decode reads one JSON value. encoding/json would lose the order of keys and
// the digits of numbers, and its token reader takes longer than everything else
// that is done with a schema. What is valid is what encoding/json takes.
func decode(raw []byte) (v value, err error) {
	d := decoder{raw: string(raw)}
	defer func() {
		if r := recover(); r == errNotJSON {
			v, err = nil, errNotJSON
		} else if r != nil {
			panic(r)
		}
	}()
	v = d.value(0)
	if d.space() != 0 || d.pos < len(d.raw) {
		return nil, errNotJSON
	}
	return v, nil
}

// A decoder reads one text. Where that is not valid it panics with errNotJSON.
type decoder struct {
	raw string
	pos int
}

// space passes over white space and returns the byte behind it, 0 at the end. A
// 0 in the text is valid nowhere.
func (d *decoder) space() byte {
	for ; d.pos < len(d.raw); d.pos++ {
		switch c := d.raw[d.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) value(depth int) value {
	var v value
	switch c := d.space(); c {
	case '{', '[':
		if depth >= maxJSONDepth {
			panic(errNotJSON)
		}
		if c == '{' {
			v = d.object(depth)
		} else {
			v = d.list(depth)
		}
	case '"':
		return d.string()
	case 't':
		return d.word("true", true)
	case 'f':
		return d.word("false", false)
	case 'n':
		return d.word("null", nil)
	default:
		return d.number()
	}
	if depth > maxNesting {
		return true
	}
	return v
}

func (d *decoder) word(w string, v value) value {
	if !strings.HasPrefix(d.raw[d.pos:], w) {
		panic(errNotJSON)
	}
	d.pos += len(w)
	return v
}

func (d *decoder) number() number {
	start := d.pos
	d.pass("-")
	if !d.pass("0") && d.digits() == 0 {
		panic(errNotJSON)
	}
	if d.pass(".") && d.digits() == 0 {
		panic(errNotJSON)
	}
	if d.pass("eE") {
		d.pass("+-")
		if d.digits() == 0 {
			panic(errNotJSON)
		}
	}
	return number(d.raw[start:d.pos])
}

// pass passes over one byte if it is one of set.
func (d *decoder) pass(set string) bool {
	if d.pos < len(d.raw) && strings.IndexByte(set, d.raw[d.pos]) >= 0 {
		d.pos++
		return true
	}
	return false
}

func (d *decoder) digits() int {
	start := d.pos
	for d.pos < len(d.raw) && d.raw[d.pos] >= '0' && d.raw[d.pos] <= '9' {
		d.pos++
	}
	return d.pos - start
}

func (d *decoder) object(depth int) *object {
	o := &object{}
	d.pos++
	if d.space() == '}' {
		d.pos++
		return o
	}
	for {
		if d.space() != '"' {
			panic(errNotJSON)
		}
		key := d.string()
		if d.space() != ':' {
			panic(errNotJSON)
		}
		d.pos++
		o.set(key, d.value(depth+1))
		if !d.more('}') {
			return o
		}
	}
}

func (d *decoder) list(depth int) []value {
	list := []value{}
	d.pos++
	if d.space() == ']' {
		d.pos++
		return list
	}
	for {
		list = append(list, d.value(depth+1))
		if !d.more(']') {
			return list
		}
	}
}

// more passes over a comma, or over the end, of which it says so.
func (d *decoder) more(end byte) bool {
	c := d.space()
	if c != ',' && c != end {
		panic(errNotJSON)
	}
	d.pos++
	return c == ','
}

func (d *decoder) string() string {
	start := d.pos
	plain := true
	for d.pos++; d.pos < len(d.raw); d.pos++ {
		switch c := d.raw[d.pos]; {
		case c == '"':
			d.pos++
			if plain {
				return d.raw[start+1 : d.pos-1]
			}
			var s string
			if err := json.Unmarshal([]byte(d.raw[start:d.pos]), &s); err != nil {
				panic(errNotJSON)
			}
			return s
		case c < ' ':
			panic(errNotJSON)
		case c == '\\':
			d.pos++
			plain = false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	panic(errNotJSON)
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

// quote is s as a string literal on one line, of JSON and of TypeScript. What no
// reader sees is escaped: the literal is the same string, and hides nothing.
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
