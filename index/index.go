// Package index finds tools by what they do. Sync brings an Index up to a new
// catalogue by reading only what changed, and Search is answered from the last
// state meanwhile. docs/search.md says how the order comes about.
//
// The index is not kept on disk: reading ten thousand cached tools takes half a
// second, and a directory would have to be shared by the brokers of all
// clients.
package index

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// An Index is a searchable catalogue. It is safe for concurrent use: any
// number of searches run beside one Sync.
type Index struct {
	current atomic.Pointer[snapshot]

	mu    sync.Mutex     // serialises changes
	slots map[string]int // by record key: the place of its document
	free  []int          // places of documents that were removed
}

// A Query is one search.
type Query struct {
	// Text is what the user is looking for, in words or as a tool's name.
	Text string
	// Server restricts the search to one server's config key, if not empty.
	Server string
	// Limit is the number of hits wanted; zero means 8.
	Limit int
}

// A Hit is one thing that was found.
type Hit struct {
	ID    string  // the tool's id, or the id of its Entry
	Kind  string  // what it is if it is no tool, as in its Entry; "" is a tool
	Score float64 // larger is better; comparable within one search only
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
	// Exact says that the query is an id, a "server.tool" or a tool's name;
	// what it names comes first.
	Exact bool
}

// A Repair is a word of the query and what it was taken for.
type Repair struct{ From, To string }

// An Entry is something that is no tool but can be found: a prompt, a
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
}

// Options are what an Index may be given.
type Options struct {
	// Vectors lets tools be found whose words are other than the query's but
	// mean the like; nil leaves that to the synonyms.
	Vectors *Vectors
}

// New returns an empty index. Nil options are the zero Options.
func New(o *Options) *Index {
	if o == nil {
		o = &Options{}
	}
	words() // they are read here and not in the first search
	x := &Index{slots: map[string]int{}}
	x.current.Store(&snapshot{catalog: discovery.NewCatalog(nil), vocabulary: &vocabulary{}, vectors: o.Vectors})
	return x
}

// Sync makes the index hold exactly the tools of c, touching only those that
// were added, removed or changed since the last call. Searches go on meanwhile
// and see either the old state or the new one.
func (x *Index) Sync(c *discovery.Catalog) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.edit()
	e.next.catalog = c
	for _, t := range c.Tools() {
		e.put(toolRecord(t))
	}
	e.finish(func(kind string) bool { return kind == "" })
}

// SyncEntries makes the index hold exactly these entries beside the tools.
// It may be called with the same entries again at little cost. An entry without
// a kind is an error, and changes nothing.
func (x *Index) SyncEntries(entries []Entry) error {
	for _, entry := range entries {
		if entry.Kind == "" {
			return fmt.Errorf("index: entry %q has no kind", entry.ID)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.edit()
	for _, entry := range entries {
		e.put(entryRecord(entry))
	}
	e.finish(func(kind string) bool { return kind != "" })
	return nil
}

// Count returns how many tools and entries the index holds.
func (x *Index) Count() int { return x.current.Load().live }

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
	s := x.current.Load()
	p := s.parse(q.Text)
	sc := s.getScratch()
	defer s.release(sc, p.wanted)
	sc.prepare(p.wanted)
	s.scoreAll(sc, p.wanted, q.Server)
	if s.vectors != nil {
		s.fuse(sc, p, q.Text, q.Server)
	}
	named := s.named(sc, q)
	hits := s.rank(sc.hits, min(q.Limit, len(sc.hits)))
	return Hits{Hits: hits, Total: len(sc.hits), Unmatched: p.unmatched, Repaired: p.repaired, Exact: named}, nil
}

// named puts what the query names above everything else in sc, and reports
// whether it names anything: by id, by "server.tool", or by a tool's own name,
// which several servers may have.
func (s *snapshot) named(sc *scratch, q Query) bool {
	text := strings.TrimSpace(q.Text)
	if text == "" || len(text) > maxQueryBytes {
		return false
	}
	id := ""
	if t, ok := s.catalog.Tool(text); ok {
		id = t.ID
	}
	name := nearest.Fold(text)
	spaced := strings.ContainsAny(text, " \t\n")
	best := 0.0
	for _, h := range sc.hits {
		best = max(best, h.score)
	}
	found := false
	for slot, d := range s.docs {
		if d == nil || q.Server != "" && d.server != q.Server {
			continue
		}
		above := 0.0
		switch {
		case id != "" && d.hit.ID == id && d.hit.Kind == "":
			above = 2
		case id == "" && !spaced && name != "" && d.name == name:
			above = 1
		default:
			continue
		}
		found = true
		sc.raise(int32(slot), best, above)
	}
	return found
}

// raise gives the document at slot a score that is above best.
func (sc *scratch) raise(slot int32, best, above float64) {
	for i := range sc.hits {
		if sc.hits[i].slot == slot {
			sc.hits[i].score += best + above
			return
		}
	}
	sc.hits = append(sc.hits, scored{slot, best + above})
}
