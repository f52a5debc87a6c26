package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// Schemas of servers may be anything: what cannot be judged is left to the server,
// and what is certainly wrong is refused all the same.
func TestOddSchemasOfServers(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 3000) + `{}` + strings.Repeat(`}`, 3000)
	for _, tt := range []struct{ name, schema, args, want string }{
		{"a cycle", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/x"}]}}}`, `{"a":1}`, ""},
		{"a cycle beside a mistake", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"type":"string"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`, `{"a":1,"b":2}`, `b takes a string; got 2`},
		{"deep", `{"type":"object","properties":{"a":` + deep + `}}`, `{"a":1}`, ""},
		{"an unknown type", `{"type":"object","properties":{"a":{"type":"any"},"n":{"type":"int"}}}`, `{"a":[],"n":1}`, ""},
		{"an unknown type beside a mistake", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":"string"}}}`, `{"b":2}`, `b takes a string; got 2`},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"b":{"type":"string"}}}`, `{"b":"x"}`, ""},
		{"a mistake in draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"b":{"type":"string"}}}`, `{"b":2}`, `b takes a string; got 2`},
		{"2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"b":{"type":"string"}}}`, `{"b":"x"}`, ""},
		{"draft-07 without a #", `{"$schema":"http://json-schema.org/draft-07/schema","type":"object"}`, `{"b":"x"}`, ""},
		{"a dialect that nobody knows", `{"$schema":"https://schemas.example/mine","type":"object"}`, `{"b":"x"}`, ""},
		{"no schema at all", `[1]`, `{"b":"x"}`, ""},
		{"required that is no list", `{"type":"object","required":true,"properties":{"b":{"type":"string"}}}`, `{"b":"x"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := &discovery.Tool{ID: "shop__buy", ListedTool: discovery.ListedTool{InputSchema: json.RawMessage(tt.schema)}}
			_, err := bridge.NewValidator().Check(tool, json.RawMessage(tt.args))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), tt.want)) {
				t.Errorf("Check(%s) = %v, want %q", tt.args, err, tt.want)
			}
		})
	}
}

// Models write null for "no value". Where a schema takes a parameter or nothing,
// null is nothing; wherever it means something, it is sent or refused.
func TestNullForAnOptionalParameterIsLeftOut(t *testing.T) {
	object := func(properties, more string) string {
		return `{"type":"object","properties":{` + properties + `}` + more + `}`
	}
	const refs = `,"$defs":{"to":{"type":"object","properties":{"zip":{"type":"string"},"city":{"type":"string"}},"required":["city"]}}`
	for _, tt := range []struct{ name, schema, args, want, wrong string }{
		{"optional", object(`"a":{"type":"string"},"n":{"type":"integer"}`, ``), `{"a":null,"n":12345678901234567890}`, `{"n":12345678901234567890}`, ""},
		{"an enum", object(`"a":{"enum":["<x>","y"]}`, `,"additionalProperties":false`), `{"a":null}`, `{}`, ""},
		{"nullable", object(`"a":{"type":["string","null"]},"b":{"type":"string"}`, ``), `{"a":null,"b":null}`, `{"a":null}`, ""},
		{"required", object(`"a":{"type":"string"}`, `,"required":["a"]`), `{"a":null}`, "", `a takes a string; got null`},
		{"required elsewhere", object(`"a":{"type":"string"}`, `,"allOf":[{"required":["a"]}]`), `{"a":null}`, "", `a`},
		{"behind a reference", object(`"to":{"$ref":"#/$defs/to"}`, refs), `{"to":{"zip":null,"city":"Rome"}}`, `{"to":{"city":"Rome"}}`, ""},
		{"required behind a reference", object(`"to":{"$ref":"#/$defs/to"}`, refs), `{"to":{"city":null}}`, "", `to.city takes a string; got null`},
		{"in a list", object(`"l":{"type":"array","items":{"$ref":"#/$defs/to"}}`, refs), `{"l":[{"city":"<a>","zip":null}]}`, `{"l":[{"city":"<a>"}]}`, ""},
		{"an element of a list", object(`"l":{"type":"array","items":{"type":"string"}}`, ``), `{"l":[null]}`, "", `l[0] takes a string; got null`},
		{"beside a mistake", object(`"a":{"type":"string"},"b":{"type":"string"}`, ``), `{"a":null,"b":2}`, "", `b takes a string; got 2`},
		{"a key of a map", object(`"m":{"type":"object","additionalProperties":{"type":"string"}}`, ``), `{"m":{"x":null}}`, "", `m.x takes a string; got null`},
		{"an unknown key", object(`"a":{}`, `,"additionalProperties":false`), `{"b":null}`, "", `unknown parameter b`},
		{"one of two forms", object(`"a":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["k"]},{"type":"object","properties":{"x":{"type":"string"}}}]}`, ``),
			`{"a":{"x":null}}`, `{"a":{}}`, ""},
		{"a form that takes it", object(`"b":{"type":"string"},"a":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"null"}}}]}`, ``),
			`{"a":{"x":null},"b":null}`, `{"a":{"x":null}}`, ""},
		{"OpenAPI's nullable", object(`"a":{"type":"string","nullable":true},"e":{"enum":["x"],"nullable":true},"b":{"type":"string"}`, `,"required":["a"]`), `{"a":null,"e":null,"b":null}`, `{"a":null,"e":null}`, ""},
		{"a nullable reference", object(`"to":{"allOf":[{"$ref":"#/$defs/to"}],"nullable":true}`, refs), `{"to":null}`, `{"to":null}`, ""},
		{"a schema that cannot be checked", object(`"a":{"type":"string"},"b":{"$ref":"https://schemas.example/b"}`, ``), `{"a":null,"b":1}`, `{"b":1}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := &discovery.Tool{ID: "shop__buy", ListedTool: discovery.ListedTool{InputSchema: json.RawMessage(tt.schema)}}
			v := bridge.NewValidator()
			got, err := v.Check(tool, json.RawMessage(tt.args))
			if tt.wrong == "" && (err != nil || string(got) != tt.want) || tt.wrong != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), tt.wrong)) {
				t.Errorf("Check(%s) = %s, %v, want %s%s", tt.args, got, err, tt.want, tt.wrong)
			}
			if found := messages(v.Judge(tool, literal(t, tt.args))); tt.wrong == "" && found != nil {
				t.Errorf("refused before the run: %q", found)
			}
		})
	}
}

