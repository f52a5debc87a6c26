package upstream

import (
	"context"
	"errors"
	"testing"

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
