package surface

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// A request body takes about eight times its size while it is decoded. Requests with
// more than largeBody bytes, or of unknown length, share largePlaces places, so that the
// bodies in flight take about 64 MiB of the connection's bytes at most. No client of
// several keeps the others from a place.
const (
	largeBody   = 64 << 10
	largePlaces = 16
	// largeWait is how long a request waits for a place.
	largeWait = 10 * time.Second
	// decodeTime is how long a request has its place after its body was read: a script
	// that runs for minutes does not keep it.
	decodeTime = 2 * time.Second
)

// largeBodies bounds how many large request bodies are read and decoded at a time. Its
// zero value is ready for use.
type largeBodies struct {
	once   sync.Once
	places *fair.Places
	wait   time.Duration // zero means largeWait; set by tests
}

// limit returns a handler that calls next when there is a place for the request.
func (l *largeBodies) limit(next http.Handler) http.Handler {
	l.once.Do(func() { l.places = fair.New(largePlaces, fair.More(largePlaces), 0) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody || r.ContentLength >= 0 && r.ContentLength <= largeBody {
			next.ServeHTTP(w, r)
			return
		}
		wait := l.wait
		if wait == 0 {
			wait = largeWait
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		owner := clientOf(r)
		err := l.places.Enter(ctx, owner)
		cancel()
		if err != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(decodeTime.Seconds())))
			http.Error(w, "too many large requests are being read: send it again later", http.StatusServiceUnavailable)
			return
		}
		leave := sync.OnceFunc(func() { l.places.Leave(owner) })
		defer leave()
		r.Body = &largeRequest{ReadCloser: r.Body, leave: leave}
		next.ServeHTTP(w, r)
	})
}

// A largeRequest gives its place back some time after its body was read to the end.
type largeRequest struct {
	io.ReadCloser
	leave func()
	ended sync.Once
}

func (b *largeRequest) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Do(func() { time.AfterFunc(decodeTime, b.leave) })
	}
	return n, err
}
