package link

import (
	"sync"
	"time"
)

// A callClock is the time that a server has for a call. A question stops it,
// and after the answer the server has its whole time again.
type callClock struct {
	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	pauses int
	over   bool
}

func newCallClock(limit time.Duration, expire func()) *callClock {
	return &callClock{limit: limit, timer: time.AfterFunc(limit, expire)}
}

func (c *callClock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	c.timer.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pauses--; c.pauses == 0 && !c.over {
			c.timer.Reset(c.limit)
		}
	}
}

func (c *callClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}
