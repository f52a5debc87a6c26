package catalog

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// What follows the server's prefix in the ids by which scripts read them. Such
// an id is no tool of the catalogue: it is not listed, counted or wrapped, and a
// tool of that name has it.
const (
	readResource = "read_resource"
	getPrompt    = "get_prompt"
)

// offerTools are the tools that read the prompts and resources of a catalogue,
// by id.
type offerTools struct {
	scope *discovery.Catalog
	byID  map[string]*discovery.Tool
}

// offerTool finds the tool behind an id such as "docs__read_resource", in any
// form that the name of a tool can have.
func (c *Catalog) offerTool(scope *discovery.Catalog, name string) (*discovery.Tool, bool) {
	s, ok := scope.ServerOf(name)
	if !ok {
		return nil, false
	}
	o := c.offers.Load()
	if o == nil || o.scope != scope {
		o = &offerTools{scope, make(map[string]*discovery.Tool)}
		for _, s := range scope.Servers() {
			for _, t := range ToolsOfOffers(scope, s) {
				o.byID[t.ID] = t
			}
		}
		c.offers.Store(o)
	}
	switch last := lastPart(name); {
	case strings.EqualFold(last, readResource) || last == "readResource":
		name = s.Prefix + "__" + readResource
	case strings.EqualFold(last, getPrompt) || last == "getPrompt":
		name = s.Prefix + "__" + getPrompt
	}
	t, ok := o.byID[name]
	return t, ok
}

// ToolsOfOffers are the tools that read the prompts and resources of one server;
// none for what it does not have.
func ToolsOfOffers(scope *discovery.Catalog, s *discovery.Server) []*discovery.Tool {
	readOnly := true
	add := func(list []*discovery.Tool, name, method, description, schema string) []*discovery.Tool {
		id := s.Prefix + "__" + name
		if _, taken := scope.Tool(id); taken {
			return list
		}
		return append(list, &discovery.Tool{ID: id, Server: s.Listing.Server, ListedTool: discovery.ListedTool{
			Name: method, Description: description, InputSchema: json.RawMessage(schema), Annotations: discovery.Annotations{ReadOnly: &readOnly},
		}})
	}
	// What is held cannot be read by its name either. Resources may have URIs that
	// are not listed, so that only those can be named that are held.
	uri, prompt := `{"type":"string"}`, `{"type":"string"}`
	var held []string
	for _, h := range s.Held {
		switch h.Kind {
		case "resource":
			held = append(held, h.Name)
			uri = `{"type":"string","not":{"enum":` + string(gate.Compact(held)) + `}}`
		case "prompt":
			var names []string
			for _, p := range s.Prompts {
				names = append(names, p.Name)
			}
			prompt = `{"enum":` + string(gate.Compact(names)) + `}`
		}
	}
	var list []*discovery.Tool
	if len(s.Resources) > 0 {
		list = add(list, readResource, upstream.ReadResource, "Read a resource of this server by its URI.",
			`{"type":"object","properties":{"uri":`+uri+`},"required":["uri"],"additionalProperties":false}`)
	}
	if len(s.Prompts) > 0 {
		list = add(list, getPrompt, upstream.GetPrompt, "Get a prompt of this server with its arguments filled in.",
			`{"type":"object","properties":{"name":`+prompt+`,"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`)
	}
	return list
}
