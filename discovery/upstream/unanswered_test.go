package upstream

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A call that was given up after it was sent says so; one that was never sent does not.
func TestCallsGivenUpAfterTheyWereSent(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Hangs))
	for _, c := range []struct {
		name string
		end  func(cancel context.CancelFunc)
		want error
	}{
		{"the caller ends", func(cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"the pool is closed", func(context.CancelFunc) { _ = p.Close() }, ErrClosed},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan struct{})
		go func() { <-sent; c.end(cancel) }()
		_, err := p.Call(ctx, "s", "hang", nil, &CallOptions{Sent: func() { close(sent) }})
		cancel()
		if conn, ok := errors.AsType[*ConnectError](err); ok && conn.Sent && c.want == ErrClosed {
			continue // its process was faster
		}
		if _, ok := errors.AsType[*UnansweredError](err); !ok || !errors.Is(err, c.want) {
			t.Errorf("%s: %T %v", c.name, err, err)
		}
	}
	_, err := p.Call(t.Context(), "s", "hang", nil, nil)
	if _, ok := errors.AsType[*UnansweredError](err); ok || err == nil {
		t.Errorf("a call that was not sent: %v", err)
	}
}

// An unanswered question hides why the call failed, but not that its outcome is
// unknown.
func TestUnansweredQuestionAndNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		lost bool
	}{
		{"an error of the server", &jsonrpc.Error{Code: -32603, Message: "no"}, false},
		{"the end of the connection", io.ErrUnexpectedEOF, true},
		{"a result that is none", errors.New("the server answered without a result"), true},
		{"the question itself", &InputError{}, false},
	} {
		call := &liveCall{ctx: t.Context(), server: "s", tool: "x"}
		call.refused = &InputError{Asked: "a form", Retry: true}
		_, err := call.outcome(nil, c.err)
		e, ok := errors.AsType[*InputError](err)
		if !ok || e.Lost != c.lost || e.Retry == c.lost || call.refused.Lost {
			t.Errorf("%s: %#v", c.name, err)
		}
	}
}
