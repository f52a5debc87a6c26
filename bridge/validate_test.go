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
