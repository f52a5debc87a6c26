package surface

import (
	"fmt"
	"io"
	"net/http"
)

// Clients of protocols without sessions hear news on streams that stay open as long as
// they like. A stream keeps memory as a session does, so it takes the place of one.

// methodHeader names the method of a request; the SDK refuses one that has another.
const methodHeader = "Mcp-Method"

// boundStreams is next, with as many open streams as there may be sessions.
func (h *httpSessions) boundStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Header.Get(methodHeader) != "subscriptions/listen" {
			next.ServeHTTP(w, r)
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxKeptBytes))
			if err != nil {
				http.Error(w, fmt.Sprintf("subscriptions/listen has at most %d bytes", maxKeptBytes), http.StatusRequestEntityTooLarge)
				return
			}
			setBody(r, body)
		}
		s := h.enter(w, r)
		if s == nil {
			return
		}
		defer h.done(s)
		next.ServeHTTP(w, r)
	})
}