// Arguments are checked as the decimal numbers of their JSON, not as floats, and sent
// unchanged.
func TestNumbersOfArgumentsAreJudgedExactly(t *testing.T) {
	const schema = `{"type":"object","properties":{"amount":{"type":"number","multipleOf":0.01,"maximum":1e6},"rate":{"type":"number","multipleOf":0.1},
		"ids":{"type":"array","items":{"type":"integer","maximum":9223372036854775807},"uniqueItems":true},"id":{"enum":[2047948614742839297,"all"]}}}`
	tool := &discovery.Tool{ID: "shop__buy", ListedTool: discovery.ListedTool{InputSchema: json.RawMessage(schema)}}
	v := bridge.NewValidator()
	for args, want := range map[string]string{
		`{"amount":0.58,"rate":92.6}`:                       "",
		`{"amount":0.585}`:                                  `"amount" must be a multiple of 0.01; got 0.585`,
		`{"amount":1e400}`:                                  `"amount" must be at most 1e6`,
		`{"amount":1e-400}`:                                 "",
		`{"ids":[2047948614742839297,2047948614742839298]}`: "",
		`{"ids":[2047948614742839297,2047948614742839297]}`: "uniqueItems",
		`{"ids":[9223372036854775807,9223372036854775806]}`: "",
		`{"ids":[9223372036854775808]}`:                     `"ids[0]" must be at most 9223372036854775807`,
		`{"id":2047948614742839297}`:                        "",
		`{"id":2047948614742839298}`:                        `"id" is 2047948614742839298; accepted: 2047948614742839297, "all"`,
	} {
		sent, err := v.Check(tool, json.RawMessage(args))
		if want == "" && (err != nil || string(sent) != args) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check(%s) = %s, %v; want %q", args, sent, err, want)
		}
	}
}
