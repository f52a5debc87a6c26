package packages

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// A known version is what a package without an exact one was last.
type known struct {
	Version string    `json:"version"`
	Checked time.Time `json:"checked"` // last query of the registry
	Held    *Held     `json:"held,omitempty"`
}

// Version returns the version that a start uses: the one in spec, or the last known
// one, or "".
func (s *Store) Version(spec Spec) string {
	if spec.Exact() {
		return spec.Version
	}
	return s.known(spec).Version
}

// root is the folder of all packages of a kind.
func (s *Store) root(spec Spec) string {
	return filepath.Join(s.dir, map[string]string{"npx": "npm", "uvx": "uv"}[spec.Runner])
}

func (s *Store) versionsFile(spec Spec) string {
	return filepath.Join(s.root(spec), "."+spec.folder()+".json")
}

func (s *Store) versions(spec Spec) map[string]known {
	var all map[string]known
	b, err := os.ReadFile(s.versionsFile(spec))
	if err != nil || json.Unmarshal(b, &all) != nil || all == nil {
		return map[string]known{}
	}
	return all
}

// known reads what is kept; what is not a version there is ignored.
func (s *Store) known(spec Spec) known {
	k := s.versions(spec)[spec.Version]
	if exact := (Spec{Runner: spec.Runner, Version: k.Version}); !exact.Exact() {
		return known{}
	}
	return k
}

// note keeps a version. What another process notes meanwhile may be lost, and is
// found out again.
func (s *Store) note(spec Spec, root string, k known) error {
	all := s.versions(spec)
	all[spec.Version] = k
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteSync(s.versionsFile(spec), b)
}

// checkLater asks the registry for the newest version, at most once a day and in
// the background, and installs it for the next start: see check.
func (s *Store) checkLater(r request) {
	if r.Exact() || time.Since(s.known(r.Spec).Checked) < checkEvery {
		return
	}
	s.inBackground("look for a newer version", r, func() error { return s.check(r) })
}

// inBackground runs f for a package in the background, some time after the start, one at a
// time, and once for each package.
func (s *Store) inBackground(what string, r request, f func() error) {
	key := what + r.root + r.asked(r.Version)
	s.mu.Lock()
	planned := s.planned[key]
	s.planned[key] = true
	s.mu.Unlock()
	if planned {
		return
	}
	s.run(func() {
		err := s.whenIdle(f)
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("cannot "+what, "package", r.asked(r.Version), "err", err)
		}
		s.mu.Lock()
		delete(s.planned, key)
		s.mu.Unlock()
	})
}

func (s *Store) whenIdle(f func() error) error {
	select {
	case <-time.After(s.delay):
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	select {
	case s.idle <- struct{}{}:
		defer func() { <-s.idle }()
		return f()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// globQuote makes text match itself only in a pattern of filepath.Glob.
func globQuote(text string) string {
	if filepath.Separator == '\\' {
		return text // quoting is not supported there
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
