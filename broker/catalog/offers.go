package catalog

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Suffixes of the ids by which scripts read prompts and resources. Such an id is not in
// the catalogue: it is not listed, counted or wrapped, and a tool with the same id
// takes precedence.
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
	s, tool, ok := scope.Split(name)
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
	switch {
	case strings.EqualFold(tool, readResource) || tool == "readResource":
		name = s.Prefix + "__" + readResource
	case strings.EqualFold(tool, getPrompt) || tool == "getPrompt":
		name = s.Prefix + "__" + getPrompt
	}
	t, ok := o.byID[name]
	return t, ok
}

// ToolsOfOffers returns the tools that read the prompts and resources of one server, if
// it has any.
func ToolsOfOffers(scope *discovery.Catalog, s *discovery.Server) []*discovery.Tool {
	readOnly := true
	add := func(list []*discovery.Tool, name, method, description, schema string) []*discovery.Tool {
		id := s.Prefix + "__" + name
		if _, taken := scope.Tool(id); taken {
			return list
		}
		return append(list, &discovery.Tool{ID: id, Server: s.Listing.Server, PlainPrefix: s.PlainPrefix, ListedTool: discovery.ListedTool{
			Name: method, Description: description, InputSchema: json.RawMessage(schema), Annotations: discovery.Annotations{ReadOnly: &readOnly},
		}})
	}
	var list []*discovery.Tool
	if len(s.Resources) > 0 {
		list = add(list, readResource, upstream.ReadResource, "Read a resource of this server by its URI.",
			`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`)
	}
	if len(s.Prompts) > 0 {
		list = add(list, getPrompt, upstream.GetPrompt, "Get a prompt of this server with its arguments filled in.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`)
	}
	return list
}

// offerKinds are the tools that read prompts and resources, with what each reads.
var offerKinds = map[string]string{upstream.ReadResource: "resource", upstream.GetPrompt: "prompt"}

// heldOffer is the failure of a call that would read what is held back of a
// server's prompts and resources; nil if it would not. Resources may have URIs that
// are not listed, so that only those can be refused that are held.
func heldOffer(s *discovery.Server, tool string, args json.RawMessage) *bridge.Error {
	var want struct{ URI, Name string }
	kind := offerKinds[tool]
	if kind == "" || json.Unmarshal(args, &want) != nil {
		return nil
	}
	for _, h := range s.Held {
		if h.Kind == kind && (h.Kind == "resource" && h.Name == want.URI || h.Kind == "prompt" && h.Name == want.Name) {
			return heldBack(s.Listing.Server, h)
		}
	}
	return nil
}

// Call calls a tool of a server, unless it would read what is held back.
func (c *Catalog) Call(ctx context.Context, server, tool string, args json.RawMessage, o *upstream.CallOptions) (json.RawMessage, error) {
	if offerKinds[tool] != "" {
		full, _ := c.Both()
		if s, ok := full.Server(server); ok {
			if e := heldOffer(s, tool, args); e != nil {
				return nil, e
			}
		}
	}
	return c.Pool.Call(ctx, server, tool, args, o)
}
