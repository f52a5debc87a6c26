package policy_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// Servers whose ids differ only in a hash are denied by the common prefix of their ids,
// but not allowed by it.
func TestPatternsOfServersThatAreAlike(t *testing.T) {
	tools := []discovery.ListedTool{{Name: "drop"}}
	c := discovery.NewCatalog([]discovery.Listing{{Server: "my-notes", Tools: tools}, {Server: "my notes", Tools: tools}, {Server: "Größe", Tools: tools}})
	for _, tool := range c.Tools() {
		server, _ := c.Server(tool.Server)
		call := policy.Call{Tool: tool, Class: policy.Write, Args: []byte("{}")}
		for _, pattern := range []string{server.PlainPrefix + ".drop", server.PlainPrefix + "__drop", server.PlainPrefix + "*"} {
			if pattern == "Gr_e*" || pattern == "my_notes*" {
				pattern = server.PlainPrefix + "*.drop"
			}
			if d := rules(t, `{"rules": [{"effect": "deny", "tools": ["`+pattern+`"]}]}`).Decide(call); d.Effect != policy.Deny {
				t.Errorf("%s is not denied by %s", tool.ID, pattern)
			}
			if d := rules(t, `{"rules": [{"effect": "ask", "tools": ["`+pattern+`"]}]}`).Decide(call); d.Effect != policy.Ask {
				t.Errorf("%s is not asked about by %s", tool.ID, pattern)
			}
		}
		deny := `{"effect": "deny", "tools": ["*"], "except": `
		for pattern, want := range map[string]bool{tool.ID: false, tool.Server + ".drop": false, server.PlainPrefix + "__drop": true} {
			if d := rules(t, `{"rules": [`+deny+`["`+pattern+`"]}]}`).Decide(call); (d.Effect == policy.Deny) != want {
				t.Errorf("%s, but for %s: %s", tool.ID, pattern, d.Effect)
			}
		}
		p := policy.Profile{Servers: []string{"*"}, Allow: []string{"*"}, Deny: []string{server.PlainPrefix + "__drop"}}
		if p.HasTool(tool) {
			t.Errorf("a profile that denies %s has %s", p.Deny, tool.ID)
		}
		p = policy.Profile{Servers: []string{"*"}, Allow: []string{server.PlainPrefix + "__drop"}}
		if p.HasTool(tool) {
			t.Errorf("a profile that allows only %s has %s", p.Allow, tool.ID)
		}
	}
}
