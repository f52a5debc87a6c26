package codegen

import (
	"errors"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
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
	d := decoder{jsonscan.New(string(raw))}
	v := d.value(0)
	if !d.End() {
		return nil, errors.New("schema is not valid JSON")
	}
	return v, nil
}

type decoder struct{ jsonscan.Scanner[string] }

func (d *decoder) value(depth int) value {
	var v value
	switch k := d.Kind(); k {
	case '{':
		o := &object{}
		for d.Enter('{'); d.More('}'); {
			if key := d.Key(); !d.Broken() {
				o.set(jsonscan.Unquote(key), d.value(depth+1))
			}
		}
		v = o
	case '[':
		list := []value{}
		for d.Enter('['); d.More(']'); {
			list = append(list, d.value(depth+1))
		}
		v = list
	default:
		raw := d.Skip()
		switch {
		case d.Broken(), k == 'n':
			return nil
		case k == '"':
			return jsonscan.Unquote(raw)
		case k == 't', k == 'f':
			return k == 't'
		}
		return number(raw)
	}
	if depth > maxNesting {
		return true
	}
	return v
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
