// Package index finds tools by what they do. An Index holds a catalogue in a
// bleve index in memory (scorch: the cheaper of bleve's two engines, in time
// and in memory); Sync brings it up to a new catalogue by indexing only what
// changed, and Search is answered from the last state meanwhile.
//
// The index is not kept on disk: building it from cached tool lists takes a
// tenth of a second for a thousand tools, and a bleve directory admits one
// process only, while every client starts a broker of its own.
package index

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// An Index is a searchable catalogue. It is safe for concurrent use: any
// number of searches run beside one Sync.
type Index struct {
	bleve bleve.Index

	mu      sync.Mutex // serialises Sync
	known   map[string]uint64
	entries map[string]Entry
	catalog catalogRef
}

// catalogRef is the catalogue that the index holds, for exact look-ups.
type catalogRef struct {
	sync.RWMutex
	c *discovery.Catalog
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

// Options are what an Index may be given. Nil or zero values are fine.
type Options struct{}

const analyzer = "tools"

// New returns an empty index.
func New(*Options) (*Index, error) {
	m, err := newMapping()
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	// bleve.New with no path is scorch in memory; bleve.NewMemOnly would be
	// the older engine, which takes sixteen times the memory.
	b, err := bleve.New("", m)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &Index{bleve: b, known: make(map[string]uint64), entries: make(map[string]Entry), catalog: catalogRef{c: discovery.NewCatalog(nil)}}, nil
}

// newMapping describes the documents: stemmed text fields without stored
// values, and the server as one keyword.
func newMapping() (mapping.IndexMapping, error) {
	m := bleve.NewIndexMapping()
	err := m.AddCustomAnalyzer(analyzer, map[string]any{
		"type":          custom.Name,
		"tokenizer":     unicode.Name,
		"token_filters": []any{en.PossessiveName, lowercase.Name, en.StopName, porter.Name},
	})
	if err != nil {
		return nil, err
	}
	text := bleve.NewTextFieldMapping()
	text.Analyzer = analyzer
	text.Store, text.IncludeTermVectors, text.DocValues, text.IncludeInAll = false, false, false, false
	key := bleve.NewTextFieldMapping()
	key.Analyzer = keyword.Name
	key.Store, key.IncludeTermVectors, key.DocValues, key.IncludeInAll = false, false, false, false

	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("name", text)
	doc.AddFieldMappingsAt("text", text)
	doc.AddFieldMappingsAt("server", key)
	m.DefaultMapping = doc
	m.DefaultAnalyzer = analyzer
	return m, nil
}

// Close frees the index. Searches must have ended.
func (x *Index) Close() error { return x.bleve.Close() }

// Sync makes the index hold exactly the tools of c, touching only those that
// were added, removed or changed since the last call. Searches go on meanwhile
// and see either state of a tool.
func (x *Index) Sync(c *discovery.Catalog) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	batch := x.bleve.NewBatch()
	seen := make(map[string]bool, len(c.Tools()))
	for _, t := range c.Tools() {
		seen[t.ID] = true
		sum := fingerprint(t)
		if old, ok := x.known[t.ID]; ok && old == sum {
			continue
		}
		if err := batch.Index(t.ID, document(t)); err != nil {
			return fmt.Errorf("index tool %s: %w", t.ID, err)
		}
		x.known[t.ID] = sum
	}
	for id := range x.known {
		if !seen[id] {
			batch.Delete(id)
			delete(x.known, id)
		}
	}
	x.catalog.Lock()
	x.catalog.c = c
	x.catalog.Unlock()
	if batch.Size() == 0 {
		return nil
	}
	if err := x.bleve.Batch(batch); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// SyncEntries makes the index hold exactly these entries beside the tools.
// It may be called with the same entries again at little cost.
func (x *Index) SyncEntries(entries []Entry) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	batch := x.bleve.NewBatch()
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		key := entryKey(e)
		seen[key] = true
		if old, ok := x.entries[key]; ok && old == e {
			continue
		}
		if err := batch.Index(key, entryDocument(e)); err != nil {
			return fmt.Errorf("index %s %s: %w", e.Kind, e.ID, err)
		}
		x.entries[key] = e
	}
	for key := range x.entries {
		if !seen[key] {
			batch.Delete(key)
			delete(x.entries, key)
		}
	}
	if batch.Size() == 0 {
		return nil
	}
	if err := x.bleve.Batch(batch); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// entryKey tells entries from tools, whose ids hold no control characters.
