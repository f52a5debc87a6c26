package link

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// No message of a server may end the process or another session. The SDK decodes
// results in the goroutine of the call, and handles requests of the server in its own
// goroutines. A panic in either becomes an internal error of that message. Package
// transport checks what the SDK decodes before a middleware sees it.

// panics turns panics of the goroutines that handle the messages of one server into
// errors.
type panics struct {
	log   *slog.Logger // may be nil
	hide  *hide.Hider
	first sync.Once // logs the stack of the first panic
}

// recovered turns a panic into the error of handling a message of the server. It must
// be deferred.
func (s *panics) recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = s.error(what, p)
	}
}

// error logs a panic, with its stack if it is the first of a session, and returns
// the error for it.
func (s *panics) error(what string, p any) error {
	p = s.hide.In(fmt.Sprint(p))
	stack := ""
	s.first.Do(func() { stack = string(debug.Stack()) })
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

// guarded is the outermost middleware, for both directions.
func (s *panics) guarded(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, s.error(method, p)
			}
		}()
		res, err = next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		return res, nil
	}
}
