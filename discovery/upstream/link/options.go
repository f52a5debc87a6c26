package link

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
)

// CallOptions are optional properties of a call.
type CallOptions struct {
	// OnProgress is called with the server's progress messages, one at a time
	// and not after Call has returned. It must not block: it holds up the
	// connection.
	OnProgress func(progress, total float64, message string)
	// OnLog is called with what the server logs, from level "info" on, while
	// only calls of one caller are under way on it. It must not block.
	OnLog func(level, text string)
	// Meta goes with the request as its "_meta", beside what the broker puts there.
	Meta map[string]any
	// Talker answers what the server asks during the call; nil refuses.
	Talker Talker
	// Caller tells callers apart: a server's question that could belong to
	// several calls is only asked if those have the same Caller. It must be
	// comparable. Nil means that no other call has the same one.
	Caller any
	// Owner owns the call: owners share the slots of a server fairly.
	Owner string
	// Sent, if not nil, is called when the request is about to be sent: what came
	// before was waiting for a place, and for the server to start.
	Sent func()
	// Pause stops a clock of the caller's while a question is being answered.
	// Nil is fine.
	Pause func() (resume func())
}

// A Talker answers the questions of a server for the caller of a call. Its methods must
// be safe for concurrent use.
type Talker interface {
	// Capabilities are what the caller can be asked.
	Capabilities() questions.Capabilities
	// Answer asks the caller q, which is a *mcp.ElicitParams, a
	// *mcp.CreateMessageWithToolsParams or a *mcp.ListRootsParams within its
	// capabilities, and returns the corresponding result. It must have its own time
	// limit, and return soon after ctx, which is derived from that of the call, is
	// done. The error says why the caller did not answer; it completes "but …".
	Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error)
	// PageDone passes on that the page of an *mcp.ElicitParams with this
	// ElicitationID has been completed. It must not block for long.
	PageDone(elicitationID string)
}

// An InputError means that a call failed because a question of its server was not
// answered.
type InputError struct {
	Server, Tool string
	// Asked is what was asked for, such as a form and its message.
	Asked string
	// Why is the reason there was no answer.
	Why string
	// Hint is what may help; it may be empty.
	Hint string
	// Retry is set when the same call may work later.
	Retry bool
	// Lost is set when the server did not answer the call either: the tool may have
	// run.
	Lost bool
}

// Error names the tool, the question and the reason it was not answered.
func (e *InputError) Error() string {
	return fmt.Sprintf("call %s/%s: the server asked for %s, but %s", e.Server, e.Tool, e.Asked, e.Why)
}
