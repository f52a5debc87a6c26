package host

import (
	"context"
	"sync"
	"time"
)

// A Clock measures the time that a run may take. It can be paused, by several
// at one time. Its methods are safe for concurrent use.
type Clock struct {
	tell func(paused bool)

	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration // when the clock was last started
	started time.Time
	pauses  int
	stopped bool
}

// NewClock returns a running clock that calls expire, from a goroutine of its
// own, when limit is over. tell, which may be nil, hears of every change, in
// order; while it works the clock runs, so that a peer that does not listen
// gains nothing.
func NewClock(limit time.Duration, expire func(), tell func(paused bool)) *Clock {
	if tell == nil {
		tell = func(bool) {}
	}
	return &Clock{tell: tell, left: limit, started: time.Now(), timer: time.AfterFunc(limit, expire)}
}

// Pause stops the clock until resume, which counts once, has been called. It is
// the function that sandbox.WithPause takes.
func (c *Clock) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	if c.pauses == 1 && !c.stopped {
		c.tell(true)
		c.timer.Stop()
		c.left -= time.Since(c.started)
	}
	return sync.OnceFunc(c.resume)
}

func (c *Clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses--
	if c.pauses == 0 && !c.stopped {
		c.started = time.Now()
		c.timer.Reset(max(c.left, 0))
		c.tell(false)
	}
}

// Stop ends the clock for good.
func (c *Clock) Stop() {
	c.timer.Stop() // first: it bounds what holds the lock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
}

// WithLimit returns a context for a program that is ended by a Clock: its
// deadline tells the limit, for messages, but does not end it.
func WithLimit(ctx context.Context, start time.Time, limit time.Duration) context.Context {
	deadline := start.Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		return ctx
	}
	return limitContext{ctx, deadline}
}

type limitContext struct {
	context.Context
	deadline time.Time
}

func (c limitContext) Deadline() (time.Time, bool) { return c.deadline, true }
