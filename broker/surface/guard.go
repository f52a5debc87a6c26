package surface

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK answers each request in its own goroutine. A panic there would end the
// process and the sessions of all clients. So all work for a request runs below one of
// the functions of this file.

// errInternal answers a request that panicked.
var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: the broker failed at this request, see its log; other requests are not affected"}

// guarded calls next. It returns errInternal if next panics.
func (s *Surface) guarded(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.panics.report(s.log, method, p)
			res, err = nil, errInternal
		}
	}()
	return next(ctx, method, req)
}

// answer returns the result of h for c, also if h fails or panics.
func (s *Surface) answer(ctx context.Context, tool string, h Handler, c *Call) (res *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.panics.report(s.log, tool, p)
			res = Failed(errInternal)
		}
	}()
	res, err := h(ctx, c)
	if err != nil {
		return Failed(err)
	}
	return res
}

// background runs f in a goroutine. f must end by itself.
func (s *Surface) background(what string, f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.panics.report(s.log, what, p)
			}
		}()
		f()
	}()
}

// guardHTTP returns a handler that answers 500 if next panics before it has answered.
func (s *Surface) guardHTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { // net/http aborts a response this way
				panic(p)
			}
			s.panics.report(s.log, r.Method+" "+r.Pattern, p)
			http.Error(w, errInternal.Message, http.StatusInternalServerError) // no effect if the response has begun
		}()
		next.ServeHTTP(w, r)
	})
}
