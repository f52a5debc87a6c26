package surface

import (
	"context"
	"errors"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startCall starts do for a client. It is false when the broker is being
// closed.
func (s *Surface) startCall(ctx context.Context, client string, can questions.Capabilities, messages chan string, do func(context.Context, upstream.Talker) *mcp.CallToolResult) (*suspendedCall, bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &suspendedCall{
		surface: s, client: client, can: can, messages: messages, cancel: cancel,
		done: make(chan *mcp.CallToolResult, 1), asked: make(chan struct{}, 1), questions: make(map[string]*question),
	}
	s.suspended.mu.Lock()
	defer s.suspended.mu.Unlock()
	if s.suspended.closed {
		cancel(nil)
		return nil, false
	}
	if s.suspended.running == nil {
		s.suspended.running = make(map[*suspendedCall]bool)
		s.suspended.byState = make(map[string]*suspendedCall)
	}
	s.suspended.running[c] = true
	s.suspended.wg.Go(func() {
		defer cancel(nil)
		c.done <- do(ctx, c)
		s.suspended.mu.Lock()
		defer s.suspended.mu.Unlock()
		delete(s.suspended.running, c)
	})
	return c, true
}

// resume finds the execution that a client comes back to, and gives it the
// answers.
func (s *Surface) resume(client, state string, answers mcp.InputResponseMap) (*suspendedCall, error) {
	s.suspended.mu.Lock()
	c := s.suspended.byState[state]
	if c == nil || c.client != client {
		s.suspended.mu.Unlock()
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "no script waits with this requestState: it was used, the answer came too late, or the broker was restarted; run the script again"}
	}
	s.suspended.forget(state)
	s.suspended.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, q := range c.questions {
		if !q.sent {
			continue
		}
		if response, ok := answers[id]; ok && response != nil {
			c.replyLocked(id, reply{response: response})
			continue
		}
		c.replyLocked(id, reply{err: errors.New("the client came back without an answer")})
	}
	return c, nil
}
