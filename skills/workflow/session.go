package workflow

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"sync"
)

// Sessions keep the events of sessions. They may be used by several
// goroutines, but one session is only used by one at a time.
type Sessions interface {
	// New begins a session and returns its id, which nobody can guess.
	New() (id string, err error)
	// Append keeps an event; what it has kept survives.
	Append(id string, e Event) error
	// Load returns all events of a session; an unknown one is an error that wraps
	// fs.ErrNotExist.
	Load(id string) ([]Event, error)
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// A Memory keeps sessions until the process ends.
type Memory struct {
	mu     sync.Mutex
	events map[string][]Event
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{events: map[string][]Event{}} }

// New implements Sessions.
func (m *Memory) New() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := newID()
	m.events[id] = nil
	return id, nil
}

// Append implements Sessions.
func (m *Memory) Append(id string, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.events[id]; !ok {
		return fmt.Errorf("session: %w", fs.ErrNotExist)
	}
	m.events[id] = append(m.events[id], e)
	return nil
}

// Load implements Sessions.
func (m *Memory) Load(id string) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events, ok := m.events[id]
	if !ok {
		return nil, fmt.Errorf("session: %w", fs.ErrNotExist)
	}
	return slices.Clone(events), nil
}

// Files keeps each session in a file of a folder, one event in a line, so that
// it survives the process. Only the user can read them.
type Files struct{ root *os.Root }

// OpenFiles makes the folder if it is not there.
func OpenFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep sessions: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("keep sessions: %w", err)
	}
	return &Files{root}, nil
}

// Close gives the folder back. The sessions stay.
func (f *Files) Close() error { return f.root.Close() }

var sessionID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (f *Files) name(id string) (string, error) {
	if !sessionID.MatchString(id) {
		return "", fmt.Errorf("session: %w", fs.ErrNotExist)
	}
	return id + ".jsonl", nil
}

// New implements Sessions.
func (f *Files) New() (string, error) {
	id := newID()
	file, err := f.root.OpenFile(id+".jsonl", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return id, file.Close()
}

// Append implements Sessions.
func (f *Files) Append(id string, e Event) error {
	name, err := f.name(id)
	if err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// A process that was killed may have left half a line, which never happened.
	if err := cutTail(file); err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// cutTail takes off what stands behind the last line break of a file.
func cutTail(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	end := info.Size()
	buf := make([]byte, 4096)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := file.ReadAt(buf[:n], end-n); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			end = end - n + int64(i) + 1
			break
		}
		end -= n
	}
	if end == info.Size() {
		return nil
	}
	return file.Truncate(end)
}

// Load implements Sessions.
func (f *Files) Load(id string) ([]Event, error) {
	name, err := f.name(id)
	if err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var events []Event
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // its writer was killed
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("session %s is damaged in line %d: %w", id, len(events)+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}
