package surface

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A clientView is one MCP server that Server returned, with the definitions that its clients
// have seen.
type clientView struct {
	surface *Surface
	client  string
	server  *mcp.Server

	tools, prompts, templates map[string]fingerprint
}

// A fingerprint tells one definition from another of the same name.
type fingerprint struct {
	definition string
	version    any
}

// An offer is all that the features have at one time.
type offer struct {
	tools     []Tool
	prompts   []Prompt
	templates []Template
}

// update adds new and changed definitions to v and removes missing ones, which notifies
// clients of changed lists. s.mu must be held.
func (v *clientView) update(o offer) {
	next := make(map[string]fingerprint)
	for _, t := range o.tools {
		next[t.Name] = fingerprint{string(gate.Compact(t.Tool)), nil}
		if v.tools[t.Name] == next[t.Name] {
			continue
		}
		if err := v.addTool(t); err != nil {
			v.surface.log.Warn("list tool", "tool", t.Name, "err", err)
			delete(next, t.Name) // it can still be found and called
		}
	}
	remove(v.tools, next, v.server.RemoveTools)
	v.tools, next = next, make(map[string]fingerprint)
	for _, p := range o.prompts {
		next[p.Name] = fingerprint{string(gate.Compact(p.Prompt)), nil}
		if v.prompts[p.Name] != next[p.Name] {
			v.server.AddPrompt(p.Prompt, v.getPrompt)
		}
	}
	remove(v.prompts, next, v.server.RemovePrompts)
	v.prompts, next = next, make(map[string]fingerprint)
	for _, t := range o.templates {
		next[t.URITemplate] = fingerprint{string(gate.Compact(t.ResourceTemplate)), t.Version}
		if v.templates[t.URITemplate] != next[t.URITemplate] {
			v.server.AddResourceTemplate(t.ResourceTemplate, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return t.Read(ctx, callerOf(v.client, req.Extra, req.Session), req.Params.URI)
			})
		}
	}
	remove(v.templates, next, v.server.RemoveResourceTemplates)
	v.templates = next
}

// remove removes the entries of old that next does not contain.
func remove(old, next map[string]fingerprint, take func(names ...string)) {
	gone := maps.Clone(old)
	maps.DeleteFunc(gone, func(name string, _ fingerprint) bool { _, ok := next[name]; return ok })
	if len(gone) > 0 {
		take(slices.Sorted(maps.Keys(gone))...)
	}
}

// addTool lists a tool. The SDK panics at a definition that it cannot serve, and a
// server's can be anything.
func (v *clientView) addTool(t Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	v.server.AddTool(t.Tool, v.surface.serve(v.client, t))
	return nil
}

// getPrompt answers prompts/get with the current prompts.
func (v *clientView) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	for _, p := range v.surface.offer().prompts {
		if p.Name != req.Params.Name {
			continue
		}
		text, err := p.Text(ctx, callerOf(v.client, req.Extra, req.Session), req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return promptResult(gate.NewText(p.Description), text), nil
	}
	return nil, fmt.Errorf("prompt %q is gone", gate.Cut(req.Params.Name, 60))
}

// listResources adds the resources of the features to what the SDK lists.
func (v *clientView) listResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, err // res may be a typed nil pointer
		}
		if list, ok := res.(*mcp.ListResourcesResult); ok && list.NextCursor == "" {
			session, _ := req.GetSession().(*mcp.ServerSession)
			c := callerOf(v.client, req.GetExtra(), session)
			for _, feature := range v.surface.features {
				if r, ok := feature.(ResourceFeature); ok {
					list.Resources = append(list.Resources, r.Resources(c)...)
				}
			}
		}
		return res, nil
	}
}
