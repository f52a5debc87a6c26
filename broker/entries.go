package broker

import (
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/index"
)

// An entry is something that is no tool and that search_tools finds all the
// same: a prompt, a resource, a skill.
type entry struct {
	index.Entry
	// label is what it is called in answers; empty means its ID.
	label string
	// use says how to use it, in one line. Instead, it may be a call of the tool
	// id with args.
	use  string
	id   string
	args map[string]any
	// more is what DetailFull adds to the description; nil adds nothing.
	more func() string
}

// howTo says in one line how to use e.
func (e *entry) howTo(callsOnly bool) string {
	if e.id != "" {
		return callUse(e.id, e.args, callsOnly)
	}
	return e.use
}

// entries are all of them, by the part of the broker that brings them. The
// zero value is ready to use.
type entries struct {
	mu       sync.Mutex
	bySource map[string][]entry
	version  uint64
}

// set replaces what source brings. The caller sees to it that the index follows:
// Broker.changed does.
func (e *entries) set(source string, list []entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bySource == nil {
		e.bySource = make(map[string][]entry)
	}
	e.bySource[source] = slices.Clone(list)
	e.version++
}

// has reports whether source brings anything.
func (e *entries) has(source string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bySource[source]) > 0
}

// all returns what the index should hold, and a number that changes with it.
func (e *entries) all() ([]index.Entry, uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []index.Entry
	for _, part := range e.bySource {
		for _, one := range part {
			list = append(list, one.Entry)
		}
	}
	return list, e.version
}

func (e *entries) find(kind, id string) (*entry, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, part := range e.bySource {
		for i := range part {
			if part[i].Kind == kind && part[i].ID == id {
				return &part[i], true
			}
		}
	}
	return nil, false
}
