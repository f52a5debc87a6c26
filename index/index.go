// Package index finds tools, prompts, resources and skills by what they do.
// Sync brings an Index up to a new catalogue, and Search is answered from the
// last state meanwhile. docs/search.md says how the order comes about.
//
// Documents, dictionary and postings are bleve's. What is known of a catalogue
// is an immutable index, kept in a directory of its own so that the next start
// and other brokers only open it; what has changed since is in small indexes in
// memory until all of it is built again in the background.
package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// An Index is a searchable catalogue. It is safe for concurrent use: any
// number of searches run beside one Sync. Close it in the end.
type Index struct {
	store   *store // nil keeps nothing
	log     *slog.Logger
	quiet   time.Duration // from a change until everything is built again
	scratch sync.Pool

	mu      sync.RWMutex // what current reads is closed under it
	current *snapshot

	changing sync.Mutex // serialises changes
	wanted   []record   // what the last Sync asked for
	catalog  *discovery.Catalog
	settling bool // a rebuild is under way, or about to be
	done     chan struct{}
	tasks    sync.WaitGroup
}

// A Query is one search.
type Query struct {
	// Text is what the user is looking for, in words or as a tool's name.
	Text string
	// Server restricts the search to one server's config key, if not empty.
	Server string
	// Limit is the number of hits wanted; zero means 8.
	Limit int
	// Favor raises tools, by their ids, among the hits: by at most a fifth of their
	// score, for a share of 1.
	Favor map[string]float64
	// Explain fills in Hit.Words. It costs a second look at the words of each hit.
	Explain bool
}

// A Hit is one thing that was found.
type Hit struct {
	ID    string  // the tool's id, or the id of its Entry
	Kind  string  // what it is if it is not a tool, as in its Entry; "" is a tool
	Score float64 // larger is better; comparable within one search only
	Held  float64 // the share of the query's words that it holds, synonyms and repaired words included
	Words []Match // what each word added to the score, if Query.Explain asked for it
	// General says that it gained as a tool that answers questions of any kind, and
	// Favored the share of its score that Query.Favor added, if Query.Explain asked for
	// it.
	General bool
	Favored float64
}

// A Match is a word of a query that a hit holds.
type Match struct {
	// Word is as typed, and As the stem that answers it: its own, that of a synonym or
	// of a repaired word.
	Word string `json:"word"`
	As   string `json:"as"`
	// Score is what it adds before the bonuses for holding more of the query and for
	// a name that the query covers; Named says that it is in the name.
	Score float64 `json:"score"`
	Named bool    `json:"named,omitempty"`
	// Related says that As is not a synonym, but only related to the word.
	Related bool `json:"related,omitempty"`
}

// Hits is the answer to a Query: the best first, equal scores by id.
type Hits struct {
	Hits  []Hit
	Total int // how many things match at all
	// Unmatched are the words of the query, as typed, that nothing holds, not
	// even after repair. Words that every query has are not among them.
	Unmatched []string
	// Repaired are the words that were taken for typing errors.
	Repaired []Repair
	// Replaced are the words that no tool contains, with the synonyms that replaced
	// them.
	Replaced []Replacement
	// Exact is set if the query is an id, a "server.tool" or a tool's name, or contains
	// several of them; the named tools come first.
	Exact bool
	// Named is the number of hits that the query names.
	Named int
}

// A Repair is a word of the query and what it was taken for.
type Repair struct{ From, To string }

// A Replacement is a word of the query that no tool contains, and the synonyms that
// were searched for instead.
type Replacement struct {
	From string
	To   []string
}

// An Entry is something other than a tool that can be found: a prompt, a
// resource, a skill.
type Entry struct {
	// ID is what Hit gives back; unique among the entries of its Kind.
	ID string
	// Kind says what it is, such as "prompt". It must not be empty.
	Kind string
	// Server is the config key of the server that has it, if one has.
	Server string
	// Name, Title and Description are searched.
	Name, Title, Description string
	// Text returns more that is searched, such as the file that the entry stands
	// for; it is asked when the entry is new, and when Stamp is another. May be
	// nil.
	Text  func() string
	Stamp string
}

