package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	failureVersion = 1

	// Other pools leave a server that failed alone for firstRest, twice as long after
	// each further failure, and at most for maxRest. Whoever names it in a call waits
	// for at most maxBackoff.
	firstRest = time.Minute
	maxRest   = time.Hour

	// failedGrace is how long a server that has failed before is waited for when it is
	// tried again.
	failedGrace = time.Second

	// minUnfinished is how long a server must have been starting for the end of its
	// pool to count as a failure.
	minUnfinished = 3 * time.Second

	maxFailureText = 4000 // characters
)

// A remembered is why a server could not be connected or listed, as pools of a
// CacheDir keep it for each other.
type remembered struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Config  uint16 `json:"config"` // see Config.revision
	State   State  `json:"state"`
	Err     string `json:"error"`
	Hint    string `json:"hint,omitempty"`
	// At is when the server failed for this reason, Count how often in a row it has
	// failed, and Next when it is tried again without anybody naming it.
	At    time.Time `json:"at"`
	Count int       `json:"count"`
	Next  time.Time `json:"next"`
	Era   era       `json:"era,omitempty"`
	// Unfinished means that the pool ended while the server was starting, so that it
	// may be a slow one.
	Unfinished bool `json:"unfinished,omitempty"`
}

// A RememberedError is the error of a server that another pool could not connect.
type RememberedError struct {
	Text string
	// Unfinished is set if that pool ended before it was known how it went.
	Unfinished bool
}

// Error returns the text of that error.
func (e *RememberedError) Error() string { return e.Text }

// revision tells configurations apart that have one fingerprint. It is short so that
// the values in it cannot be learnt from it.
func (c Config) revision() uint16 {
	parts := []any{c.fingerprint(), c.StartTimeout, c.AsWritten, c.Credentials}
	for _, m := range []map[string]string{c.Env, c.Headers} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, k, m[k])
		}
	}
	b, _ := json.Marshal(parts) // strings and numbers always marshal
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint16(sum[:])
}

func (c cache) failurePath(cfg Config) string {
	return filepath.Join(c.dir, cfg.fingerprint()+".failed.json")
}

// failure returns how cfg has failed, if that is kept and may still be so.
func (c cache) failure(cfg Config, now time.Time) (remembered, bool) {
	if c.dir == "" {
		return remembered{}, false
	}
	b, err := os.ReadFile(c.failurePath(cfg))
	var r remembered
	if err != nil || json.Unmarshal(b, &r) != nil || r.Version != failureVersion || r.Server != cfg.Name || r.Config != cfg.revision() {
		return remembered{}, false
	}
	known := r.State == StateFailed || r.State == StateNeedsSignIn
	if !known || r.Err == "" || r.Count < 1 || r.At.After(now) || r.Next.After(now.Add(maxRest)) { // damaged, or the clock was changed
		return remembered{}, false
	}
	r.Err, r.Hint = gate.Clean(r.Err), gate.Clean(r.Hint)
	return r, true
}

// failed reports whether a failure of cfg is kept.
func (c cache) failed(cfg Config) bool {
	_, err := os.Stat(c.failurePath(cfg))
	return err == nil
}

// keepFailure replaces what is kept of the failure of cfg; nil removes it.
func (c cache) keepFailure(cfg Config, r *remembered) error {
	if c.dir == "" {
		return nil
	}
	path := c.failurePath(cfg)
	if r == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the failure: %w", err)
		}
		return nil
	}
	r.Version, r.Server, r.Config = failureVersion, cfg.Name, cfg.revision()
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		err = atomicfile.Write(path, gate.Compact(r))
	}
	if err != nil {
		return fmt.Errorf("store the failure: %w", err)
	}
	return nil
}

// rest is how long other pools leave a server alone after so many failures.
func rest(failures int) time.Duration {
	return min(firstRest<<min(max(failures-1, 0), 10), maxRest)
}

// isCheap reports whether to try again costs next to nothing: no process was started,
// or an OAuth handler knows when to ask.
func isCheap(err error) bool {
	if e, ok := errors.AsType[*dialError](err); ok && e.handled {
		return true
	}
	_, reference := errors.AsType[*ReferenceError](err)
	return reference || errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// recallLocked makes s a server that has failed, if another pool has found so; s.mu
// is held, or nobody else knows s yet.
func (s *server) recallLocked() {
	now := time.Now()
	r, ok := s.pool.cache.failure(s.cfg, now)
	if !ok || s.of != nil {
		return
	}
	if s.dial.era == eraUnknown {
		s.dial.era = r.Era
	}
	s.failures, s.next = r.Count, r.Next
	s.unfinished = r.Unfinished
	if s.retryAt = r.Next; r.Next.After(now.Add(maxBackoff)) {
		s.retryAt = now.Add(maxBackoff)
	}
	if r.Unfinished {
		s.retryAt, r.State = time.Time{}, s.state
	}
	s.state, s.err, s.hint, s.since = r.State, &RememberedError{r.Err, r.Unfinished}, r.Hint, r.At
	s.failedAt, s.failedEra, s.stored = r.At, r.Era, true
}

// forgetUnfinishedLocked makes a server, that another pool has not waited for, one of which
// nothing is known; s.mu is held.
func (s *server) forgetUnfinishedLocked() {
	if s.unfinished {
		s.failures, s.retryAt, s.next, s.unfinished, s.err, s.hint = 0, time.Time{}, time.Time{}, false, nil, ""
	}
}

// rememberLater keeps how s has failed, or that it has not, for other pools. s.mu may
// be held.
func (s *server) rememberLater() {
	if s.of == nil && s.pool.cache.dir != "" && !s.cfg.Credentials.OfPeople() {
		s.pool.run(func(context.Context) { s.remember() })
	}
}

// remember keeps how s has failed, or that it has not.
func (s *server) remember() {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	s.mu.Lock()
	r := s.failureLocked()
	s.mu.Unlock()
	err := s.pool.cache.keepFailure(s.cfg, r)
	if err != nil {
		s.log.Warn("cannot store a failure", "err", err) // works all the same, the next command waits longer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = r != nil && err == nil
}

// failureLocked is what other pools should know of s; nil if it has not failed; s.mu
// is held.
func (s *server) failureLocked() *remembered {
	if s.failures == 0 || s.err == nil || errors.Is(s.err, ErrClosed) || s.err == errNoFolder {
		return nil
	}
	state := s.state
	if state != StateNeedsSignIn { // unfinished, or being tried again
		state = StateFailed
	}
	return &remembered{State: state, Err: gate.Cut(s.err.Error(), maxFailureText), Hint: gate.Cut(s.hint, maxFailureText),
		At: s.failedAt.UTC(), Count: s.failures, Next: s.next.UTC(), Era: s.failedEra, Unfinished: s.unfinished}
}

// giveUpLocked counts an attempt that the end of the pool has cut off, so that the
// next command does not wait as long for the same; s.mu is held. It reports whether
// there is something to remember.
func (s *server) giveUpLocked() bool {
	took := time.Since(s.since)
	switch {
	case s.of != nil || s.pool.cache.dir == "" || s.cfg.Credentials.OfPeople():
		return false
	case s.failures > 0:
		s.failures++
		s.next = time.Now().Add(rest(s.failures))
	case s.known || took < minUnfinished:
		return false
	default:
		s.failures, s.failedAt, s.unfinished = 1, time.Now(), true
		s.err = &RememberedError{fmt.Sprintf("it was still starting after %s, when a command ended", seconds(took.Round(time.Second))), true}
		s.hint = ""
		s.next = s.failedAt.Add(firstRest)
	}
	return true
}
