package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// What leads back to itself would overflow the stack, which nobody survives.
func TestSchemasWithoutEndAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 3000) + `{}` + strings.Repeat(`}`, 3000)
	for _, tt := range []struct{ schema, want string }{
		{`{"$ref":"#"}`, `"#" refers back to itself`},
		{`{"allOf":[{"$ref":"#"}]}`, "refers back"},
		{`{"not":{"anyOf":[true,{"if":{"oneOf":[{"$ref":"#"}]}}]}}`, "refers back"},
		{`{"then":{"$ref":"#/else"},"else":{"dependentSchemas":{"a":{"$ref":"#/then"}}}}`, "refers back"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","dependencies":{"a":{"$ref":"#"}}}`, "refers back"},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/x"}]}}}`, `"#/$defs/x" refers back`},
		{`{"$anchor":"me","allOf":[{"$ref":"#me"}]}`, "refers back"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a~/b":{"$ref":"#/definitions/a~0~1b"}},"items":{"$ref":"#/definitions/a~0~1b"}}`, `#/definitions/a~0~1b" refers back`},
		{`{"$id":"https://a.example/s","anyOf":[{"$ref":"https://a.example/s#/anyOf/0"}]}`, "refers back"},
		{`{"$dynamicAnchor":"x","items":{"$dynamicRef":"#x"}}`, "$dynamicRef is not supported"},
		{`{"$defs":{"a":{"$id":"https://a.example/s","$ref":"#"}}}`, "a $ref below an $id of its own is not supported"},
		{`{"items":{"$ref":"https://a.example/t"},"$defs":{"a":{"$id":"https://a.example/t","type":"string"}}}`, "is outside the schema"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"exclusiveMinimum":true}}}`, `"properties.exclusiveMinimum" is a boolean and has to be a number`},
		{`{"$ref":"https://a.example/s"}`, "a.example"},
		{`{"type":"objct"}`, `"#": unknown type "objct"`},
		{`{"items":{"type":["string","int"]}}`, `"#/items": unknown type "int": types are string`},
		{deep, "too large"},
	} {
		if _, err := schema.Compile(json.RawMessage(tt.schema)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compile(%.100s) = %v, want %q in it", tt.schema, err, tt.want)
		}
	}
}

// A schema may lead back to itself for a part of the value, or where no value
// comes to.
func TestRecursiveSchemas(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":1}}}`, ""},
		{`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":"x"}}}`, `takes an integer; got "x"`},
		{`{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#"}}]}`, `[[null],[[]]]`, ""},
		{`{"$defs":{"a":{"$ref":"#/$defs/a"}},"type":"string"}`, `"x"`, ""},
		{`{"$ref":"#/$defs/a%20b","$defs":{"a b":{"type":"string"}}}`, `1`, "takes a string; got 1"},
		{`{"items":{"$ref":"#/$defs/t"},"$defs":{"t":{"$id":"https://a.example/t","type":"string"}}}`, `[1]`, "takes a string; got 1"},
		{`{"$id":"https://a.example/s.json","items":{"$ref":"s.json#/$defs/x"},"$defs":{"x":{"type":"string"}}}`, `[1]`, "takes a string; got 1"},
		{`{"$id":"https://a.example/s","items":{"$ref":"https://a.example/s#/$defs/x"},"$defs":{"x":{"type":"string"}}}`, `[1]`, "takes a string; got 1"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"string"}`, `1`, "takes a string; got 1"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"string"}`, `"x"`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}]}`, `[1]`, "takes a string; got 1"},
	} {
		s, err := schema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("Compile(%s) = %v", tt.schema, err)
			continue
		}
		if err := s.Check(json.RawMessage(tt.value)); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Check(%s) = %v, want %q", tt.schema, tt.value, err, tt.want)
		}
	}
}

// Each of these would keep a processor for minutes, or take the stack or gigabytes
// of text. Each has the size at which it is still checked.
func TestValuesThatTakeTooLongAreNotChecked(t *testing.T) {
	branching := func(n int) (schema, value string) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s"d%d":{"type":"string"}}}`, b.String(), n), `"x"`
	}
	recursive := func(n int) (schema, value string) {
		return `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"additionalProperties":{"$ref":"#"}}],"patternProperties":{".":{"$ref":"#"}}}`,
			strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	}
	deep := func(n int) (schema, value string) {
		const steps = 20
		var b strings.Builder
		for i := range steps {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s"d%d":{"items":{"$ref":"#"}}}}`, b.String(), steps),
			strings.Repeat("[", n) + strings.Repeat("]", n)
	}
	listed := func(n int) (schema, value string) {
		return `{"items":{"enum":[` + strings.Repeat(`"a",`, n) + `"b"]}}`, `[` + strings.Repeat(`"b",`, n) + `"b"]`
	}
	printed := func(n int) (schema, value string) {
		return `{"anyOf":[` + strings.Repeat(`{"type":"null"},`, n) + `true]}`, `["` + strings.Repeat("x", 200*n) + `"]`
	}
	for name, tt := range map[string]struct {
		of          func(int) (schema, value string)
		small, huge int
	}{
		"references that branch":           {branching, 10, 60},
		"properties that branch":           {recursive, 8, 40},
		"deep values":                      {deep, 100, 5000},
		"long lists of values":             {listed, 300, 20_000},
		"branches that print large values": {printed, 10, 2000},
	} {
		for n, want := range map[int]error{tt.small: nil, tt.huge: schema.ErrCostly} {
			text, value := tt.of(n)
			s, err := schema.Compile(json.RawMessage(text))
			if err != nil {
				t.Fatalf("%s, %d: %v", name, n, err)
			}
			if err := s.Check(json.RawMessage(value)); !errors.Is(err, want) {
				t.Errorf("%s, %d: %.200v, want %v", name, n, err, want)
			}
		}
	}
}

// Large values of plain schemas are checked.
func TestLargeValuesAreChecked(t *testing.T) {
	row := `{"id":1,"name":"a name","tags":["a","b"]},`
	for _, wrong := range []string{`null`, `{"id":"x"}`} {
		s, err := schema.Compile(json.RawMessage(`{"items":{"anyOf":[{"$ref":"#/$defs/row"},{"type":"null"}]},"$defs":{"row":{"type":"object",
			"properties":{"id":{"type":"integer"},"name":{"type":"string"},"tags":{"items":{"type":"string"}}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		value := `[` + strings.Repeat(row, 1<<20/len(row)) + wrong + `]`
		if err := s.Check(json.RawMessage(value)); (err == nil) != (wrong == "null") || errors.Is(err, schema.ErrCostly) {
			t.Errorf("1 MB and %s: %.200v", wrong, err)
		}
	}
}

// The text of an error grows with each schema around it.
func TestDeepSchemasAreTooCostly(t *testing.T) {
	nested := func(keyword string, n int) string {
		return strings.Repeat(`{"`+keyword+`":[{"type":"string"},`, n) + `{"type":"integer"}` + strings.Repeat(`]}`, n)
	}
	chain := func(keyword string, n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d":{"%s":[{"type":"string"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1))
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s,"d%d":{"type":"integer"}}}`, strings.Join(defs, ","), n)
	}
	for name, c := range map[string]struct {
		schema string
		costly bool
	}{
		"450 nested anyOf": {nested("anyOf", 450), true},
		"450 nested oneOf": {nested("oneOf", 450), true},
		"4,000 anyOf":      {chain("anyOf", 4000), true},
		"4,000 oneOf":      {chain("oneOf", 4000), true},
		"60 nested anyOf":  {nested("anyOf", 60), false},
		"60 oneOf":         {chain("oneOf", 60), false},
		"100 anyOf":        {chain("anyOf", 100), false},
	} {
		s, err := schema.Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Check(json.RawMessage(`true`)); err == nil || errors.Is(err, schema.ErrCostly) != c.costly {
			t.Errorf("%s: too costly: %v, want %v: %.200v", name, !c.costly, c.costly, err)
		}
	}
}
