package surface

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyTime bounds the time in which the body of a request must arrive. A body with
	// a length gets one more second for each bodyRate bytes.
	bodyTime = time.Minute
	bodyRate = 128 << 10
)

// withBodyDeadline returns a handler that calls next with a deadline for the request body. The
// deadline does not apply to the response, which may be a long stream.
func withBodyDeadline(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		limit := limit + time.Duration(max(r.ContentLength, 0)/bodyRate)*time.Second
		c := http.NewResponseController(w)
		// A ResponseWriter without a connection, such as one in a test, has no
		// deadline.
		if c.SetReadDeadline(time.Now().Add(limit)) == nil {
			r.Body = &deadlineBody{r.Body, c}
		}
		next.ServeHTTP(w, r)
	})
}

// A deadlineBody removes its deadline at the end of the body.
type deadlineBody struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *deadlineBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.c.SetReadDeadline(time.Time{}) // the deadline was set before
	}
	return n, err
}
