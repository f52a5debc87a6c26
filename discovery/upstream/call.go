package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// A call is one call of a tool of a server.
type call struct {
	server *server
	tool   string
	args   json.RawMessage
	o      *CallOptions // may be nil
}

// send sends the call to the instance that it belongs to.
func (c *call) send(ctx context.Context) (json.RawMessage, error) {
	s, leave, err := c.server.instanceFor(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	owner := ""
	if c.o != nil {
		owner = c.o.Owner
	}
	if err := s.slots.Acquire(ctx, owner); err != nil {
		return nil, fmt.Errorf("call %s/%s: %w", s.cfg.Name, c.tool, err)
	}
	defer s.slots.Release(owner)
	for tries := 0; ; tries++ {
		raw, err := c.once(ctx, s)
		if tries == 0 && errors.Is(err, errNotSent) {
			continue // the session had ended without anyone noticing
		}
		if errors.Is(err, errNotSent) {
			err = &ConnectError{Server: s.cfg.Name, State: StateFailed, Err: err}
		}
		return raw, err
	}
}

// once sends the call once, to an instance.
func (c *call) once(ctx context.Context, s *server) (json.RawMessage, error) {
	sess, err := s.acquire(ctx, false)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("call %s/%s: %w", s.cfg.Name, c.tool, context.Cause(ctx))
		}
		return nil, err
	}
	defer s.release(sess)
	s.lister.relist.used(sess)
	if sess.modern() { // arguments that have to be mirrored in headers are known from the list
		select {
		case <-sess.listed:
		case <-ctx.Done():
		}
	}
	limit := s.cfg.CallTimeout
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := link.NewCall(callCtx, s.cfg.Name, c.tool, c.o, limit, func() { cancel(&TimeoutError{Server: s.cfg.Name, Tool: c.tool, After: limit}) })
	defer sent.Stop()
	if s.ctx.Err() != nil {
		cancel(ErrClosed) // the context may not be done yet
	}
	if callCtx.Err() != nil {
		return nil, fmt.Errorf("call %s/%s: %w", s.cfg.Name, c.tool, context.Cause(callCtx))
	}
	sent.Sent()
	raw, err := sess.Send(sent, c.args, c.tool != ReadResource && c.tool != GetPrompt || s.inventory.hasTool(c.tool))
	if err == nil {
		s.worked()
		return sess.Hide.FailedResult(raw), nil
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return nil, input
	}
	if callCtx.Err() != nil {
		cause := context.Cause(callCtx)
		if timeout, ok := errors.AsType[*TimeoutError](cause); ok {
			return nil, timeout
		}
		return nil, &UnansweredError{Server: s.cfg.Name, Tool: c.tool, Err: cause}
	}
	return nil, answer{s, sess, c.tool}.failed(ctx, err)
}
