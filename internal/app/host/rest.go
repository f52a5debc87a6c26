package host

import (
	"io"
	"net/http"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/memory"
)

// BridgeRestTime is how long nothing is written before a bridge is at rest, and BrokerRestTime
// the same of a broker. A broker's first answers come while it still lists servers, which is
// when it needs most memory.
const (
	BridgeRestTime = time.Second
	BrokerRestTime = 15 * time.Second
)

// A rest gives memory back when nothing was written for a while: what lines, listings and results
// took, and what packages made at the start.
type rest struct {
	timer *time.Timer
	after time.Duration
}

func newRest(after time.Duration) *rest {
	return &rest{time.AfterFunc(after, memory.Release), after}
}

// stop ends the rest before the process ends.
func (r *rest) stop() { r.timer.Stop() }

// writer returns a writer to out whose writes postpone the rest.
func (r *rest) writer(out io.Writer) io.Writer { return restWriter{out, r} }

// handler returns a handler whose requests postpone the rest when they end.
func (r *rest) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer r.timer.Reset(r.after)
		h.ServeHTTP(w, req)
	})
}

type restWriter struct {
	out io.Writer
	*rest
}

// Write implements io.Writer.
func (w restWriter) Write(p []byte) (int, error) {
	w.timer.Reset(w.after)
	return w.out.Write(p)
}
