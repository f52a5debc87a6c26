// Package pins remembers which tools of each server were approved, in one file a
// server, and holds back what is not: tools that the scan blocks, and tools that
// became something else.
package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/policy/pin"
	"github.com/mcpbroker/mcpbroker/policy/scan"
)

// A Mode says how much is held back.
type Mode string

// The modes.
const (
	On     Mode = "on"     // what was there first is approved unless the scan blocks it; so are changes of words that it finds nothing in
	Strict Mode = "strict" // everything waits for a person
	Off    Mode = "off"    // nothing is held
)

// The states of a tool.
const (
	Approved = "approved"
	New      = "new"     // came later, or never approved
	Changed  = "changed" // differs from what was approved
	Gone     = "gone"
	Blocked  = "blocked" // by a person, or by the scan
)

// A Pin is a tool as it was approved, or one that a person has blocked.
type Pin struct {
	Tool       string          `json:"tool"`
	State      string          `json:"state"` // Approved or Blocked
	Definition json.RawMessage `json:"definition,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	Verdict    string          `json:"verdict,omitempty"` // of the scan, when it was approved
	At         time.Time       `json:"at"`
	ByPerson   bool            `json:"byPerson,omitempty"`
}

// A Row is a tool as it is compared with its pin.
type Row struct {
	Server  string         `json:"server"`
	Tool    string         `json:"tool"`
	State   string         `json:"state"`
	Held    bool           `json:"held"`
	Verdict scan.Verdict   `json:"verdict"`
	Finding []scan.Finding `json:"findings,omitempty"`
	// Changes are what differs from what was approved.
	Changes []pin.Difference `json:"changes,omitempty"`
}

type file struct {
	Version int            `json:"version"`
	Tools   map[string]Pin `json:"tools"`
}

const fileVersion = 1

// A Store keeps pins in a directory. It is safe for concurrent use, also by
// several processes.
type Store struct {
	dir string
	log *slog.Logger

	mode Mode

	mu   sync.Mutex
	seen map[string]judged
}

// A judged is what was said of a listing whose tools are the same slice.
type judged struct {
	first *discovery.ListedTool
	n     int
	stamp time.Time
	list  discovery.Listing
}

// Open returns the store in a directory, which need not exist.
func Open(dir string, mode Mode, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{dir: dir, log: log, mode: mode, seen: map[string]judged{}}
}

func (s *Store) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:12])+".json")
}

// Stamp changes when the pins of any server do.
func (s *Store) Stamp() time.Time { return modified(s.dir) }

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// read returns the pins of a server, and whether there are any.
func (s *Store) read(server string) (file, bool, error) {
	data, err := os.ReadFile(s.path(server))
	if errors.Is(err, fs.ErrNotExist) {
		return file{Version: fileVersion, Tools: map[string]Pin{}}, false, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && (f.Version != fileVersion || f.Tools == nil) {
		err = errors.New("unknown version")
	}
	if err != nil {
		return f, false, fmt.Errorf("read pins of %s: %s: %w", server, s.path(server), err)
	}
	return f, true, nil
}

// change lets f change the pins of a server, under a lock.
func (s *Store) change(server string, f func(*file) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(context.Background(), filepath.Join(s.dir, ".lock"))
	if err != nil {
		return fmt.Errorf("lock pins: %w", err)
	}
	defer unlock()
	pins, _, err := s.read(server)
	if err != nil {
		return err
	}
	if err := f(&pins); err != nil {
		return err
	}
	data, err := json.Marshal(pins)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(server), data)
}

// definition is what is pinned of a tool.
func definition(t *discovery.ListedTool) json.RawMessage {
	data, err := json.Marshal(t)
	if err != nil {
		return json.RawMessage("{}") // texts, raw JSON that was valid, and booleans
	}
	return data
}

// Filter returns a listing without the tools that are held, which it names. What
// a server lists first becomes its pins.
func (s *Store) Filter(l discovery.Listing) discovery.Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == Off || len(l.Tools) == 0 {
		return l
	}
	stamp := modified(s.path(l.Server))
	if j, ok := s.seen[l.Server]; ok && j.first == &l.Tools[0] && j.n == len(l.Tools) && j.stamp.Equal(stamp) {
		l.Tools, l.Held = j.list.Tools, j.list.Held
		return l
	}
	first, n := &l.Tools[0], len(l.Tools)
	rows, err := s.judge(l)
	if err != nil {
		s.log.Error("pins", "server", l.Server, "err", err)
		return holdAll(l)
	}
	if err := s.accept(l, rows); err != nil {
		s.log.Error("keep pins", "server", l.Server, "err", err)
	}
	held := map[string]string{}
	for _, r := range rows {
		if r.Held {
			held[r.Tool] = r.State
		}
	}
	if len(held) > 0 {
		kept := make([]discovery.ListedTool, 0, len(l.Tools))
		for _, t := range l.Tools {
			if state, ok := held[t.Name]; ok {
				l.Held = append(l.Held, discovery.Held{Tool: t.Name, State: state})
			} else {
				kept = append(kept, t)
			}
		}
		l.Tools = kept
	}
	s.seen[l.Server] = judged{first, n, modified(s.path(l.Server)), l}
	return l
}

// holdAll holds everything back: pins that cannot be read approve nothing.
func holdAll(l discovery.Listing) discovery.Listing {
	for _, t := range l.Tools {
		l.Held = append(l.Held, discovery.Held{Tool: t.Name, State: "unreadable"})
	}
	l.Tools = nil
	return l
}

// Rows compares the tools of a listing with their pins.
func (s *Store) Rows(l discovery.Listing) ([]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judge(l)
}

func (s *Store) judge(l discovery.Listing) ([]Row, error) {
	pins, known, err := s.read(l.Server)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	var rows []Row
	for i := range l.Tools {
		t := &l.Tools[i]
		listed[t.Name] = true
		rows = append(rows, s.compare(l.Server, t, pins, known))
	}
	for name, p := range pins.Tools {
		if !listed[name] && p.State == Approved {
			rows = append(rows, Row{Server: l.Server, Tool: name, State: Gone})
		}
	}
	return rows, nil
}

// compare says how one tool stands.
func (s *Store) compare(server string, t *discovery.ListedTool, pins file, known bool) Row {
	r := Row{Server: server, Tool: t.Name, State: Approved}
	now := definition(t)
	p, pinned := pins.Tools[t.Name]
	digest, err := pin.Digest(now)
	if err == nil && pinned && p.State == Approved && p.Digest == digest {
		_ = r.Verdict.UnmarshalText([]byte(p.Verdict))
		return r
	}
	report := scan.Tool(server, now, nil)
	r.Verdict, r.Finding = report.Verdict, report.Findings
	switch {
	case pinned && p.State == Blocked:
		r.State, r.Held = Blocked, true
	case pinned:
		r.State = Changed
		r.Changes, err = pin.Diff(p.Definition, now)
		var before scan.Verdict
		_ = before.UnmarshalText([]byte(p.Verdict))
		r.Held = err != nil || s.mode == Strict || pin.Worst(r.Changes) > pin.Words || r.Verdict > before || r.Verdict > scan.Pass
	case !known:
		r.State = New
		r.Held = s.mode == Strict || r.Verdict == scan.Block
	default:
		r.State = New
		r.Held = s.mode == Strict || r.Verdict > scan.Pass
	}
	if r.Held && r.Verdict == scan.Block && r.State == New {
		r.State = Blocked
	}
	return r
}

// accept pins what is not held.
func (s *Store) accept(l discovery.Listing, rows []Row) error {
	var fresh []Row
	for _, r := range rows {
		if !r.Held && (r.State == New || r.State == Changed) {
			fresh = append(fresh, r)
		}
	}
	_, known, err := s.read(l.Server)
	if err != nil {
		return err
	}
	if len(fresh) == 0 && known {
		return nil
	}
	for _, r := range fresh {
		if known {
			s.log.Warn("a tool is not as it was, and was accepted: only words differ", "server", l.Server, "tool", r.Tool, "state", r.State)
		}
	}
	return s.change(l.Server, func(f *file) error {
		for _, r := range fresh {
			for i := range l.Tools {
				if l.Tools[i].Name == r.Tool {
					f.Tools[r.Tool] = pinOf(&l.Tools[i], r.Verdict, false)
				}
			}
		}
		return nil
	})
}

func pinOf(t *discovery.ListedTool, v scan.Verdict, byPerson bool) Pin {
	d := definition(t)
	digest, _ := pin.Digest(d)
	return Pin{Tool: t.Name, State: Approved, Definition: d, Digest: digest, Verdict: v.String(), At: time.Now().UTC(), ByPerson: byPerson}
}

// Approve pins tools of a listing as they are now; no names means all.
func (s *Store) Approve(l discovery.Listing, names map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(l.Server, func(f *file) error {
		for i := range l.Tools {
			t := &l.Tools[i]
			if len(names) == 0 || names[t.Name] {
				f.Tools[t.Name] = pinOf(t, scan.Tool(l.Server, definition(t), nil).Verdict, true)
			}
		}
		if len(names) == 0 {
			listed := map[string]bool{}
			for _, t := range l.Tools {
				listed[t.Name] = true
			}
			for name := range f.Tools {
				if !listed[name] {
					delete(f.Tools, name)
				}
			}
		}
		return nil
	})
}

// Block holds tools of a server back until they are approved.
func (s *Store) Block(server string, names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(server, func(f *file) error {
		for _, name := range names {
			p := f.Tools[name]
			p.Tool, p.State, p.At, p.ByPerson = name, Blocked, time.Now().UTC(), true
			f.Tools[name] = p
		}
		return nil
	})
}
