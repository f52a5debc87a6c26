package hint

import (
	"slices"
	"sync"
)

// A Hearing records what the calls of one execution returned, for hints about it.
type Hearing struct {
	Habits   Habits
	Partials Partials
	Drifts   Drifts
}

// Drifts collects notes on results of one execution that differ from all earlier results of their
// tools. It is safe for concurrent use.
type Drifts struct {
	mu   sync.Mutex
	list []string
}

// maxDrifts bounds the drifts that one execution reports.
const maxDrifts = 5

// Add adds a note about a drift, and reports whether it is new and within the bound.
func (d *Drifts) Add(note string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) >= maxDrifts || slices.Contains(d.list, note) {
		return false
	}
	d.list = append(d.list, note)
	return true
}

// Notes returns the notes.
func (d *Drifts) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}
