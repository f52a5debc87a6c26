package catalog_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/jsoncheck"
)

// Prompts and resources that are held back cannot be read by their names.
func TestHeldOffersCannotBeRead(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{{
		Server: "s", Prompts: []discovery.ListedPrompt{{Name: "good"}}, Resources: []discovery.ListedResource{{URI: "x://good"}},
		Held: []discovery.Held{{Kind: "prompt", Name: "bad", State: "changed"}, {Kind: "resource", Name: "x://bad", State: "changed"}},
	}})
	s, _ := c.Server("s")
	tools := catalog.ToolsOfOffers(c, s)
	if len(tools) != 2 {
		t.Fatalf("%d tools", len(tools))
	}
	for i, call := range []struct{ good, bad string }{{`{"uri":"x://other"}`, `{"uri":"x://bad"}`}, {`{"name":"good"}`, `{"name":"bad"}`}} {
		schema, err := jsoncheck.Compile(tools[i].InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Check([]byte(call.good)); err != nil {
			t.Errorf("%s: %v", call.good, err)
		}
		if err := schema.Check([]byte(call.bad)); err == nil {
			t.Errorf("%s was accepted", call.bad)
		}
	}
	if strings.Contains(string(tools[1].InputSchema), "bad") {
		t.Errorf("the name is told: %s", tools[1].InputSchema)
	}
}
