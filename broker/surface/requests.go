package surface

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpRequests are the HTTP requests in progress. In the protocol with sessions the SDK
// continues a call after its request is gone, so that the client can ask for the answer
// again. This endpoint does not support that: it kills the script of a client that is
// gone.
type httpRequests struct {
	mu   sync.Mutex
	last uint64
	byID map[string]context.Context
}

// track marks requests and forgets them when they end.
func (h *httpRequests) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if h.byID == nil {
			h.byID = make(map[string]context.Context)
		}
		h.last++
		id := strconv.FormatUint(h.last, 36)
		h.byID[id] = r.Context()
		h.mu.Unlock()
		defer func() {
			h.mu.Lock()
			delete(h.byID, id)
			h.mu.Unlock()
		}()
		r.Header.Set(requestHeader, id) // whatever the client put there
		next.ServeHTTP(w, r)
	})
}

// join returns a context that is also done when the HTTP request that req came
// in is. The function it returns must be called.
func (h *httpRequests) join(ctx context.Context, req *mcp.CallToolRequest) (context.Context, func()) {
	if req.Extra == nil || req.Extra.Header.Get(requestHeader) == "" {
		return ctx, func() {}
	}
	h.mu.Lock()
	request := h.byID[req.Extra.Header.Get(requestHeader)]
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if request == nil { // it is gone already
		cancel()
		return ctx, func() {}
	}
	stop := context.AfterFunc(request, cancel)
	return ctx, func() { stop(); cancel() }
}

// requestHeader marks a request for the handler of the call in it.
const requestHeader = "X-Broker-Request"
