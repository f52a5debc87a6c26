package workflow

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// Sessions keep the events of sessions. They may be used by several
// goroutines, but one session is only used by one at a time.
type Sessions interface {
	// New begins a session and returns its unpredictable id.
	New() (id string, err error)
	// Append adds an event, which survives from then on.
	Append(id string, e Event) error
	// Load returns all events of a session; an unknown one is an error that wraps
	// fs.ErrNotExist.
	Load(id string) ([]Event, error)
}

// A Locker is Sessions that several processes share. Lock reserves a session for
// the caller, and waits until ctx is done while somebody else has it; an unknown
// session is an error that wraps fs.ErrNotExist.
type Locker interface {
	Lock(ctx context.Context, id string) (unlock func(), err error)
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// maxKept and maxKeptBytes are how many sessions a Memory keeps, and how much space
// they use. The oldest ones beyond that are removed.
const (
	maxKept      = 1000
	maxKeptBytes = 256 << 20
)

// A Memory keeps sessions until the process ends, the last thousand of them, or
// as many as fit in 256 MiB.
type Memory struct {
	mu     sync.Mutex
	ids    []string // the oldest first
	events map[string][]Event
	bytes  int // of all events
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{events: map[string][]Event{}} }

// New implements Sessions.
func (m *Memory) New() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.ids) >= maxKept || len(m.ids) > 0 && m.bytes > maxKeptBytes {
		for _, e := range m.events[m.ids[0]] {
			m.bytes -= e.bytes()
		}
		delete(m.events, m.ids[0])
		m.ids = m.ids[1:]
	}
	id := newID()
	m.events[id] = nil
	m.ids = append(m.ids, id)
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
	m.bytes += e.bytes()
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
