package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	// Other pools leave a failed server alone for firstRest, twice as long after each
	// further failure, and at most for cache.MaxRest. A call that names it waits for at most
	// maxBackoff.
	firstRest = time.Minute

	// failedGrace bounds the wait for a server that has failed before when it is tried
	// again.
	failedGrace = time.Second

	// minUnfinished is the time for which a server must have been starting for the end
	// of its pool to count as a failure.
	minUnfinished = 3 * time.Second

	maxFailureText = 4000 // in characters
)

// A RememberedError is the error of a server that another pool could not connect.
type RememberedError struct {
	Text string
	// Unfinished is set if that pool ended before the outcome was known.
	Unfinished bool
}

// Error returns the text of that error.
func (e *RememberedError) Error() string { return e.Text }

// rest returns the time for which other pools leave a server alone after the given
// number of failures.
func rest(failures int) time.Duration {
	return min(firstRest<<min(max(failures-1, 0), 10), cache.MaxRest)
}

// isCheap reports whether another attempt costs almost nothing: no process was started,
// or an OAuth handler decides when to ask.
func isCheap(err error) bool {
	if e, ok := errors.AsType[*link.Error](err); ok && e.Handled {
		return true
	}
	_, reference := errors.AsType[*ReferenceError](err)
	return reference || errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// recallLocked sets s to failed if another pool has stored a failure; s.mu must be held
// unless s is not shared yet.
func (s *server) recallLocked() {
	now := time.Now()
	r, ok := s.pool.cache.Failure(s.key, now)
	if !ok || s.parent != nil {
		return
	}
	if s.dial.Era == link.EraUnknown {
		s.dial.Era = r.Era
	}
	s.failures, s.next = r.Count, r.Next
	s.unfinished = r.Unfinished
	if s.retryAt = r.Next; r.Next.After(now.Add(maxBackoff)) {
		s.retryAt = now.Add(maxBackoff)
	}
	if r.Unfinished {
		s.retryAt, r.State = time.Time{}, string(s.state)
	}
	s.state, s.err, s.hint, s.since = State(r.State), &RememberedError{r.Err, r.Unfinished}, r.Hint, r.At
	s.failedAt, s.failedEra, s.stored = r.At, r.Era, true
}

// forgetUnfinishedLocked drops the failure of a server that another pool did not wait
// for; s.mu must be held.
func (s *server) forgetUnfinishedLocked() {
	if s.unfinished {
		s.failures, s.retryAt, s.next, s.unfinished, s.err, s.hint = 0, time.Time{}, time.Time{}, false, nil, ""
	}
}

// rememberLater stores the failure of s, or its absence, for other pools. s.mu may be
// held.
func (s *server) rememberLater() {
	if s.parent == nil && s.pool.cache != "" && !s.cfg.Credentials.OfPeople() {
		s.pool.run(func(context.Context) { s.remember() })
	}
}

// remember stores the failure of s, or its absence.
func (s *server) remember() {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	s.mu.Lock()
	r := s.failureLocked()
	s.mu.Unlock()
	err := s.pool.cache.KeepFailure(s.key, r)
	if err != nil {
		s.log.Warn("cannot store a failure", "err", err) // the only effect is that the next command waits longer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = r != nil && err == nil
}

// failureLocked returns the failure of s to store, or nil; s.mu must be held.
func (s *server) failureLocked() *cache.Failure {
	if s.failures == 0 || s.err == nil || errors.Is(s.err, ErrClosed) || s.err == errNoFolder {
		return nil
	}
	state := s.state
	if state != StateNeedsSignIn { // unfinished, or being tried again
		state = StateFailed
	}
	return &cache.Failure{State: string(state), Err: gate.Cut(s.err.Error(), maxFailureText), Hint: gate.Cut(s.hint, maxFailureText),
		At: s.failedAt.UTC(), Count: s.failures, Next: s.next.UTC(), Era: s.failedEra, Unfinished: s.unfinished}
}

// giveUpLocked counts an attempt that the end of the pool has interrupted as a failure,
// so that the next command does not wait as long for it; s.mu must be held. It reports
// whether there is something to store.
func (s *server) giveUpLocked() bool {
	took := time.Since(s.since)
	switch {
	case s.parent != nil || s.pool.cache == "" || s.cfg.Credentials.OfPeople():
		return false
	case s.failures > 0:
		s.failures++
		s.next = time.Now().Add(rest(s.failures))
	case s.known || took < minUnfinished:
		return false
	default:
		s.failures, s.failedAt, s.unfinished = 1, time.Now(), true
		s.err = &RememberedError{fmt.Sprintf("it was still starting after %s, when a command ended", words.Seconds(took.Round(time.Second))), true}
		s.hint = ""
		s.next = s.failedAt.Add(firstRest)
	}
	return true
}
