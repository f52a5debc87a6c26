package find

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
)

// An aside searches what the answers omit, to say so. It is an index of its own, so that
// it changes neither the scores nor the cost of searches where nothing is omitted. The
// zero value is ready to use. It is safe for concurrent use.
type aside struct {
	mu       sync.Mutex
	absences catalog.Absences
	list     []catalog.Absent
	index    *index.Index // nil until something is omitted
}

const (
	// maxAside bounds the omitted tools that are searched.
	maxAside = 1000
	// asideHits is how many of them an answer counts.
	asideHits = 20
	// nearBest is the share of the best score that the others have.
	nearBest = 0.6
	// maxRuns bounds the description of a server with unknown tools, in bytes.
	maxRuns = 2000
)

// An omission is what an answer omits although it matches.
type omission struct {
	tools []catalog.Absent
	// words are those of the query that it has.
	words []string
}

// explain returns found without a word on those of the query that are omitted.
func (o omission) explain(found index.Hits) index.Hits {
	found.Unmatched = slices.DeleteFunc(found.Unmatched, func(w string) bool { return slices.Contains(o.words, w) })
	found.Repaired = slices.DeleteFunc(found.Repaired, func(r index.Repair) bool { return slices.Contains(o.words, r.From) })
	found.Replaced = slices.DeleteFunc(found.Replaced, func(r index.Replacement) bool { return slices.Contains(o.words, r.From) })
	return found
}

// begin searches beside the search of an answer, whose time it does not add to. The
// function that it returns waits for the end. It returns those that have the most words
// of the query of what is denied, and likewise of what is disabled: at least the share
// least of the words, one of them in the name.
func (a *aside) begin(ctx context.Context, c *catalog.Catalog, absences catalog.Absences, q index.Query) func(least float64) (omission, error) {
	q.Limit = asideHits
	var found index.Hits
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, found, err = a.search(ctx, c, absences, q)
	}()
	return func(least float64) (o omission, _ error) {
		<-done
		if err != nil || found.Named == 0 && bestHeld(found) < least {
			return o, err
		}
		q.Explain = true
		list, found, err := a.search(ctx, c, absences, q)
		best := map[bool]index.Hit{} // by whether it is denied
		for i, h := range found.Hits {
			at, err := strconv.Atoi(h.ID)
			if err != nil || at >= len(list) {
				continue
			}
			t := list[at]
			held, named := literally(h)
			first, ok := best[t.Denied != ""]
			if i >= found.Named && (held < max(least, first.Held) || h.Score < nearBest*first.Score || t.Name != "" && !named) {
				continue
			}
			if !ok {
				best[t.Denied != ""] = index.Hit{Held: held, Score: h.Score}
			}
			o.tools = append(o.tools, t)
			for _, w := range h.Words {
				o.words = append(o.words, w.Word)
			}
		}
		return o, err
	}
}

// search searches what c omits, which it returns too. Hits have its indexes as ids.
func (a *aside) search(ctx context.Context, c *catalog.Catalog, absences catalog.Absences, q index.Query) ([]catalog.Absent, index.Hits, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.update(c, absences); err != nil || len(a.list) == 0 {
		return nil, index.Hits{}, err
	}
	found, err := a.index.Search(ctx, q)
	return a.list, found, err
}

// literally returns the share of the query's words that a hit has without related words,
// and whether one of them is in its name.
func literally(h index.Hit) (held float64, named bool) {
	direct := 0
	for _, w := range h.Words {
		if !w.Related {
			direct++
			named = named || w.Named
		}
	}
	return h.Held * float64(direct) / float64(max(1, len(h.Words))), named
}

// update makes the index again if something else is omitted.
func (a *aside) update(c *catalog.Catalog, absences catalog.Absences) error {
	if a.absences == absences {
		return nil
	}
	if a.index == nil {
		a.index = index.New(nil)
	}
	list := c.Absent(absences)
	list = list[:min(len(list), maxAside)]
	entries := make([]index.Entry, len(list))
	for i, t := range list {
		name, about := t.Name, t.Description
		if name == "" {
			name, about = t.Server, about[:min(len(about), maxRuns)]
		}
		entries[i] = index.Entry{ID: strconv.Itoa(i), Kind: "absent", Server: t.Server, Name: name, Description: strings.ToValidUTF8(about, "")}
	}
	if err := a.index.Sync(discovery.NewCatalog(nil), entries); err != nil {
		return err
	}
	a.absences, a.list = absences, list
	return nil
}

func (a *aside) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.index == nil {
		return nil
	}
	return a.index.Close()
}
