package upstream

import (
	"context"
	"time"
)

// othersTime is how long a server that was never listed is left to the broker
// that lists.
const othersTime = 10 * time.Second

// recoverLocked forgets earlier failures; c.mu must be held.
func (c *connection) recoverLocked() {
	c.recovered()
	c.rememberLater()
}

// failLocked records that the server could not be connected or listed, and when it may
// be tried again; c.mu must be held.
func (c *connection) failLocked(err error) {
	err = c.fail(err, c.dial.Era)
	c.host.changed()
	c.log.Warn("cannot connect", "err", err)
	if !c.retired && !c.host.closing() {
		c.rememberLater()
	}
	c.retryLaterLocked(c.state)
}

// failOrGiveUpLocked is failLocked for an attempt that the end of the pool may have
// interrupted; c.mu must be held. It reports whether that is so, and must be stored.
func (c *connection) failOrGiveUpLocked(err error) (unfinished bool) {
	if c.host.closing() && c.remembers() && c.giveUp(c.lister.isKnown()) {
		return true
	}
	c.failLocked(err)
	return false
}

// retryLaterLocked schedules another attempt for servers that no call would start:
// those that were never listed, and those that are kept alive. A process that does not
// start is tried three times, a remote server, which may become reachable, without
// limit.
func (c *connection) retryLaterLocked(state State) {
	known := c.lister.isKnown()
	if state == StateNeedsSignIn || isForbidden(c.err) || (known && !c.cfg.KeepAlive) || !c.host.started.Load() || !known && !c.host.lists() {
		return
	}
	if c.cfg.Command != "" && c.failures >= 3 {
		return
	}
	c.retryAtLocked(c.retryAt)
}

// retryAtLocked connects the server at the given time; c.mu must be held.
func (c *connection) retryAtLocked(at time.Time) {
	c.laterLocked(time.Until(at), true, func() bool { return true })
}

// leaveToOthersLocked leaves a server that was never listed to the broker that lists, for
// a while; c.mu must be held.
func (c *connection) leaveToOthersLocked() {
	c.laterLocked(othersTime, false, func() bool { return !c.lister.isKnown() })
}

// laterLocked connects the server after a while, unless it is connected or not wanted
// then; c.mu must be held.
func (c *connection) laterLocked(after time.Duration, force bool, wanted func() bool) {
	if c.retryTimer != nil {
		c.retryTimer.Stop()
	}
	c.retryTimer = time.AfterFunc(after, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sess == nil && !c.retired && wanted() {
			_, _ = c.joinLocked(force) // the attempt records its outcome
		}
	})
}

// remembers reports whether failures are stored for other pools.
func (c *connection) remembers() bool {
	return c.lister.main && c.host.cache != "" && !c.cfg.Credentials.OfPeople()
}

// rememberLater stores the failure of the server, or its absence, for other pools. c.mu
// may be held.
func (c *connection) rememberLater() {
	if c.remembers() {
		c.host.run(func(context.Context) { c.remember() })
	}
}

// remember stores the failure of the server, or its absence.
func (c *connection) remember() {
	c.remembering.Lock()
	defer c.remembering.Unlock()
	c.mu.Lock()
	f := c.toStore()
	c.mu.Unlock()
	err := c.host.cache.KeepFailure(c.key, f)
	if err != nil {
		c.log.Warn("cannot store a failure", "err", err) // the only effect is that the next command waits longer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = f != nil && err == nil
}
