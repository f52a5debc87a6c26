package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Detail says how much search_tools tells of each hit.
type Detail string

// The details, from least to most.
const (
	DetailName Detail = "name"
	DetailDesc Detail = "desc"
	DetailFull Detail = "full"
)

// A SearchRequest is one search.
type SearchRequest struct {
	// Query is what the tool should do, or its name; empty lists tools.
	Query string
	// Server restricts the search to one server; a name that is no server's
	// counts as part of the query.
	Server string
	Detail Detail // empty means DetailDesc
	Limit  int    // 1 to 50; zero means 8
}

// A SearchAnswer is what search_tools answers.
type SearchAnswer struct {
	MatchCount  int         `json:"match_count"`
	Showing     int         `json:"showing"`
	Tools       []SearchHit `json:"tools"`
	Suggestions []string    `json:"suggestions,omitempty"`
	Unsearched  []string    `json:"unsearched,omitempty"`
	Note        string      `json:"note,omitempty"`
}

// A SearchHit is one tool of a SearchAnswer; what is in it depends on Detail.
type SearchHit struct {
	Name              string          `json:"name"`
	Server            string          `json:"server"`
	Signature         string          `json:"signature,omitempty"`
	Description       string          `json:"description,omitempty"`
	Declaration       string          `json:"declaration,omitempty"`
	Parameters        json.RawMessage `json:"parameters,omitempty"`
	ParametersOmitted bool            `json:"parameters_omitted,omitempty"`
}

const (
	defaultHits = 8
	maxHits     = 50
	// maxParameterBytes is where a hit's JSON Schema is left out: about 800
	// tokens of schema, at the 3.7 bytes a token that real ones have.
	maxParameterBytes = 3000
	// fewHits is up to how many hits "desc" adds the declaration.
	fewHits = 3
)

// Search finds tools. An error is a mistake in the request, in words for the
// one who made it.
func (b *Broker) Search(ctx context.Context, req SearchRequest) (SearchAnswer, error) {
	if req.Detail == "" {
		req.Detail = DetailDesc
	}
	if !slices.Contains([]Detail{DetailName, DetailDesc, DetailFull}, req.Detail) {
		return SearchAnswer{}, fmt.Errorf("unknown detail %q: use name, desc or full", req.Detail)
	}
	if req.Limit < 0 {
		return SearchAnswer{}, fmt.Errorf("limit is %d: use 1 to %d", req.Limit, maxHits)
	}
	if err := b.sync(); err != nil {
		return SearchAnswer{}, err
	}
	a := SearchAnswer{Tools: []SearchHit{}}
	scope := b.Catalog()
	q := index.Query{Text: clipQuery(req.Query), Limit: min(req.Limit, maxHits)}
	if q.Limit == 0 {
		q.Limit = defaultHits
	}
	if req.Limit > maxHits {
		a.Note = fmt.Sprintf("limit is at most %d", maxHits)
	}
	if req.Server != "" {
		if s, ok := scope.FindServer(req.Server); ok {
			q.Server = s.Listing.Server
		} else {
			q.Text = strings.TrimSpace(req.Server + " " + q.Text)
			a.Note = joinNotes(a.Note, fmt.Sprintf("no server is called %q; it was searched for as words", req.Server))
		}
	}
	found, err := b.find(ctx, scope, q)
	if err != nil {
		return SearchAnswer{}, err
	}
	a.MatchCount, a.Showing = found.Total, len(found.Hits)
	for _, h := range found.Hits {
		if t, ok := scope.Tool(h.ID); ok {
			a.Tools = append(a.Tools, hit(scope, t, req.Detail, len(found.Hits)))
		}
	}
	a.Unsearched = b.unsearched(q.Server)
	if len(a.Tools) == 0 {
		b.explainNothing(&a, scope, q)
	}
	return a, nil
}

// find searches, or lists in catalogue order when there are no words.
func (b *Broker) find(ctx context.Context, scope *discovery.Catalog, q index.Query) (index.Hits, error) {
	if strings.TrimSpace(q.Text) != "" {
		return b.index.Search(ctx, q)
	}
	var all index.Hits
	for _, t := range scope.Tools() {
		if q.Server != "" && t.Server != q.Server {
			continue
		}
		all.Total++
		if len(all.Hits) < q.Limit {
			all.Hits = append(all.Hits, index.Hit{ID: t.ID})
		}
	}
	return all, nil
}

// clipQuery bounds what is searched for: nobody means the rest of 100 kB.
func clipQuery(s string) string {
	const maxQuery = 1000
	if r := []rune(s); len(r) > maxQuery {
		return string(r[:maxQuery])
	}
	return s
}

func hit(c *discovery.Catalog, t *discovery.Tool, d Detail, hits int) SearchHit {
	h := SearchHit{Name: t.ID, Server: t.Server}
	if d == DetailName {
		return h
	}
	s, _ := c.Server(t.Server)
	if d == DetailDesc {
		h.Signature = codegen.Signature(s, t)
		h.Description = marked(codegen.FirstSentence(t.Description, 200), t)
		if hits <= fewHits {
			h.Declaration = codegen.Declaration(s, t)
		}
		return h
	}
	h.Description = marked(t.Description, t)
	h.Declaration = codegen.Declaration(s, t)
	if len(t.InputSchema) > maxParameterBytes {
		h.ParametersOmitted = true
	} else {
		h.Parameters = t.InputSchema
	}
	return h
}

// marked adds that a tool may change something.
func marked(description string, t *discovery.Tool) string {
	if t.ReadOnly() {
		return description
	}
	return strings.TrimSpace(description + " [write]")
}

// unsearched names the servers whose tools are not known, and why.
func (b *Broker) unsearched(server string) []string {
	var names []string
	for _, st := range b.pool.Status() {
		if server != "" && st.Name != server || !b.unlisted(st.Name) {
			continue
		}
		why := string(st.State)
		if e := statusError(st); e != "" {
			why += ": " + e
		}
		names = append(names, st.Name+" ("+why+")")
	}
	return names
}

// explainNothing says what an empty answer means and what is near.
func (b *Broker) explainNothing(a *SearchAnswer, scope *discovery.Catalog, q index.Query) {
	a.Suggestions = suggestions(scope, q)
	switch {
	case len(scope.Tools()) == 0:
		a.Note = joinNotes(a.Note, "no tools are known yet; list_servers says how the servers are")
	case q.Server != "":
		a.Note = joinNotes(a.Note, fmt.Sprintf("nothing on %s matches; try other words, or all servers", q.Server))
	default:
		a.Note = joinNotes(a.Note, "no tool has any of these words; say what it should do in other words")
	}
}

// maxSuggestions is how many near names an empty answer gives.
const maxSuggestions = 5

// suggestions are the servers and tool ids whose names are near the query or
// one of its words.
func suggestions(scope *discovery.Catalog, q index.Query) []string {
	var names []string
	byName := make(map[string][]string)
	add := func(name, suggestion string) {
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], suggestion)
	}
	for _, s := range scope.Servers() {
		if q.Server != "" && q.Server != s.Listing.Server {
			continue
		}
		add(s.Listing.Server, s.Listing.Server)
		for _, t := range s.Tools {
			add(t.Name, t.ID)
			add(t.ID, t.ID)
		}
	}
	var near []string
	for _, word := range append([]string{q.Text}, strings.Fields(q.Text)...) {
		for _, n := range nearest.Names(word, names, 3) {
			for _, s := range byName[n] {
				if !slices.Contains(near, s) && len(near) < maxSuggestions {
					near = append(near, s)
				}
			}
		}
	}
	return near
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
