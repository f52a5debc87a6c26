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
// more than largeBody bytes, or of unknown length, share largePlaces slots, so that the
// bodies in flight take about 64 MiB of network data at most. The slots are shared
// fairly among clients.
const (
	largeBody   = 64 << 10
	largePlaces = 16
	// largeWait bounds how long a request waits for a slot.
	largeWait = 10 * time.Second
	// decodeTime is how long a request keeps its slot after its body was read, even if
	// the script runs for minutes.
	decodeTime = 2 * time.Second
)

// largeBodies bounds the number of large request bodies that are read and decoded at a
// time. Its zero value is ready to use.
type largeBodies struct {
	once  sync.Once
	slots *fair.Slots
	wait  time.Duration // zero means largeWait; set by tests
}

// limit returns a handler that waits for a slot and calls next.
func (l *largeBodies) limit(next http.Handler) http.Handler {
	l.once.Do(func() { l.slots = fair.New(largePlaces, fair.More(largePlaces), 0) })
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
		err := l.slots.Acquire(ctx, owner)
		cancel()
		if err != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(decodeTime.Seconds())))
			http.Error(w, "too many large requests are being read: send it again later", http.StatusServiceUnavailable)
			return
		}
		leave := sync.OnceFunc(func() { l.slots.Release(owner) })
		defer leave()
		r.Body = &largeRequest{ReadCloser: r.Body, leave: leave}
		next.ServeHTTP(w, r)
	})
}

// A largeRequest frees its slot some time after the end of its body.
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
