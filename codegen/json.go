package codegen

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// The parts of a schema; see package schema.
type (
	value  = any
	number = json.Number
	object = schema.Object
)

func decode(raw []byte) (value, error) { return schema.Decode(raw) }

const maxNesting = schema.MaxNesting

// encode returns v as compact JSON.
func encode(v value) string {
	var b strings.Builder
	writeJSON(&b, v)
	return b.String()
}

func writeJSON(b *strings.Builder, v value) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(k) + ":")
			writeJSON(b, v.Vals[i])
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

// quote returns s as a string literal of both JSON and TypeScript, on one line. Invisible
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
