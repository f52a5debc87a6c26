package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A patience is how long an answer may wait for servers that were never listed,
// and who hears what it waits for; tell may be nil.
type patience struct {
	limit time.Duration
	tell  func(message string)
}

// awaitListings waits until every server that a search of server for query
// concerns is listed or has failed, a known tool is called exactly as the query,
// ctx is done, or p is at its end.
func (f *Finder) awaitListings(ctx context.Context, server, query string, p patience) {
	if p.limit <= 0 || len(f.catalog.Starting(server)) == 0 {
		return
	}
	timer := time.NewTimer(p.limit)
	defer timer.Stop()
	for told := ""; ; {
		changed := f.catalog.Pool.Changed()
		list := f.catalog.Starting(server)
		if len(list) == 0 || f.isToolName(server, query) {
			return
		}
		if text := "waiting for " + enumerate(startingNames(list, false)) + " to start"; p.tell != nil && text != told {
			p.tell(text)
			told = text
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
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

// startingNote says which servers are still starting, and what to do.
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
