package surface

import (
	"context"
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Caller is the client of a request.
type Caller struct {
	// Client is the name of the server that the client is connected to, for the
	// audit log.
	Client string
	// ClientInfo is what it called itself; it may be empty.
	ClientInfo string
	// Owner owns the results and values of a request: the name of its token, or "" for
	// the user of the state directory.
	Owner string
	// Team is the team whose quota counts, from the token, or empty.
	Team string
	// Session is which of the client's conversations it is, where the protocol
	// tells them apart.
	Session string
}

// A Call is one call of a tool by a client.
type Call struct {
	Caller
	Arguments json.RawMessage
	// Execution is the ID for the execution that this call may begin; if it is empty, the
	// execution gets a new ID.
	Execution string
	// Talker answers the questions that servers ask during the call.
	Talker upstream.Talker
	// Progress reports progress; nil if the client did not ask for it. It does not
	// block. calls is the number of calls so far.
	Progress func(calls int, message string)

	news func(about, text string) bool
}

// News reports whether the conversation of the call was not sent text about a subject
// before, and records that it is sent now. A call outside of a conversation has no
// memory: everything is new to it.
func (c *Call) News(about, text string) bool { return c.news == nil || c.news(about, text) }

// A Handler answers the calls of a tool. It may take its time, and may ask the
// client something before it is done. An error is a mistake of the caller, in
// words for a model.
type Handler func(ctx context.Context, c *Call) (*mcp.CallToolResult, error)

// A Mode selects the tools that clients are shown.
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

// A Tool is one tool of the surface, as a feature has it at the moment.
type Tool struct {
	*mcp.Tool
	Handler Handler
	// Modes are those in which it is listed; none means all.
	Modes []Mode
	// Advice is the sentence about it in the instructions.
	Advice string
}

// A Prompt is something that a user may pick.
type Prompt struct {
	*mcp.Prompt
	Text func(ctx context.Context, c Caller, arguments map[string]string) (gate.Text, error)
}

// A Template is a kind of resources that can be read.
type Template struct {
	*mcp.ResourceTemplate
	Read func(ctx context.Context, c Caller, uri string) (*mcp.ReadResourceResult, error)
	// Version is any comparable value; clients are notified when it changes.
	Version any
}

// A Feature is a part of the broker that clients see something of. Its methods
// are called whenever that may have changed, and by several at the same time. It
// may also be a PromptFeature, a ResourceFeature or an Extension.
type Feature interface {
	Tools() []Tool
}

// A PromptFeature has prompts.
type PromptFeature interface {
	Prompts() []Prompt
}

// A ResourceFeature has resources.
type ResourceFeature interface {
	Templates() []Template
	// Resources are those that are listed for a caller.
	Resources(c Caller) []*mcp.Resource
}

// An Extension adds methods to each server.
type Extension interface {
	Extend(s *mcp.Server) error
}

// Define is the definition of a tool of the broker's own.
func Define(name, description, schema string, a *mcp.ToolAnnotations) *mcp.Tool {
	return &mcp.Tool{
		Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: a,
		// Clients that defer tools until they are searched for would hide
		// the very tool that searches.
		Meta: mcp.Meta{"anthropic/alwaysLoad": true},
	}
}

// Reads are the annotations of a tool that changes nothing and leads nowhere else.
func Reads() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
}

const (
	// MaxDescription is how many characters of a description clients read.
	MaxDescription = 2000
	// MaxTitle is how many of a title they show.
	MaxTitle = 200
)

// Implementation is what the broker calls itself.
func Implementation(version string) *mcp.Implementation {
	if version == "" {
		version = "dev"
	}
	return &mcp.Implementation{Name: "broker", Title: "MCP broker", Version: version}
}
