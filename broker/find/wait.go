package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A patience bounds the wait of an answer for servers that were never listed. If tell
// is not nil, it is called with what the answer waits for. Closing proceed ends the wait;
// nil is never closed.
type patience struct {
	limit   time.Duration
	tell    func(message string)
	proceed <-chan struct{}
}

// awaitListings waits until every server that a search of server for query
// concerns is listed or has failed, a known tool is called exactly as the query,
// ctx is done, or p is at its end.
func (f *Finder) awaitListings(ctx context.Context, server, query string, p patience) {
	if p.limit <= 0 || len(f.catalog.Starting(server)) == 0 {
		return
	}
	f.catalog.StartNow()
	timer := time.NewTimer(p.limit)
	defer timer.Stop()
	likely := f.likely(ctx, query, f.catalog.Starting(server))
	f.catalog.Pool.Prefer(likely)
	var enough <-chan time.Time
	for told := ""; ; {
		changed := f.catalog.Pool.Changed()
		list := f.catalog.Starting(server)
		if len(list) == 0 || f.isToolName(server, query) {
			return
		}
		if enough == nil && f.isListed(likely, list) {
			enough = time.After(othersGrace)
		}
		if text := "waiting for " + enumerate(startingNames(list, false)) + " to start"; p.tell != nil && text != told {
			p.tell(text)
			told = text
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-p.proceed:
			return
		case <-enough:
			if f.bestIsOf(ctx, query, likely) {
				return
			}
			likely = nil // they only sounded like it
			enough = nil
		case <-ctx.Done():
			return
		}
	}
}

// othersGrace is how much longer a search waits once the servers are listed that
// most likely answer it.
const othersGrace = time.Second

// likely are the servers, best first, of which what is known before they are listed
// has to do with query: names, descriptions, packages, and tools of an earlier time.
func (f *Finder) likely(ctx context.Context, query string, list []upstream.Starting) []string {
	if len(list) < 2 || strings.TrimSpace(query) == "" {
		return nil
	}
	var about []discovery.Listing
	for _, s := range list {
		tool := discovery.ListedTool{Name: s.Name, Description: f.catalog.Pool.About(s.Name)}
		about = append(about, discovery.Listing{Server: s.Name, Tools: []discovery.ListedTool{tool}})
	}
	x, known := index.New(nil), discovery.NewCatalog(about)
	defer x.Close()
	if err := x.Sync(known, nil); err != nil {
		return nil
	}
	hits, err := x.Search(ctx, index.Query{Text: gate.Cut(query, maxQuery), Limit: len(list)})
	if err != nil {
		return nil
	}
	var names []string
	for _, h := range hits.Hits {
		if t, ok := known.Tool(h.ID); ok {
			names = append(names, t.Server)
		}
	}
	for _, l := range about {
		if !slices.Contains(names, l.Server) && sharesWord(query, l.Server+" "+l.Tools[0].Description) {
			names = append(names, l.Server)
		}
	}
	return names
}

// sharesWord reports whether a word of query begins one of about, such as that of a
// file and "filesystem". Short words begin too many.
func sharesWord(query, about string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	}
	for _, q := range words(query) {
		q = strings.TrimSuffix(q, "s")
		if len(q) >= 4 && slices.ContainsFunc(words(about), func(w string) bool { return strings.HasPrefix(w, q) }) {
			return true
		}
	}
	return false
}

// isListed reports whether none of the likely servers is still starting, and the
// best of them is listed.
func (f *Finder) isListed(likely []string, starting []upstream.Starting) bool {
	return len(likely) > 0 && !f.catalog.Unlisted(likely[0]) &&
		!slices.ContainsFunc(starting, func(s upstream.Starting) bool { return slices.Contains(likely, s.Name) })
}

// bestIsOf reports whether the best hit among the tools that are listed is one of
// these servers.
func (f *Finder) bestIsOf(ctx context.Context, query string, servers []string) bool {
	if f.Sync() != nil {
		return false
	}
	hits, err := f.index.Search(ctx, index.Query{Text: gate.Cut(query, maxQuery), Limit: 1})
	if err != nil || len(hits.Hits) == 0 {
		return false
	}
	t, ok := f.catalog.Scope().Tool(hits.Hits[0].ID)
	return ok && slices.Contains(servers, t.Server)
}

// isToolName reports whether query is the id or the name of a known tool, of
// server if that is one. A tool that read-only mode hides counts: the answer
// says so.
func (f *Finder) isToolName(server, query string) bool {
	full, _ := f.catalog.Both()
	query = strings.TrimSpace(query)
	ids := catalog.SameName(full, query)
	if t, ok := full.Tool(query); ok {
		ids = append(ids, t.ID)
	}
	only, ok := full.FindServer(strings.TrimSpace(server))
	return slices.ContainsFunc(ids, func(id string) bool {
		t, known := full.Tool(id)
		return known && (!ok || t.Server == only.Listing.Server)
	})
}

// startingNote names the servers that are still starting, and says what to do.
func startingNote(list []upstream.Starting) string {
	if len(list) == 0 {
		return ""
	}
	return "still starting: " + enumerate(startingNames(list, true)) + "; ask again in a few seconds"
}

func startingNames(list []upstream.Starting, since bool) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = gate.Clean(gate.Cut(s.Name, 60))
		if since {
			names[i] += fmt.Sprintf(" (%d s)", int(time.Since(s.Since).Seconds()))
		}
	}
	return names
}