// Options are what an Index may be given.
type Options struct {
	// Dir keeps indexes for the next start. Any number of indexes, in any number
	// of processes, may share it. "" keeps everything in memory, and so does a
	// directory that cannot be written.
	Dir string
	// Logger hears of directories that are damaged or cannot be written; nil
	// discards.
	Logger *slog.Logger
}

// New returns an empty index. Nil options are the zero Options.
func New(o *Options) *Index {
	if o == nil {
		o = &Options{}
	}
	x := &Index{log: o.Logger, quiet: 2 * time.Second, catalog: discovery.NewCatalog(nil), current: newSnapshot(nil), done: make(chan struct{})}
	x.current.catalog = x.catalog
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if o.Dir != "" {
		x.store = &store{dir: o.Dir, log: x.log}
	}
	x.tasks.Go(func() { words() }) // in the background, so that neither New nor the first search waits for them
	return x
}

// Close writes what the directory lacks, and releases what the index holds. A Search
// after it finds nothing.
func (x *Index) Close() error {
	x.changing.Lock()
	select {
	case <-x.done:
	default:
		close(x.done)
	}
	x.changing.Unlock()
	x.tasks.Wait()
	x.changing.Lock()
	defer x.changing.Unlock()
	x.save()
	return x.swap(newSnapshot(nil))
}

// Count returns how many tools and entries the index holds.
func (x *Index) Count() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.current.live
}

// Search returns what matches q. A query that is a tool's id, "server.tool" or
// a tool's name puts what it names first. An empty text matches nothing. The
// error is that of ctx.
func (x *Index) Search(ctx context.Context, q Query) (Hits, error) {
	if err := ctx.Err(); err != nil {
		return Hits{}, fmt.Errorf("search: %w", err)
	}
	if q.Limit <= 0 {
		q.Limit = 8
	}
	h, s, err := x.search(q)
	if errors.Is(err, errDamaged) {
		x.log.Warn("the search index was damaged while it was open; it is built again in memory", "err", err)
		if err := x.replaceDamaged(s); err != nil {
			return Hits{}, err
		}
		h, _, err = x.search(q)
	}
	return h, err
}

// search searches the current snapshot, and returns it.
func (x *Index) search(q Query) (h Hits, s *snapshot, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s = x.current
	if !s.onDisk() {
		return s.search(x, q), s, nil
	}
	err = guard(func() { h = s.search(x, q) })
	return h, s, err
}

// search reads the words of q, scores and ranks.
func (s *snapshot) search(x *Index, q Query) Hits {
	p := s.parse(q.Text)
	sc := x.getScratch(len(s.records))
	s.score(sc, p, q.Server)
	s.general(sc, p, q.Server)
	s.preferNamed(sc, p.list)
	sc.favor(s.records, q.Favor)
	s.needs(x, sc, q)
	named := s.named(sc, q)
	h := Hits{Total: len(sc.hits), Unmatched: p.unmatched, Repaired: p.repaired, Replaced: p.replaced, Exact: named > 0, Named: named}
	h.Hits = s.rank(sc.hits, min(q.Limit, len(sc.hits)), max(1, len(p.wanted)+len(p.unmatched)))
	if q.Explain {
		for i := range h.Hits {
			h.Hits[i].Words = s.matches(uint32(sc.hits[i].slot), p.wanted)
			h.Hits[i].General = sc.hits[i].general
			h.Hits[i].Favored = favored * max(0, min(q.Favor[h.Hits[i].ID], 1))
		}
	}
	x.scratch.Put(sc) // not if there was a panic: it would not be clean
	return h
}

// records lists what c and entries have, in the same order whatever the order
// of the entries. Of entries with one kind and id only the first counts.
func records(c *discovery.Catalog, entries []Entry) ([]record, error) {
	tools := c.Tools()
	list := make([]record, 0, len(tools)+len(entries))
	for i := range entries {
		if entries[i].Kind == "" {
			return nil, fmt.Errorf("index: entry %q has no kind", entries[i].ID)
		}
		list = append(list, record{entry: &entries[i]})
	}
	slices.SortStableFunc(list, record.compare)
	list = slices.CompactFunc(list, func(a, b record) bool { return a.key() == b.key() })
	for _, t := range tools {
		list = append(list, record{tool: t})
	}
	return list, nil
}
