package broker

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Reconfigure puts the servers, time limits, output budget, default language,
// read-only mode and sandbox limits of o in force. Servers that are configured
// as before go on undisturbed; executions under way keep what they began with.
// The other options cannot be changed and are ignored.
func (b *Broker) Reconfigure(o Options) {
	next := *b.options()
	next.Servers, next.ReadOnly, next.Language = o.Servers, o.ReadOnly, o.Language
	next.Unlearned, next.UnnotedReads = o.Unlearned, o.UnnotedReads
	next.Timeout, next.MaxTimeout, next.MaxOutputChars, next.Limits = o.Timeout, o.MaxTimeout, o.MaxOutputChars, o.Limits
	next.setDefaults()
	b.opts.Store(&next)
	b.pool.Update(next.Servers)
	b.SetNotice("")
	b.changed()
	b.describeAgain()
}

// SetNotice makes text a note in the answers of list_servers, such as that the
// config file is wrong; empty takes it back.
func (b *Broker) SetNotice(text string) { b.notice.Store(&text) }

// A face is one MCP server that Server returned, with the descriptions that
// its clients have seen.
type face struct {
	server   *mcp.Server
	handlers map[string]mcp.ToolHandler
	tools    []*mcp.Tool
}

// describeAgain gives every client the tools whose description or schema has
// changed, which tells it that the list changed. The others stay as they are.
func (b *Broker) describeAgain() {
	b.facesMu.Lock()
	defer b.facesMu.Unlock()
	tools := b.tools()
	for _, f := range b.faces {
		for _, t := range tools {
			if !slices.ContainsFunc(f.tools, func(old *mcp.Tool) bool { return sameTool(old, t) }) {
				f.server.AddTool(t, f.handlers[t.Name])
			}
		}
		f.tools = tools
	}
}

func sameTool(a, b *mcp.Tool) bool { return string(compactJSON(a)) == string(compactJSON(b)) }
