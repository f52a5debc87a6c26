package upstream

import (
	"context"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// A prober checks whether a session still exists, once for all calls that ask at the
// same time.
type prober struct {
	mu   sync.Mutex
	last *probe // nil if there was no check
}

// A probe is one check whether a session exists.
type probe struct {
	n    int           // number of the session's probe, from 1
	done chan struct{} // closed at the end
	err  error         // of tools/list, valid when done is closed
}

// probe requests the first page of tools with ask, in a goroutine of t, and returns the
// error. Concurrent refused calls share a probe: each uses one that began after its own
// refusal, or one that was refused.
func (r *prober) probe(ctx context.Context, t *tasks, ask func(context.Context) error) error {
	r.mu.Lock()
	before := 0
	if r.last != nil {
		before = r.last.n
	}
	for {
		p := r.last
		if p == nil || p.n <= before && closed(p.done) {
			p = &probe{n: before + 1, done: make(chan struct{})}
			if !t.run(func(ctx context.Context) { defer close(p.done); p.err = ask(ctx) }) {
				r.mu.Unlock()
				return ErrClosed
			}
			r.last = p
		}
		r.mu.Unlock()
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if _, refused := link.DenialIn(p.err); refused || p.n > before {
			return p.err
		}
		r.mu.Lock()
	}
}