func entryKey(e Entry) string { return e.Kind + "\x1f" + e.ID }

func entryDocument(e Entry) map[string]any {
	text := []string{splitWords(e.Server), splitWords(e.Name), e.Title, splitWords(e.Description)}
	return map[string]any{"name": splitWords(e.Name), "text": strings.Join(text, "\n"), "server": e.Server}
}

// hit makes a Hit of a document's key.
func hit(key string, score float64) Hit {
	if kind, id, ok := strings.Cut(key, "\x1f"); ok {
		return Hit{ID: id, Kind: kind, Score: score}
	}
	return Hit{ID: key, Score: score}
}

// Count returns how many tools the index holds.
func (x *Index) Count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.known)
}

func document(t *discovery.Tool) map[string]any {
	text := []string{splitWords(t.Server), splitWords(t.Name), t.Title, splitWords(t.Description)}
	text = append(text, parameterText(t.InputSchema)...)
	return map[string]any{
		"name":   splitWords(t.Name),
		"text":   strings.Join(text, "\n"),
		"server": t.Server,
	}
}

// fingerprint changes when anything that is searched changes.
func fingerprint(t *discovery.Tool) uint64 {
	h := fnv.New64a()
	for _, s := range []string{t.Server, t.Name, t.Title, t.Description, string(t.InputSchema)} {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// Search returns the tools that match q. A query that is a tool's id or
// "server.tool" puts that tool first. An empty text matches nothing.
func (x *Index) Search(ctx context.Context, q Query) (Hits, error) {
	if q.Limit <= 0 {
		q.Limit = 8
	}
	x.catalog.RLock()
	catalog := x.catalog.c
	x.catalog.RUnlock()

	exact, isExact := catalog.Tool(strings.TrimSpace(q.Text))
	if isExact && q.Server != "" && exact.Server != q.Server {
		isExact = false
	}
	req := bleve.NewSearchRequestOptions(buildQuery(q), q.Limit+1, 0, false)
	req.SortBy([]string{"-_score", "_id"})
	res, err := x.bleve.SearchInContext(ctx, req)
	if err != nil {
		return Hits{}, fmt.Errorf("search: %w", err)
	}
	found := Hits{Total: int(res.Total), Exact: isExact}
	for _, h := range res.Hits {
		if isExact && h.ID == exact.ID {
			continue
		}
		found.Hits = append(found.Hits, hit(h.ID, h.Score))
	}
	// bleve already sorts so; scores that differ only by the order in which
	// its segments were summed are made equal here, and their order ours.
	slices.SortStableFunc(found.Hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(round(b.Score), round(a.Score)), cmp.Compare(a.ID, b.ID))
	})
	if isExact {
		found.Hits = slices.Insert(found.Hits, 0, Hit{ID: exact.ID, Score: res.MaxScore + 1})
		found.Total = max(found.Total, len(found.Hits))
	}
	if len(found.Hits) > q.Limit {
		found.Hits = found.Hits[:q.Limit]
	}
	return found, nil
}

func round(score float64) int64 { return int64(score * 1e9) }

// buildQuery asks for any word of the text, in the name first of all.
func buildQuery(q Query) query.Query {
	text := splitWords(q.Text)
	name := bleve.NewMatchQuery(text)
	name.SetField("name")
	name.SetBoost(1.5)
	all := bleve.NewMatchQuery(text)
	all.SetField("text")
	words := bleve.NewDisjunctionQuery(all, name)
	if q.Server == "" {
		return words
	}
	server := bleve.NewTermQuery(q.Server)
	server.SetField("server")
	server.SetBoost(0)
	return bleve.NewConjunctionQuery(words, server)
}
