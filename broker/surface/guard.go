package surface

import (
	"context"
	"net/http"
	"runtime/debug"
	"sync"

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
			s.panics.report(s, method, p)
			res, err = nil, errInternal
		}
	}()
	return next(ctx, method, req)
}

// answer returns the result of h for c, also if h fails or panics.
func (s *Surface) answer(ctx context.Context, tool string, h Handler, c *Call) (res *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.panics.report(s, tool, p)
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
				s.panics.report(s, what, p)
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
			s.panics.report(s, r.Method+" "+r.Pattern, p)
			http.Error(w, errInternal.Message, http.StatusInternalServerError) // no effect if the response has begun
		}()
		next.ServeHTTP(w, r)
	})
}

// panics records the positions in the code that have panicked.
type panics struct {
	mu   sync.Mutex
	seen map[string]bool
}

// maxPanics bounds the positions that are logged with a stack.
const maxPanics = 100

// report logs a panic, with the stack the first time for its position.
func (p *panics) report(s *Surface, where string, value any) {
	p.mu.Lock()
	first := !p.seen[where] && len(p.seen) < maxPanics
	if first {
		if p.seen == nil {
			p.seen = make(map[string]bool)
		}
		p.seen[where] = true
	}
	p.mu.Unlock()
	if !first {
		s.log.Error("panic", "at", where, "err", value)
		return
	}
	s.log.Error("panic", "at", where, "err", value, "stack", string(debug.Stack()))
}
