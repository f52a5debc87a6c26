package catalog

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Prompts and resources that are held back cannot be read by their names, which
// models are not told.
func TestHeldOffersCannotBeRead(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{{
		Server: "s", Prompts: []discovery.ListedPrompt{{Name: "good"}}, Resources: []discovery.ListedResource{{URI: "x://good"}},
		Held: []discovery.Held{{Kind: "prompt", Name: "bad", State: "changed"}, {Kind: "resource", Name: "x://bad", State: "changed"}},
	}})
	s, _ := c.Server("s")
	for _, tt := range []struct {
		tool, args string
		held       bool
	}{
		{upstream.ReadResource, `{"uri":"x://other"}`, false},
		{upstream.ReadResource, `{"uri":"x://bad"}`, true},
		{upstream.ReadResource, `{"uri":"bad"}`, false},
		{upstream.GetPrompt, `{"name":"good"}`, false},
		{upstream.GetPrompt, `{"name":"bad"}`, true},
		{"bad", `{"name":"bad","uri":"x://bad"}`, false},
	} {
		if e := heldOffer(s, tt.tool, json.RawMessage(tt.args)); (e != nil) != tt.held {
			t.Errorf("%s %s: %v", tt.tool, tt.args, e)
		}
	}
}
