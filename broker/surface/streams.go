package surface

import (
	"fmt"
	"io"
	"net/http"
)

// Clients of protocols without sessions get notifications on streams that may stay
// open. An open stream uses as much memory as a session, so it counts as one.

// methodHeader names the method of a request; the SDK refuses a request with another
// method.
const methodHeader = "Mcp-Method"

// boundStreams returns next, limited to as many open streams as sessions.
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
		s := h.admit(w, r)
		if s == nil {
			return
		}
		defer h.done(s)
		next.ServeHTTP(w, r)
	})
}
