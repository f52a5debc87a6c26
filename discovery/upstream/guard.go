package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whatever a server sends, it ends neither the process nor another session. The
// SDK decodes results in the goroutine of the call and handles requests of the
// server in goroutines of its own; a panic in either is an internal error of
// that one message. What the SDK decodes before a middleware sees it is decoded
// by transport first.

// recovered makes a panic the error of what was being done with a message of the
// server. It must be deferred.
func (s *session) recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = s.panicked(what, p)
	}
}

// panicked logs a panic, with its stack for the first of a session, and returns
// the error for it.
func (s *session) panicked(what string, p any) error {
	p = s.hide.In(fmt.Sprint(p))
	stack := ""
	s.panics.Do(func() { stack = string(debug.Stack()) })
	log := s.log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if stack != "" {
		log.Error("a message of the server could not be handled", "method", what, "err", p, "stack", stack)
	} else {
		log.Debug("a message of the server could not be handled", "method", what, "err", p)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the message of the server for %s could not be handled", what)}
}

// guarded is the outermost middleware, of both directions.
func (s *session) guarded(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, s.panicked(method, p)
			}
		}()
		res, err = next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		return res, nil
	}
}
