// Package usage learns which tools were called after which searches, for the search to
// raise them a little next time.
//
// A Store learns from the record of executions, in events of kind
// state.EventSearchUsed, and forgets what the record forgets. What one owner does never
// counts for another.
package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A Who is a conversation of an owner.
type Who struct{ Owner, Session string }

// Options are what a Store works with.
type Options struct {
	// Journal records what was learned; nil keeps it in memory.
	Journal state.Journal
	// History has what was recorded; nil reads nothing.
	History state.History
	Logger  *slog.Logger // nil discards
}

const (
	// maxWaiting bounds what waits to be learned from; more is dropped.
	maxWaiting = 256
	// reread is how often the record is read again while there is something to learn.
	reread = time.Minute
	// maxEvents is how many events of the record are read.
	maxEvents = 5000
	// firstRead bounds how long a search waits for the first reading.
	firstRead = 100 * time.Millisecond
)

// A Store is safe for concurrent use. Searched and Called do not block.
type Store struct {
	o     Options
	begin sync.Once
	stop  context.CancelFunc
	tasks sync.WaitGroup
	work  chan message
	read  chan struct{} // closed after the first reading

	mu     sync.RWMutex
	closed bool
	people map[string]*person // by key
}

// A message is a search, or calls.
type message struct {
	who    Who
	words  []string
	tools  []string
	search bool
}

// New returns a store that has learned nothing yet: it reads the record when it is
// first used.
func New(o *Options) *Store {
	s := &Store{work: make(chan message, maxWaiting), read: make(chan struct{}), people: make(map[string]*person)}
	if o != nil {
		s.o = *o
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// Begin reads the record in the background, unless that has begun. It returns at once.
func (s *Store) Begin() {
	s.begin.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.tasks.Go(func() { s.learn(ctx) })
	})
}

// Close ends what goes on in the background.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.tasks.Wait()
	return nil
}

// Searched notes that a conversation has searched for words, and which tools matched,
// best first.
func (s *Store) Searched(who Who, words, tools []string) {
	if len(words) > 0 && len(tools) > 0 {
		s.send(message{who, words, tools, true})
	}
}

// Called notes which tools a conversation has called with success.
func (s *Store) Called(who Who, tools []string) {
	if len(tools) > 0 {
		s.send(message{who: who, tools: tools})
	}
}

func (s *Store) send(m message) {
	s.Begin()
	select {
	case s.work <- m:
	default: // learning less is better than waiting
	}
}

// Knows reports whether owner has called anything after a search.
func (s *Store) Knows(owner string) bool {
	s.awaitFirst()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.people[keyOf(owner)] != nil
}

// awaitFirst waits for the first reading, for a while.
func (s *Store) awaitFirst() {
	s.Begin()
	select {
	case <-s.read:
		return
	default:
	}
	wait := time.NewTimer(firstRead)
	defer wait.Stop()
	select {
	case <-s.read:
	case <-wait.C:
	}
}

// Favor returns the tools that owner has called after searches for similar words, each
// with a share from 0 to 1; nil if there are none. The words are sorted.
func (s *Store) Favor(owner string, words []string) map[string]float64 {
	if len(words) == 0 {
		return nil
	}
	s.awaitFirst()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.people[keyOf(owner)].favor(words)
}

// keyOf returns what the record has in place of the name of an owner; it is empty for
// the user of the state.
func keyOf(owner string) string {
	if owner == state.Local {
		return ""
	}
	sum := sha256.Sum256([]byte("usage " + owner))
	return hex.EncodeToString(sum[:12])
}

// learn reads the record and then learns from messages, until ctx is done.
func (s *Store) learn(ctx context.Context) {
	s.load(ctx)
	close(s.read)
	loaded := time.Now()
	recent := recents{}
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.work:
			if time.Since(loaded) > reread {
				s.load(ctx)
				loaded = time.Now()
			}
			if m.search {
				recent.add(m)
				continue
			}
			for _, tool := range m.tools {
				if words := recent.before(m.who, tool); words != nil {
					s.used(m.who.Owner, words, tool)
				}
			}
		}
	}
}

// used learns that a tool was called after a search for words, and records it unless
// that adds nothing.
func (s *Store) used(owner string, words []string, tool string) {
	key, now := keyOf(owner), time.Now()
	s.mu.Lock()
	p := s.personLocked(key)
	known := p != nil && p.knows(words, tool, now)
	if p != nil && !known {
		p.add(words, tool, now)
	}
	s.mu.Unlock()
	if s.o.Journal != nil && p != nil && !known {
		s.o.Journal.Note(state.Event{Kind: state.EventSearchUsed, Name: tool, Digest: key, Detail: strings.Join(words, " ")})
	}
}

// personLocked returns the person with a key, or nil if maxPeople are known.
func (s *Store) personLocked(key string) *person {
	p := s.people[key]
	if p == nil && len(s.people) < maxPeople {
		p = newPerson()
		s.people[key] = p
	}
	return p
}

// load replaces what is known by what the record has.
func (s *Store) load(ctx context.Context) {
	if s.o.History == nil {
		return
	}
	list, err := s.o.History.Events(ctx, time.Time{}, maxEvents)
	if err != nil {
		if ctx.Err() == nil {
			s.o.Logger.Warn("read what searches led to", "err", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people = make(map[string]*person)
	for _, e := range slices.Backward(list) { // beyond maxPeople, the latest count
		if e.Kind != state.EventSearchUsed {
			continue
		}
		if p := s.personLocked(e.Digest); p != nil {
			p.add(strings.Fields(e.Detail), e.Name, e.Time)
		}
	}
}
