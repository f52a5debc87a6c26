package broker

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Mode says what clients are shown.
type Mode string

const (
	// ModeCode shows list_servers, search_tools and execute_code.
	ModeCode Mode = "code"
	// ModeTools is for clients that write no code: list_servers, search_tools
	// and call_tool.
	ModeTools Mode = "tools"
	// ModeAuto is ModeCode, and lists the upstream tools themselves beside
	// while they are few.
	ModeAuto Mode = "auto"
)

// directTools are the upstream tools that are listed themselves: in ModeAuto
// all of them while they are few enough, else none.
func (b *Broker) directTools() []*mcp.Tool {
	o := b.options()
	if o.Mode != ModeAuto {
		return nil
	}
	scope := b.Catalog()
	if len(scope.Tools()) > o.AutoThreshold {
		return nil
	}
	var tools []*mcp.Tool
	for _, t := range scope.Tools() {
		if listable.MatchString(t.ID) && len(t.InputSchema) <= maxListedSchema {
			tools = append(tools, directTool(t))
		}
	}
	slices.SortFunc(tools, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// listable are the names that every model's API takes. A tool with another one
// would make some refuse the whole list; scripts can call it all the same.
var listable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

const (
	// maxListedChars is how much of a description clients read.
	maxListedChars = 2000
	// maxListedTitle is how much of a title they show.
	maxListedTitle = 200
	// maxListedSchema is the longest schema, in bytes, that every turn is made to
	// pay for. A tool with a longer one can be searched and called all the same.
	maxListedSchema = 16 << 10
)

// directTool is an upstream tool as the broker lists it. The output schema is
// left out: it would bind the broker to send every result twice.
func directTool(t *discovery.Tool) *mcp.Tool {
	listed := &mcp.Tool{
		Name: t.ID, Title: gate.Cut(t.Title, maxListedTitle), Description: gate.Cut(t.Description, maxListedChars),
		InputSchema: gate.Spell(objectSchema(t.InputSchema)),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.ReadOnly(), DestructiveHint: t.Annotations.Destructive, OpenWorldHint: t.Annotations.OpenWorld,
			IdempotentHint: t.Annotations.Idempotent != nil && *t.Annotations.Idempotent,
		},
	}
	return listed
}

// objectSchema is schema, or where that is none of an object, one that takes
// whatever there is.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(schema, &o) != nil || o == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if string(o["type"]) == `"object"` {
		return schema
	}
	o["type"] = json.RawMessage(`"object"`)
	return compactJSON(o)
}
