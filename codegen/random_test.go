package codegen_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// A maker makes schemas of choices: every keyword with every kind of value,
// right and wrong ones.
type maker struct{ choose func(n int) int }

func (m maker) schema(depth int) any {
	if depth <= 0 || m.choose(12) == 0 {
		return []any{true, false, map[string]any{}, map[string]any{"type": "string"}, nil, 5, "x", []any{}}[m.choose(8)]
	}
	s := map[string]any{}
	for range 1 + m.choose(4) {
		k, v := m.keyword(depth)
		s[k] = v
	}
	return s
}

func (m maker) keyword(depth int) (string, any) {
	sub := func() any { return m.schema(depth - 1) }
	list := func() any {
		l := make([]any, m.choose(4))
		for i := range l {
			l[i] = sub()
		}
		return l
	}
	table := func() any {
		o := map[string]any{}
		for range m.choose(4) {
			o[m.name()] = sub()
		}
		return o
	}
	switch m.choose(22) {
	case 0, 1:
		return "properties", table()
	case 2:
		return "type", []any{"string", "number", "integer", "boolean", "null", "array", "object", "file"}[m.choose(8)]
	case 3:
		return "type", []any{[]any{"string", "null"}, []any{"object", "array"}, []any{"number"}, []any{}}[m.choose(4)]
	case 4:
		return "items", sub()
	case 5:
		return "items", list()
	case 6:
		return "prefixItems", list()
	case 7:
		return []string{"anyOf", "oneOf", "allOf"}[m.choose(3)], list()
	case 8:
		return []string{"additionalProperties", "additionalItems"}[m.choose(2)], sub()
	case 9:
		return "patternProperties", map[string]any{[]string{"^x-", "^x-y", "a|b", "^`${"}[m.choose(4)]: sub()}
	case 10:
		return "required", []any{m.name(), m.name()}
	case 11:
		return "enum", m.values()
	case 12:
		return "const", m.value()
	case 13, 14:
		return "$ref", []string{"#", "#/$defs/a", "#/$defs/b", "#/definitions/" + m.name(), "#anchor", "other#", "#/properties/a", "#/%", "#/$defs/a/items"}[m.choose(9)]
	case 15:
		return []string{"$defs", "definitions"}[m.choose(2)], table()
	case 16:
		return []string{"$anchor", "$id", "$dynamicRef"}[m.choose(3)], []string{"anchor", "#anchor", "other", "https://a.example/"}[m.choose(4)]
	case 17:
		return []string{"description", "format", "pattern", "default", "title"}[m.choose(5)], m.value()
	case 18:
		return []string{"minItems", "maxItems", "minimum", "exclusiveMaximum", "maxLength", "multipleOf"}[m.choose(6)], []any{0, 1, 2, -1.5, 9007199254740991, true}[m.choose(6)]
	case 19:
		return []string{"nullable", "deprecated"}[m.choose(2)], true
	case 20:
		return []string{"if", "not", "contains", "propertyNames", "examples"}[m.choose(5)], list()
	}
	return m.name(), sub()
}

func (m maker) name() string {
	return []string{"a", "b", "x-1", "*/", "class", "", "日本", "a.b", "\u2028", "`", "__proto__", "1st"}[m.choose(12)]
}

func (m maker) value() any {
	return []any{"a", "*/ x", "\n", 1, -1.5, json.Number("1e999"), true, false, nil, []any{1, "a"}, map[string]any{"k": nil}, "日本"}[m.choose(12)]
}

func (m maker) values() []any {
	l := make([]any, m.choose(30))
	for i := range l {
		if l[i] = m.value(); i > 12 {
			l[i] = fmt.Sprint("v", i)
		}
	}
	return l
}

// catalogue is one tool whose schemas are made of choices.
func (m maker) catalogue(t testing.TB) *discovery.Catalog {
	tool := discovery.ListedTool{Name: m.name() + "t", Description: "Does it."}
	for _, into := range []*json.RawMessage{&tool.InputSchema, &tool.OutputSchema} {
		raw, err := json.Marshal(m.schema(6))
		if err != nil {
			t.Fatal(err)
		}
		*into = raw
	}
	return discovery.NewCatalog([]discovery.Listing{{Server: m.name(), Tools: []discovery.ListedTool{tool}}})
}

func FuzzKeywords(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		seed := make([]byte, 40+r.IntN(200))
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		m := maker{func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := choices[0]
			choices = choices[1:]
			return int(c) % n
		}}
		checkParses(t, new(codegen.Generator), m.catalogue(t))
	})
}
