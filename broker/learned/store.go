package learned

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// inlineBytes is the size up to which a result is read immediately by its call. Larger ones
	// are read in the background and sampled; those above largeBytes are ignored.
	inlineBytes = 64 << 10
	largeBytes  = 4 << 20
	// maxQueued bounds the samples of one tool that wait to be written.
	maxQueued = 1000
)

// A Store learns types. Several processes may share its state.Types: each merges its results with
// those of the others. It is safe for concurrent use, and reads and writes nothing before its
// first use.
type Store struct {
	types state.Types
	log   *slog.Logger

	// file guards the use of types, which may wait for another process. mu guards the
	// rest and never waits. Lock file before mu.
	file   sync.Mutex
	loaded atomic.Bool

	names parameters

	mu             sync.Mutex
	hash           hasher
	tools          map[state.ToolName]*entry
	closed         bool
	ending         chan struct{} // closed when closed is set
	readingLarge   bool          // reading a large value
	background     sync.WaitGroup
	flushScheduled bool // a Flush is scheduled
}

// An entry is the state of one tool.
type entry struct {
	learnedTool
	version int64 // of the row that was read or written last, or 0
	large   int   // number of large results
	queued  []queued
	schema  json.RawMessage // of learnedTool, or nil before it is needed
}

// learnedTool is the stored row of a tool.
type learnedTool struct {
	Calls int  `json:"calls"`
	Root  node `json:"root"`
	// Held is the data in text results, or nil.
	Held *heldData `json:"text,omitempty"`
	// Asked are keyed hashes of the parameters that choose the fields of a result: see
	// digests.
	Asked []string `json:"asked,omitempty"`
}

// maxAsked bounds the combinations of parameters that are distinguished.
const maxAsked = 16

type queued struct {
	args, asked digest
	query       bool // arguments contain a query
	s           *sample
	text        *textSample // nil if the text has no data
}

// A digest identifies the arguments of a call within this process; its keyed hash is stored.
type digest [sha256.Size]byte

// New returns a store that keeps its types in types, which it does not close. A nil logger
// discards.
func New(types state.Types, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{types: types, log: log, hash: newHasher(), tools: map[state.ToolName]*entry{}, ending: make(chan struct{})}
}

// Close writes unwritten types.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.ending)
	}
	s.mu.Unlock()
	s.background.Wait()
	return s.Flush()
}

// Observe learns from the value of a call. It returns the differences from all earlier values, or
// nil if there are none or too few values are known. Large values are sampled in the background.
// The value must be valid JSON and must not be changed afterwards.
func (s *Store) Observe(server, tool string, args, value json.RawMessage) []string {
	if err := s.load(); err != nil {
		s.log.Warn("read learned types", "err", err)
	}
	q := queued{}
	q.args, q.asked, q.query = s.names.digests(args)
	k := toolName(server, tool)
	e, calls, large := s.entry(k, q, value)
	if large {
		return nil
	}
	smp, err := take(value)
	if err != nil {
		return nil
	}
	q.s, q.text = smp, textOf(value, calls) // outside the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools[k] != e { // it was reset in the meantime
		return nil
	}
	var found []string
	if e.Calls >= minDriftCalls && e.knows(s.hash.sum(q.asked[:])) {
		found = drift(&e.Root, smp, q.merger(s.hash))
	}
	e.learn(s.hash, q)
	return found
}

// entry returns the entry of a tool and the number of calls so far. Large values are
// read in the background.
func (s *Store) entry(k state.ToolName, q queued, value json.RawMessage) (e *entry, calls int, large bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.tools[k]
	if e == nil {
		e = &entry{}
		s.tools[k] = e
	}
	if large = len(value) > inlineBytes; large {
		s.observeLarge(k, e, q, value)
	}
	return e, e.Calls, large
}

// observeLarge reads a large value in the background: the first four, then ever fewer, one at a
// time.
func (s *Store) observeLarge(k state.ToolName, e *entry, q queued, value json.RawMessage) {
	e.large++
	if s.readingLarge || e.large > 4 && e.large&(e.large-1) != 0 || len(value) > largeBytes || s.closed {
		return
	}
	s.readingLarge = true
	calls := e.Calls
	s.background.Go(func() {
		smp, err := take(value)
		text := textOf(value, calls)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.readingLarge = false
		if err == nil && s.tools[k] == e {
			q.s, q.text = smp, text
			e.learn(s.hash, q)
		}
	})
}

func (e *entry) learn(h hasher, q queued) {
	e.merge(h, q)
	e.schema = nil
	if len(e.queued) < maxQueued {
		e.queued = append(e.queued, q)
	}
}

func (t *learnedTool) merge(h hasher, q queued) {
	t.Calls++
	if len(t.Asked) < maxAsked {
		if asked := h.sum(q.asked[:]); !slices.Contains(t.Asked, asked) {
			t.Asked = append(t.Asked, asked)
		}
	}
	q.merger(h).merge(&t.Root, q.s)
	t.mergeText(h, q)
}

func (q *queued) merger(h hasher) merger {
	return merger{hash: h, args: q.args, query: q.query}
}

func toolName(server, tool string) state.ToolName {
	return state.ToolName{Server: server, Tool: tool}
}

// Type returns the learned type of a tool; ok is false if too little is known to be useful.
func (s *Store) Type(server, tool string) (Type, bool) {
	if err := s.load(); err != nil {
		s.log.Warn("read learned types", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tools[toolName(server, tool)]
	if e == nil || e.Calls < minCalls {
		return Type{}, false
	}
	return e.typ(), true
}

func (e *entry) typ() Type {
	if e.schema == nil {
		e.schema = json.RawMessage(e.Root.schema(0))
	}
	return Type{Calls: e.Calls, Schema: e.schema}
}

// A Tool is the learned type of a tool.
type Tool struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Calls  int             `json:"calls"`
	Schema json.RawMessage `json:"schema"`
}

// List returns all learned types, by server and tool.
func (s *Store) List() ([]Tool, error) {
	err := s.load()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Tool{}
	for k, e := range s.tools {
		if e.Calls > 0 {
			list = append(list, Tool{k.Server, k.Tool, e.Calls, e.typ().Schema})
		}
	}
	slices.SortFunc(list, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return list, err
}

// knows reports whether an earlier call had the same digest.
func (t *learnedTool) knows(asked string) bool {
	return len(t.Asked) == 0 || slices.Contains(t.Asked, asked)
}
