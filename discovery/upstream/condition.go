package upstream

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 2 * time.Minute

	// A server that dies within quickDeath of being connected, or before it was
	// listed, this many times running, is treated as one that cannot be connected.
	quickDeath     = 10 * time.Second
	maxQuickDeaths = 3

	// Other pools leave a failed server alone for firstRest, twice as long after each
	// further failure, and at most for cache.MaxRest. A call that names it waits for at
	// most maxBackoff.
	firstRest = time.Minute

	// minUnfinished is the time for which a server must have been starting for the end
	// of its pool to count as a failure.
	minUnfinished = 3 * time.Second

	maxFailureText = 4000 // in characters
)

// A condition is the state of a server, and its failures in a row. It does no I/O, and
// has no lock.
type condition struct {
	state State
	err   error
	hint  string
	since time.Time
	took  time.Duration
	doing Activity // progress of the attempt

	failures    int // in a row
	quickDeaths int // in a row
	retryAt     time.Time
	failedAt    time.Time // time of err, if failures is not zero
	next        time.Time // when other pools may try again, see cache.Failure
	failedEra   link.Era  // era of the next attempt
	stored      bool      // the failure is stored
	elsewhere   bool      // another pool is starting it, see Observe
	unfinished  bool      // err means that another pool ended too soon
}

// set records a change of state.
func (c *condition) set(state State, err error, hint string) {
	if c.state != state {
		c.since = time.Now()
	}
	c.state, c.err, c.hint = state, err, hint
}

// connectError dresses the error of a server for a caller.
func (c *condition) connectError(server string, retryIn time.Duration) *ConnectError {
	e := &ConnectError{Server: server, State: c.state, Hint: c.hint, Err: c.err, RetryIn: retryIn}
	if e.State != StateNeedsSignIn {
		e.State = StateFailed
	}
	return e
}

// failed returns the error for callers that do not wait for another attempt at a
// failed server. It returns nil if the server has not failed or force is set.
func (c *condition) failed(server string, force bool) *ConnectError {
	if force || c.failures == 0 || c.err == nil {
		return nil
	}
	e := c.connectError(server, 0)
	e.Retrying = true
	return e
}

// recovered forgets earlier failures.
func (c *condition) recovered() {
	c.failures, c.retryAt, c.next, c.unfinished = 0, time.Time{}, time.Time{}, false
}

// fail records that the server could not be connected or listed, and when it may
// be tried again. It returns the cause.
func (c *condition) fail(err error, next link.Era) error {
	state, hint, handled, err := failure(err)
	c.failures++
	c.failedAt, c.failedEra, c.unfinished = time.Now(), next, false
	c.retryAt, c.next = c.failedAt.Add(backoff(c.failures)), c.failedAt
	if handled {
		c.retryAt = time.Time{}
	}
	if !isCheap(err) {
		c.next = c.failedAt.Add(rest(c.failures))
	}
	c.set(state, err, hint)
	return err
}

// died counts the end of a session that lasted for the given time, and reports whether
// there were too many soon after each other.
func (c *condition) died(lasted time.Duration, listed bool) (often bool) {
	if lasted < quickDeath || !listed {
		c.quickDeaths++
	} else {
		c.quickDeaths = 0
	}
	return c.quickDeaths >= maxQuickDeaths
}

// recall takes over the failure that another pool has stored.
func (c *condition) recall(f cache.Failure, now time.Time) {
	c.failures, c.next = f.Count, f.Next
	c.unfinished = f.Unfinished
	if c.retryAt = f.Next; f.Next.After(now.Add(maxBackoff)) {
		c.retryAt = now.Add(maxBackoff)
	}
	if f.Unfinished {
		c.retryAt, f.State = time.Time{}, string(c.state)
	}
	c.state, c.err, c.hint, c.since = State(f.State), &RememberedError{f.Err, f.Unfinished}, f.Hint, f.At
	c.failedAt, c.failedEra, c.stored = f.At, f.Era, true
}

// observe takes over what another pool says of the server.
func (c *condition) observe(e Elsewhere, known bool) {
	c.state, c.since, c.doing, c.took = e.State, e.Since, e.Doing, e.Took
	c.elsewhere = !known && (e.State == StateIdle || e.State == StateStarting)
	if c.elsewhere {
		c.state = StateStarting // the other pool is about to start it
	}
	c.err, c.hint, c.failures = nil, gate.Clean(gate.Cut(e.Hint, maxElsewhereText)), 0
	if e.Error != "" {
		c.err = &RememberedError{Text: gate.Clean(gate.Cut(e.Error, maxElsewhereText))}
		c.failures, c.failedAt, c.next = max(e.Failures, 0), e.FailedAt, e.RetryAt
	}
}

// forgetUnfinished drops the failure of a server that another pool did not wait
// for.
func (c *condition) forgetUnfinished() {
	if c.unfinished {
		c.failures, c.retryAt, c.next, c.unfinished, c.err, c.hint = 0, time.Time{}, time.Time{}, false, nil, ""
	}
}

// giveUp counts an attempt that the end of the pool has interrupted as a failure,
// so that the next command does not wait as long for it. It reports whether there is
// something to store.
func (c *condition) giveUp(known bool) bool {
	took := time.Since(c.since)
	switch {
	case c.failures > 0:
		c.failures++
		c.next = time.Now().Add(rest(c.failures))
	case known || took < minUnfinished:
		return false
	default:
		c.failures, c.failedAt, c.unfinished = 1, time.Now(), true
		c.err = &RememberedError{fmt.Sprintf("it was still starting after %s, when a command ended", words.Seconds(took.Round(time.Second))), true}
		c.hint = ""
		c.next = c.failedAt.Add(firstRest)
	}
	return true
}

// toStore returns the failure to store, or nil.
func (c *condition) toStore() *cache.Failure {
	if c.failures == 0 || c.err == nil || errors.Is(c.err, ErrClosed) || c.err == errNoFolder {
		return nil
	}
	state := c.state
	if state != StateNeedsSignIn { // unfinished, or being tried again
		state = StateFailed
	}
	return &cache.Failure{State: string(state), Err: gate.Cut(c.err.Error(), maxFailureText), Hint: gate.Cut(c.hint, maxFailureText),
		At: c.failedAt.UTC(), Count: c.failures, Next: c.next.UTC(), Era: c.failedEra, Unfinished: c.unfinished}
}

// failure returns the state of a server after err, the advice, and whether an OAuth
// handler reported err, which decides itself when to ask again.
func failure(err error) (state State, hint string, handled bool, cause error) {
	if e, ok := errors.AsType[*link.Error](err); ok {
		state = StateFailed
		if e.SignIn {
			state = StateNeedsSignIn
		}
		return state, e.Hint, e.Handled, err
	}
	if need, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return StateNeedsSignIn, need.SignInHint(), true, need
	}
	return StateFailed, "", false, err
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

// rest returns the time for which other pools leave a server alone after the given
// number of failures.
func rest(failures int) time.Duration {
	return min(firstRest<<min(max(failures-1, 0), 10), cache.MaxRest)
}
