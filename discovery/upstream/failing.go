package upstream

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// recoverLocked forgets earlier failures; s.mu must be held.
func (s *server) recoverLocked() {
	s.failures, s.retryAt, s.next, s.unfinished = 0, time.Time{}, time.Time{}, false
	s.rememberLater()
}

// failLocked records that the server could not be connected or listed, and when it may
// be tried again; s.mu must be held.
func (s *server) failLocked(err error) {
	state, hint, handled, err := failure(err)
	s.failures++
	s.failedAt, s.failedEra, s.unfinished = time.Now(), s.dial.Era, false
	s.retryAt, s.next = s.failedAt.Add(backoff(s.failures)), s.failedAt
	if handled {
		s.retryAt = time.Time{}
	}
	if !isCheap(err) {
		s.next = s.failedAt.Add(rest(s.failures))
	}
	s.setState(state, err, hint)
	s.log.Warn("cannot connect", "err", err)
	if !s.retired && !s.pool.closing() {
		s.rememberLater()
	}
	s.retryLaterLocked(state)
}

// retryLaterLocked schedules another attempt for servers that no call would start:
// those that were never listed, and those that are kept alive. A process that does not
// start is tried three times, a remote server, which may become reachable, without
// limit.
func (s *server) retryLaterLocked(state State) {
	if state == StateNeedsSignIn || isForbidden(s.err) || (s.known && !s.cfg.KeepAlive) || !s.pool.started.Load() || !s.known && !s.pool.lists() {
		return
	}
	if s.cfg.Command != "" && s.failures >= 3 {
		return
	}
	s.retryAtLocked(s.retryAt)
}

// retryAtLocked connects the server at the given time; s.mu must be held.
func (s *server) retryAtLocked(at time.Time) {
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	s.retryTimer = time.AfterFunc(time.Until(at), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sess == nil && !s.retired {
			_, _ = s.joinLocked(true) // the attempt records its outcome
		}
	})
}

func isForbidden(err error) bool {
	e, ok := errors.AsType[*link.StatusError](err)
	return ok && e.Status == 403
}

// backoff returns the time to wait after the given number of failures. It doubles, with
// jitter, so that many servers do not reconnect at once.
func backoff(failures int) time.Duration {
	d := min(firstBackoff<<min(failures-1, 10), maxBackoff)
	return d/2 + rand.N(d)/2
}
