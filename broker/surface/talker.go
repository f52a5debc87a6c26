package surface

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
)

// Promises returns the capabilities that are announced to servers: forms, pages and
// messages for a model. Each question then finds out whether the current client
// supports it. Roots are answered but not announced: servers read them at the start,
// and would use one client's folders for all.
//
// Every connection announces the same capabilities, even if it only lists tools: some
// servers list tools that depend on them, and the stored list must not depend on the
// command that fetched it last.
func Promises() questions.Capabilities {
	return questions.Capabilities{Form: true, URL: true, Sampling: true, SamplingTools: true}
}

// A sessionTalker asks a client of the protocols before 2026-07-28 over its
// session. Two of one session are equal, so that they count as one caller.
type sessionTalker struct {
	session *mcp.ServerSession
	can     questions.Capabilities
	limit   time.Duration
}

// Capabilities implements upstream.Talker.
func (t sessionTalker) Capabilities() questions.Capabilities { return t.can }

// Answer implements upstream.Talker. ctx belongs to the client's request; over HTTP,
// the question is sent on its stream.
func (t sessionTalker) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, errUnanswered)
	defer cancel()
	answer, err := t.ask(ctx, q)
	if err != nil && context.Cause(ctx) == errUnanswered {
		return nil, fmt.Errorf("nobody answered for %g s", t.limit.Seconds())
	}
	if err != nil {
		return nil, fmt.Errorf("the client did not answer: %w", err)
	}
	return answer, nil
}

var errUnanswered = errors.New("no answer in time")

func (t sessionTalker) ask(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		return t.session.Elicit(ctx, q)
	case *mcp.CreateMessageWithToolsParams:
		return t.session.CreateMessageWithTools(ctx, q)
	case *mcp.ListRootsParams:
		return t.session.ListRoots(ctx, q)
	}
	return nil, fmt.Errorf("%T cannot be asked", q)
}

// PageDone implements upstream.Talker.
func (t sessionTalker) PageDone(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// A client that does not hear of it finds out by trying.
	_ = t.session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
}
