package upstream

import (
	"context"
	"sync"
)

// tasks are the goroutines of a pool, which end with it.
type tasks struct {
	ctx    context.Context // done when the pool is closed
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards wg against Add after Wait
	closed bool
	wg     sync.WaitGroup
}

// run runs f in a goroutine that finish waits for, with a context that ends with the
// pool. It reports false, and does nothing, if the pool is closed.
func (t *tasks) run(f func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(func() { f(t.ctx) })
	return true
}

// closing reports whether the pool is being closed, or is closed.
func (t *tasks) closing() bool { return t.ctx.Err() != nil }

// close ends the context of the goroutines. No more are started.
func (t *tasks) close() {
	t.cancel(ErrClosed)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
