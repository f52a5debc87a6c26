package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// An upcall sends the calls of one execution to their servers.
type upcall struct {
	catalog  *catalog.Catalog
	observer Observer // may be nil
	request  *Request
}

// call sends one call of the script. Questions of its server go to the client of the script, and
// the script's time limit pauses meanwhile.
func (u *upcall) call(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error) {
	o := &upstream.CallOptions{
		Talker: u.request.Talker,
		Caller: u, // an execution is at least one caller of its own
		Owner:  u.request.Sharer(),
		Sent:   func() { bridge.Sent(ctx) },
		Pause:  func() func() { return sandbox.Pause(ctx) },
	}
	if o.Talker != nil {
		o.Caller = o.Talker
	}
	if tell := u.request.Progress; tell != nil {
		o.OnProgress = func(n, total float64, message string) {
			tell(0, progressText(server, tool, n, total, message))
		}
		o.OnLog = func(level, text string) {
			tell(0, fmt.Sprintf("%s [%s]: %s", server, level, gate.Cut(gate.Line(text), maxProgressChars)))
		}
	}
	if u.observer == nil {
		return u.catalog.Call(ctx, server, tool, args, o)
	}
	ctx, meta, end := u.observer.Call(ctx, server, tool)
	o.Meta = meta
	raw, err := u.catalog.Call(ctx, server, tool, args, o)
	kind, unsure := "", false
	if err != nil {
		kind = "cancelled"
		if e := failure(err); e != nil {
			kind, unsure = string(e.Code), e.MayHaveRun
		}
	}
	end(raw, kind, unsure)
	return raw, err
}

// maxProgressChars bounds a server's progress message that is passed on.
const maxProgressChars = 500

// progressText returns a progress message such as "server.tool: 3/7 message".
func progressText(server, tool string, n, total float64, message string) string {
	s := fmt.Sprintf("%s.%s: %g", server, tool, n)
	if total > 0 {
		s += fmt.Sprintf("/%g", total)
	}
	if message != "" {
		s += " " + gate.Cut(gate.Line(message), maxProgressChars)
	}
	return s
}

// failure converts an error of package upstream to the error that the script sees.
func failure(err error) *bridge.Error {
	if input, ok := errors.AsType[*upstream.InputError](err); ok {
		return &bridge.Error{Code: bridge.CodeNeedsInput, Message: input.Error(), Hint: input.Hint, Retryable: input.Retry, MayHaveRun: input.Lost}
	}
	if rpc, ok := errors.AsType[*upstream.RPCError](err); ok {
		e := &bridge.Error{Code: bridge.CodeProtocol, Message: rpc.Error()}
		e.NoteRateLimit(rpc.Data)
		return e
	}
	if status, ok := errors.AsType[*upstream.HTTPError](err); ok {
		e := &bridge.Error{Code: bridge.CodeProtocol, Message: status.Error(), RetryAfterMS: status.RetryAfter.Milliseconds()}
		switch {
		case status.Status == http.StatusTooManyRequests:
			e.RateLimited(status.RetryAfter)
		case status.MayHaveRun():
			e.Code, e.MayHaveRun = bridge.CodeUnavailable, true
		}
		return e
	}
	if reply, ok := errors.AsType[*upstream.ReplyError](err); ok {
		return &bridge.Error{Code: bridge.CodeProtocol, Message: reply.Error(), MayHaveRun: true}
	}
	if conn, ok := errors.AsType[*upstream.ConnectError](err); ok {
		if conn.State == upstream.StateNeedsSignIn { // a script cannot fix that
			return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), Hint: conn.Hint}
		}
		if conn.Sent {
			return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), MayHaveRun: true}
		}
		return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), Retryable: true,
			Hint: bridge.HintServers}
	}
	if _, ok := errors.AsType[*upstream.TimeoutError](err); ok {
		return &bridge.Error{Code: bridge.CodeTimeout, Message: err.Error(), MayHaveRun: true}
	}
	_, sent := errors.AsType[*upstream.UnansweredError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &bridge.Error{Code: bridge.CodeTimeout, Message: err.Error(), MayHaveRun: sent, Retryable: !sent}
	case sent && errors.Is(err, context.Canceled):
		return &bridge.Error{Code: bridge.CodeCancelled, Message: err.Error(), MayHaveRun: true}
	case sent:
		return &bridge.Error{Code: bridge.CodeUnavailable, Message: err.Error(), MayHaveRun: true}
	}
	return nil
}

// Unsure reports whether a failed call may have run all the same, and why it failed.
func Unsure(err error) (message string, ok bool) {
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok || !e.MayHaveRun {
		return "", false
	}
	return e.Message, true
}
