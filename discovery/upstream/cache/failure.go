package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const failureVersion = 1

// MaxRest bounds the time for which a stored failure holds up automatic attempts.
const MaxRest = time.Hour

// States of a server that has failed.
const (
	StateFailed      = "failed"        // could not be connected or listed
	StateNeedsSignIn = "needs sign-in" // refuses the broker's credentials, or wants some
)

// A Failure is the stored reason a server could not be connected or listed. Pools
// with the same Dir share it.
type Failure struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Config  uint16 `json:"config"` // see Key.Revision
	State   string `json:"state"`
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

func (d Dir) failurePath(k Key) string { return filepath.Join(string(d), k.ID+".failed.json") }

// Failure returns the stored failure of k, if it may still apply.
func (d Dir) Failure(k Key, now time.Time) (Failure, bool) {
	if d == "" {
		return Failure{}, false
	}
	b, err := os.ReadFile(d.failurePath(k))
	var f Failure
	if err != nil || json.Unmarshal(b, &f) != nil || f.Version != failureVersion || f.Server != k.Server || f.Config != k.Revision {
		return Failure{}, false
	}
	known := f.State == StateFailed || f.State == StateNeedsSignIn
	if !known || f.Err == "" || f.Count < 1 || f.At.After(now) || f.Next.After(now.Add(MaxRest)) { // damaged, or the clock was changed
		return Failure{}, false
	}
	f.Err, f.Hint = gate.Clean(f.Err), gate.Clean(f.Hint)
	return f, true
}

// Failed reports whether a failure of k is stored.
func (d Dir) Failed(k Key) bool {
	_, err := os.Stat(d.failurePath(k))
	return err == nil
}

// KeepFailure replaces the stored failure of k; nil removes it.
func (d Dir) KeepFailure(k Key, f *Failure) error {
	if d == "" {
		return nil
	}
	path := d.failurePath(k)
	if f == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the failure: %w", err)
		}
		return nil
	}
	f.Version, f.Server, f.Config = failureVersion, k.Server, k.Revision
	if err := d.write(path, gate.Compact(f)); err != nil {
		return fmt.Errorf("store the failure: %w", err)
	}
	return nil
}
