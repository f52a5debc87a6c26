package broker

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// A face is one MCP server that Server returned, with the tools and
// prompts that its clients have seen.
type face struct {
	server   *mcp.Server
	handlers map[string]mcp.ToolHandler // of the broker's own tools, by name
	direct   func(id string) mcp.ToolHandler
	prompt   mcp.PromptHandler
	shown    map[string]*mcp.Tool
	prompts  map[string]*mcp.Prompt

	skillFile mcp.ResourceHandler // reads files of skills; nil if there never are any
	skills    *skills.Snapshot    // that was shown
	serves    bool                // skills, now
}

func (b *Broker) addFace(f *face) {
	b.facesMu.Lock()
	defer b.facesMu.Unlock()
	b.show(f, b.tools())
	f.showPrompts(b.prompts())
	b.showServed(f)
	b.faces = append(b.faces, f)
}

// showAll gives every client the tools and prompts that are new or described anew, and
// takes those that are gone, which tells it that the list changed. The others
// stay as they are.
func (b *Broker) showAll() {
	b.facesMu.Lock()
	defer b.facesMu.Unlock()
	tools, prompts := b.tools(), b.prompts()
	for _, f := range b.faces {
		b.show(f, tools)
		f.showPrompts(prompts)
		b.showServed(f)
	}
}

// show makes f have these tools; b.facesMu is held.
func (b *Broker) show(f *face, tools []*mcp.Tool) {
	next := make(map[string]*mcp.Tool, len(tools))
	for _, t := range tools {
		if old, ok := f.shown[t.Name]; !ok || !sameTool(old, t) {
			if err := f.add(t); err != nil {
				b.log.Warn("list tool", "tool", t.Name, "err", err)
				continue // it can still be found and called
			}
		}
		next[t.Name] = t
	}
	if gone := missing(f.shown, next); len(gone) > 0 {
		f.server.RemoveTools(gone...)
	}
	f.shown = next
}

// missing are the names that old has and next has not, sorted.
func missing[V any](old, next map[string]V) []string {
	var gone []string
	for name := range old {
		if _, ok := next[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// add lists a tool. The SDK panics at a definition that it cannot serve, which
// is a mistake in the broker's own tools and can be anything in a server's.
func (f *face) add(t *mcp.Tool) (err error) {
	h, own := f.handlers[t.Name]
	if !own {
		h = f.direct(t.Name)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
			}
		}()
	}
	f.server.AddTool(t, h)
	return nil
}

func sameTool(a, b *mcp.Tool) bool { return string(compactJSON(a)) == string(compactJSON(b)) }
