package find

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/index"
)

// An Entry is a search result other than a tool: a prompt, a resource, a skill.
type Entry struct {
	index.Entry
	// Origin is the origin of a skill that does not belong to a server.
	Origin string
	// Use says how to use it, in one line. Instead, it may be a call of the tool Call
	// with Args.
	Use  string
	Call string
	Args map[string]any
	// Signature shows its call, for what scripts call. A client that writes none
	// is not shown the entry.
	Signature string
	// More is what DetailFull adds to the description; nil adds nothing.
	More func() string
}

// called is what e is called in answers.
func (e *Entry) called() string { return cmp.Or(e.Name, e.ID) }

// howTo says in one line how to use e.
func (e *Entry) howTo(callsOnly bool) string {
	if e.Call != "" {
		return callUse(e.Call, e.Args, callsOnly)
	}
	return e.Use
}

// entries are all of them, by the part of the broker that brings them. The
// zero value is ready to use.
type entries struct {
	mu       sync.Mutex
	bySource map[string]brought
	version  uint64
}

// brought is what one source brings.
type brought struct {
	list  []Entry
	byKey map[entryKey]*Entry
}

type entryKey struct{ kind, id string }

// set replaces what source brings; list is not to be changed any more. The
// caller sees to it that the index follows: Broker.changed does.
func (e *entries) set(source string, list []Entry) {
	byKey := make(map[entryKey]*Entry, len(list))
	for i := range list {
		if key := (entryKey{list[i].Kind, list[i].ID}); byKey[key] == nil {
			byKey[key] = &list[i]
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(list) == 0 && len(e.bySource[source].list) == 0 {
		return
	}
	if e.bySource == nil {
		e.bySource = make(map[string]brought)
	}
	e.bySource[source] = brought{list, byKey}
	e.version++
}

// now returns a number that changes with the entries.
func (e *entries) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

// all returns what the index should hold, and the number of now.
func (e *entries) all() (list []index.Entry, version uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, source := range slices.Sorted(maps.Keys(e.bySource)) {
		for _, entry := range e.bySource[source].list {
			list = append(list, entry.Entry)
		}
	}
	return list, e.version
}

func (e *entries) find(kind, id string) (*Entry, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, part := range e.bySource {
		if entry := part.byKey[entryKey{kind, id}]; entry != nil {
			return entry, true
		}
	}
	return nil, false
}
