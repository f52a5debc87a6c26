package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// What leaves for a client passes this file, whatever it is and wherever it
// comes from: answers, errors, questions and notifications. What makes texts for
// a model has to hand over a gate.Text; nothing else makes blocks of text. All
// that is sent is cleaned once more as a whole, so that no field is forgotten, and
// what Options.Hide replaces is replaced here and nowhere else.

const (
	// maxErrorChars is how much of an error or a question a client is sent.
	maxErrorChars = 4_000
	// maxMessageBytes bounds the total of all texts of a message. It is a safeguard:
	// every text is cut earlier.
	maxMessageBytes = 32 << 20
)

// gated makes everything that s sends pass the gate. It has to be the last that
// is done to s, so that it is asked after all other middleware.
func (s *Surface) gated(server *mcp.Server) *mcp.Server {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			owner := ""
			if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
				owner = extra.TokenInfo.UserID
			}
			ctx = context.WithValue(ctx, ownerKey{}, owner)
			var res mcp.Result
			err := bound(req)
			if err == nil {
				res, err = s.guarded(ctx, next, method, req)
			}
			if method == "initialize" && err == nil {
				recordSession(ctx, req)
			}
			if err != nil {
				return nil, outgoingError(err, s.hiding(ctx))
			}
			return outgoing(method, res, s.hiding(ctx))
		}
	})
	server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			params, err := outgoing(method, req.GetParams(), s.hiding(ctx))
			if err != nil {
				return nil, err
			}
			session, ok := req.GetSession().(*mcp.ServerSession)
			if !ok {
				return nil, fmt.Errorf("%s has no session of a server", method)
			}
			return next(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: session, Params: params})
		}
	})
	return server
}

// ownerKey is the context key of the owner of a request.
type ownerKey struct{}

// nobody is the owner if it is unknown: no caller has this name, so hidden data stays
// hidden.
const nobody = "\x00"

// hiding is what replaces what may not leave for the owner of ctx; nil replaces
// nothing.
func (s *Surface) hiding(ctx context.Context) func(string) string {
	hide := s.opts.Load().Hide
	if hide == nil {
		return nil
	}
	owner, ok := ctx.Value(ownerKey{}).(string)
	if !ok {
		owner = nobody
	}
	return func(text string) string { return hide(owner, text) }
}

// outgoing returns a result or the parameters of a message in the form in which they
// are sent.
func outgoing[T any](method string, v T, hide func(string) string) (T, error) {
	var none T
	clean, bytes, err := gate.Message(v, hide)
	switch {
	case err != nil:
		return none, fmt.Errorf("%s: %w", method, err)
	case bytes > maxMessageBytes:
		return none, fmt.Errorf("%s: the answer has %d bytes of text, of at most %d", method, bytes, maxMessageBytes)
	case clean == nil:
		return none, nil
	}
	return clean.(T), nil
}

// outgoingError returns an error of a request in the form in which it is sent.
func outgoingError(err error, hide func(string) string) error {
	if hide == nil {
		hide = func(s string) string { return s }
	}
	text := gate.Cut(hide(gate.Clean(err.Error())), maxErrorChars)
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case !ok && text == err.Error():
		return err
	case !ok:
		return errors.New(text)
	}
	out := &jsonrpc.Error{Code: wire.Code, Message: text}
	// The SDK's own data is not JSON when it names an odd address, and would end the
	// connection.
	if len(wire.Data) <= maxErrorChars && json.Valid(wire.Data) {
		out.Data = json.RawMessage(hide(string(gate.JSON(wire.Data))))
	}
	return out
}
