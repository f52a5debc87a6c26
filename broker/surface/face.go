package surface

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A face is one MCP server that Server returned, with the definitions that its clients
// have seen.
type face struct {
	surface *Surface
	client  string
	server  *mcp.Server

	tools, prompts, templates map[string]mark
}

// A mark tells one definition from another of the same name.
type mark struct {
	definition string
	version    any
}

// An offer is all that the features have at one time.
type offer struct {
	tools     []Tool
	prompts   []Prompt
	templates []Template
}

// show adds new and changed definitions to f and removes missing ones, which notifies
// clients of changed lists. s.mu must be held.
func (f *face) show(o offer) {
	next := make(map[string]mark)
	for _, t := range o.tools {
		next[t.Name] = mark{string(gate.Compact(t.Tool)), nil}
		if f.tools[t.Name] == next[t.Name] {
			continue
		}
		if err := f.addTool(t); err != nil {
			f.surface.log.Warn("list tool", "tool", t.Name, "err", err)
			delete(next, t.Name) // it can still be found and called
		}
	}
	remove(f.tools, next, f.server.RemoveTools)
	f.tools, next = next, make(map[string]mark)
	for _, p := range o.prompts {
		next[p.Name] = mark{string(gate.Compact(p.Prompt)), nil}
		if f.prompts[p.Name] != next[p.Name] {
			f.server.AddPrompt(p.Prompt, f.getPrompt)
		}
	}
	remove(f.prompts, next, f.server.RemovePrompts)
	f.prompts, next = next, make(map[string]mark)
	for _, t := range o.templates {
		next[t.URITemplate] = mark{string(gate.Compact(t.ResourceTemplate)), t.Version}
		if f.templates[t.URITemplate] != next[t.URITemplate] {
			f.server.AddResourceTemplate(t.ResourceTemplate, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return t.Read(ctx, callerOf(f.client, req.Extra, req.Session), req.Params.URI)
			})
		}
	}
	remove(f.templates, next, f.server.RemoveResourceTemplates)
	f.templates = next
}

// remove removes the entries of old that next does not contain.
func remove(old, next map[string]mark, take func(names ...string)) {
	gone := maps.Clone(old)
	maps.DeleteFunc(gone, func(name string, _ mark) bool { _, ok := next[name]; return ok })
	if len(gone) > 0 {
		take(slices.Sorted(maps.Keys(gone))...)
	}
}

// addTool lists a tool. The SDK panics at a definition that it cannot serve, and a
// server's can be anything.
func (f *face) addTool(t Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	f.server.AddTool(t.Tool, f.surface.serve(f.client, t))
	return nil
}

// getPrompt answers prompts/get with the current prompts.
func (f *face) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	for _, p := range f.surface.offer().prompts {
		if p.Name != req.Params.Name {
			continue
		}
		text, err := p.Text(ctx, callerOf(f.client, req.Extra, req.Session), req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return promptResult(gate.NewText(p.Description), text), nil
	}
	return nil, fmt.Errorf("prompt %q is gone", gate.Cut(req.Params.Name, 60))
}

// listResources adds the resources of the features to what the SDK lists.
func (f *face) listResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, err // res may be a typed nil pointer
		}
		if list, ok := res.(*mcp.ListResourcesResult); ok && list.NextCursor == "" {
			session, _ := req.GetSession().(*mcp.ServerSession)
			c := callerOf(f.client, req.GetExtra(), session)
			for _, feature := range f.surface.features {
				if r, ok := feature.(ResourceFeature); ok {
					list.Resources = append(list.Resources, r.Resources(c)...)
				}
			}
		}
		return res, nil
	}
}
