package tables

import (
	"context"
	"time"
)

// retryable reports whether an operation that failed with err can be tried once more. If
// the connection is lost, it starts the search for another one; r.mu must be held.
func (r *Runs) retryable(err error) bool {
	again, lost := r.d.Again(err)
	if lost {
		if r.conn != nil {
			_ = r.release() // it is broken
		}
		if r.back == nil && !r.closed {
			r.back, r.lost = make(chan struct{}), time.Now()
			r.seeking.Go(r.seek)
		}
	}
	return again && !lost
}

// seek opens another connection, and writes what waits.
func (r *Runs) seek() {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), commitTime)
		conn, err := r.o.Open(ctx, true)
		cancel()
		r.mu.Lock()
		if r.closed {
			if err == nil {
				_ = conn.Close() // it was never used
			}
			r.mu.Unlock()
			return
		}
		if err == nil {
			r.conn = NewConn(conn, r.d)
			close(r.back)
			r.back = nil
			r.write()
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		select {
		case <-r.quit:
		case <-time.After(wait):
		}
	}
}

// patiently runs f. If the connection was lost, it runs f again when the connection is
// back, for at most Patience. r.mu is held while f runs; waiting for it ends when ctx
// is done.
func (r *Runs) patiently(ctx context.Context, f func() error) error {
	if err := r.mu.LockContext(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	for {
		err := f()
		back, left := r.back, time.Until(r.lost.Add(r.d.Patience))
		if err == nil || back == nil || left <= 0 {
			return err
		}
		r.mu.Unlock()
		select {
		case <-back:
		case <-r.quit:
		case <-time.After(left):
		case <-ctx.Done():
			r.mu.Lock()
			return context.Cause(ctx)
		}
		r.mu.Lock()
	}
}
