package codegen_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// spell writes what is known of fields: "!" is closed, "…" open.
func spell(f *codegen.Fields) string {
	if f == nil {
		return "?"
	}
	if f.Elem != nil {
		return "[" + spell(f.Elem) + "]"
	}
	var parts []string
	for name, of := range f.Props {
		if of != nil {
			name += spell(of)
		}
		parts = append(parts, name)
	}
	slices.Sort(parts)
	if f.Open {
		parts = append(parts, "…")
	}
	if f.Closed {
		parts = append(parts, "!")
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func answering(schema string) *discovery.Tool {
	return &discovery.Tool{ListedTool: discovery.ListedTool{Name: "t", OutputSchema: json.RawMessage(schema)}}
}

func TestFieldsAreWhatTheOutputTypeSays(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"no schema", ``, "?"},
		{"any object", `{"type":"object"}`, "?"},
		{"fields", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{}}}}}`, "{a b{c}}"},
		{"closed", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, "{a !}"},
		{"open", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, "{a …}"},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, "?"},
		{"an array", `{"type":"array","items":{"type":"object","properties":{"a":{}}}}`, "[{a}]"},
		{"an array of text", `{"type":"array","items":{"type":"string"}}`, "?"},
		{"or null", `{"type":["object","null"],"properties":{"a":{}}}`, "{a}"},
		{"one of two", `{"anyOf":[{"type":"object","properties":{"a":{}},"additionalProperties":false},{"type":"object","properties":{"b":{}}},{"type":"string"}]}`, "{a b}"},
		{"one of which nothing is known", `{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object"}]}`, "?"},
		{"both", `{"allOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`, "{a b}"},
		{"a reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"a":{}}}}}`, "{x{a}}"},
		{"the wrapped result", `{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","properties":{"a":{}}}}},"required":["result"]}`, "[{a}]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := spell(new(codegen.Generator).Fields(answering(tt.schema))); got != tt.want {
				t.Errorf("fields %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFieldsEnd(t *testing.T) {
	loop := `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"next":{"$ref":"#/$defs/t"},"also":{"$ref":"#/$defs/t"}}}}}`
	if f := new(codegen.Generator).Fields(answering(loop)); f == nil || f.Props["next"] == nil {
		t.Errorf("fields of a type that holds itself: %s", spell(f))
	}
	var props []string
	for i := range 3000 {
		props = append(props, fmt.Sprintf(`"p%d":{}`, i))
	}
	wide := `{"type":"object","properties":{` + strings.Join(props, ",") + `}}`
	if f := new(codegen.Generator).Fields(answering(wide)); f != nil {
		t.Errorf("%d fields of a type that has too many", len(f.Props))
	}
}
