package surface

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyTime is how long the body of a request may take, and bodyRate the bytes that
	// are expected each second beyond that of one with a length.
	bodyTime = time.Minute
	bodyRate = 128 << 10
)

// timely is next for requests whose bodies come in time. The deadline is for the body
// alone: an answer may be a stream that lasts.
func timely(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		limit := limit + time.Duration(max(r.ContentLength, 0)/bodyRate)*time.Second
		c := http.NewResponseController(w)
		// An answer that is not of a connection, such as one in a test, has no deadline.
		if c.SetReadDeadline(time.Now().Add(limit)) == nil {
			r.Body = &timelyBody{r.Body, c}
		}
		next.ServeHTTP(w, r)
	})
}

// A timelyBody ends its deadline when it was read to its end.
type timelyBody struct {
	io.ReadCloser
	c *http.ResponseController
}

func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.c.SetReadDeadline(time.Time{}) // it was set before
	}
	return n, err
}
