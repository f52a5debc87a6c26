package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/policy"
)

func TestSetAndRemoveRules(t *testing.T) {
	const before = `{
  // servers
  "mcpServers": {"a": {"command": "a"}},
  "broker": {"policy": {
    "preset": "careful", // on purpose
    "rules": [
      // first
      {"effect": "deny", "tools": ["a.x"]}, // never
      {"effect": "ask", "tools": ["a.y", "a.z"], "reason": "rare"},
      {"effect": "deny", "tools": ["a.y"], "args": {"id": 1}},
      {"effect": "deny", "tools": ["a"], "class": ["write"]} // nor this
    ]
  }}
}
`
	type list = []policy.Effect
	for _, tt := range []struct {
		name, cut, put string // of before
		rule           ToolRule
		remove         bool
		replaced       list
	}{
		{"there already", "", "", ToolRule{Effect: policy.Deny, Tools: "a.x"}, false, nil},
		{"another effect", "      {\"effect\": \"deny\", \"tools\": [\"a.x\"]}, // never\n", "", ToolRule{Effect: policy.Allow, Tools: "a.x"}, false, list{policy.Deny}},
		{"one of two tools", `"a.y", "a.z"`, `"a.z"`, ToolRule{Effect: policy.Allow, Tools: "a.y"}, false, list{policy.Ask}},
		{"a class of its own", "", "", ToolRule{Effect: policy.Allow, Tools: "a", Class: "destructive"}, false, nil},
		{"a reason", "", "", ToolRule{Effect: policy.Ask, Tools: "b.*", Reason: `say "yes"`}, false, nil},
		{"remove", "      {\"effect\": \"deny\", \"tools\": [\"a.x\"]}, // never\n", "", ToolRule{Effect: policy.Deny, Tools: "a.x"}, true, nil},
		{"remove the last of a tool", `"a.y", "a.z"`, `"a.y"`, ToolRule{Effect: policy.Ask, Tools: "a.z"}, true, nil},
	} {
		want := before
		if tt.cut != "" {
			want = strings.Replace(want, tt.cut, tt.put, 1)
		}
		var got []byte
		var replaced list
		var err error
		if tt.remove {
			var removed bool
			if got, removed, err = RemoveRule([]byte(before), tt.rule); !removed {
				t.Errorf("%s: nothing was removed", tt.name)
			}
		} else {
			got, replaced, err = SetRule([]byte(before), tt.rule)
			if tt.name != "there already" {
				want = strings.Replace(want, `["write"]}`, "[\"write\"]},\n      "+tt.rule.String(), 1)
			}
		}
		if err != nil || string(got) != want || !slices.Equal(replaced, tt.replaced) {
			t.Errorf("%s: %v, replaced %v\n%s\nwant\n%s", tt.name, err, replaced, got, want)
		}
		if _, err := Parse("servers.json", got); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, tt := range []struct {
		in   string
		rule ToolRule
	}{
		{`{"mcpServers": {}}`, ToolRule{Effect: policy.Deny, Tools: "a.x"}},
		{"", ToolRule{Effect: policy.Allow, Tools: "a"}},
		{"\ufeff{\"broker\": {\"policy\": {\"rules\": []}}}", ToolRule{Effect: policy.Ask, Tools: "*", Class: "destructive"}},
	} {
		set, _, err := SetRule([]byte(tt.in), tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := SetRule(set, tt.rule)
		if err != nil || string(again) != string(set) {
			t.Errorf("%s, twice: %v\n%s", set, err, again)
		}
		if after, removed, err := RemoveRule(set, tt.rule); err != nil || !removed {
			t.Errorf("%s: removed %t, %v\n%s", set, removed, err, after)
		}
	}
	if _, removed, err := RemoveRule([]byte(before), ToolRule{Effect: policy.Deny, Tools: "a.y"}); removed || err != nil {
		t.Errorf("a rule with conditions: removed %t, %v", removed, err)
	}
}
