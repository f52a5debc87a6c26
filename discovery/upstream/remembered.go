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

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	failureVersion = 1

	// Other pools leave a failed server alone for firstRest, twice as long after each
	// further failure, and at most for maxRest. A call that names it waits for at most
	// maxBackoff.
	firstRest = time.Minute
	maxRest   = time.Hour

	// failedGrace bounds the wait for a server that has failed before when it is tried
	// again.
	failedGrace = time.Second

	// minUnfinished is the time for which a server must have been starting for the end
	// of its pool to count as a failure.
	minUnfinished = 3 * time.Second

	maxFailureText = 4000 // in characters
)

// A remembered is the stored reason a server could not be connected or listed. Pools
// with the same CacheDir share it.
type remembered struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Config  uint16 `json:"config"` // see Config.revision
	State   State  `json:"state"`
	Err     string `json:"error"`
	Hint    string `json:"hint,omitempty"`
	// At is the time of the failure, Count the number of consecutive failures, and Next
	// the time of the next automatic attempt.
	At    time.Time `json:"at"`
	Count int       `json:"count"`
	Next  time.Time `json:"next"`
	Era   link.Era  `json:"era,omitempty"`
	// Unfinished means that the pool ended while the server was starting, so the server
	// may only be slow.
	Unfinished bool `json:"unfinished,omitempty"`
}

// A RememberedError is the error of a server that another pool could not connect.
type RememberedError struct {
	Text string
	// Unfinished is set if that pool ended before the outcome was known.
	Unfinished bool
}

// Error returns the text of that error.
func (e *RememberedError) Error() string { return e.Text }

// revision distinguishes configurations with the same fingerprint. It is short, so that
// it reveals nothing about secret values.
func (c Config) revision() uint16 {
	parts := []any{c.fingerprint(), c.StartTimeout, c.AsWritten, c.Credentials}
	for _, m := range []map[string]string{c.Env, c.Headers} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, k, m[k])
		}
	}
	b, _ := json.Marshal(parts) // marshalling strings and numbers cannot fail
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint16(sum[:])
}

func (c cache) failurePath(cfg Config) string {
	return filepath.Join(c.dir, cfg.fingerprint()+".failed.json")
}

// failure returns the stored failure of cfg, if it may still apply.
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

// failed reports whether a failure of cfg is stored.
func (c cache) failed(cfg Config) bool {
	_, err := os.Stat(c.failurePath(cfg))
	return err == nil
}

// keepFailure replaces the stored failure of cfg; nil removes it.
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

// rest returns the time for which other pools leave a server alone after the given
// number of failures.
func rest(failures int) time.Duration {
	return min(firstRest<<min(max(failures-1, 0), 10), maxRest)
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
	r, ok := s.pool.cache.failure(s.cfg, now)
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
		s.retryAt, r.State = time.Time{}, s.state
	}
	s.state, s.err, s.hint, s.since = r.State, &RememberedError{r.Err, r.Unfinished}, r.Hint, r.At
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
	if s.parent == nil && s.pool.cache.dir != "" && !s.cfg.Credentials.OfPeople() {
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
	err := s.pool.cache.keepFailure(s.cfg, r)
	if err != nil {
		s.log.Warn("cannot store a failure", "err", err) // the only effect is that the next command waits longer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = r != nil && err == nil
}

// failureLocked returns the failure of s to store, or nil; s.mu must be held.
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

// giveUpLocked counts an attempt that the end of the pool has interrupted as a failure,
// so that the next command does not wait as long for it; s.mu must be held. It reports
// whether there is something to store.
func (s *server) giveUpLocked() bool {
	took := time.Since(s.since)
	switch {
	case s.parent != nil || s.pool.cache.dir == "" || s.cfg.Credentials.OfPeople():
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
