package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Detail is the level of detail of search_tools.
type Detail string

// The details, from least to most.
const (
	DetailName Detail = "name"
	DetailDesc Detail = "desc"
	DetailFull Detail = "full"
)

// A SearchRequest is one search.
type SearchRequest struct {
	// Query is what the tool should do, or its name. Without words in it the
	// answer is for browsing: the servers with their first tools, or a
	// server's tools in its own order.
	Query string
	// Server restricts the search to one server; an unknown name counts as part of the
	// query.
	Server string
	// Detail is empty for DetailDesc, or DetailName when browsing.
	Detail Detail
	// Limit is 1 to 50, more counts as 50; zero means 8, or 50 when browsing
	// names.
	Limit int
	// Offset leaves out that many of the best hits, to page on.
	Offset int
	// Expand gives each of several equal tools a place of its own.
	Expand bool
	// NoWait searches only the tools that are listed now. Closing GoOn ends the wait
	// for other servers; nil is never closed. If GoOn is set, the answer has no note
	// about starting servers: the caller shows them.
	NoWait bool
	GoOn   <-chan struct{}

	// who searches, and learns is set if its calls show what was found.
	who    usage.Who
	learns bool
}

// An Explained describes the rank of one hit of a SearchAnswer.
type Explained struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
	// Score is comparable within one search; Held is the share of the query's words.
	Score float64       `json:"score"`
	Held  float64       `json:"held"`
	Words []index.Match `json:"words"`
	// General says that it gained as a tool that answers questions of any kind.
	General bool `json:"general,omitempty"`
	// Favored is the share of the score that it gained because it was called after
	// similar searches.
	Favored float64 `json:"favored,omitempty"`
}

// Explain returns the scores of the best hits of a request, in the order of the index:
// before equal tools are grouped and other entries are inserted.
func (f *Finder) Explain(ctx context.Context, req SearchRequest) ([]Explained, error) {
	if err := cmp.Or(req.check(), f.Sync()); err != nil {
		return nil, err
	}
	s := &search{f: f, scope: f.catalog.Scope(), req: req}
	s.readQuery()
	q := s.query(req.Offset + min(cmp.Or(req.Limit, defaultHits), maxHits))
	q.Explain = true
	found, err := f.index.Search(ctx, q)
	list := []Explained{}
	for _, h := range found.Hits {
		list = append(list, Explained{Name: h.ID, Kind: h.Kind, Score: h.Score, Held: h.Held, Words: append([]index.Match{}, h.Words...), General: h.General, Favored: h.Favored})
	}
	return list, err
}

// A SearchAnswer is what search_tools answers.
type SearchAnswer struct {
	// MatchCount is how many match at all, Showing how many of them are here.
	MatchCount int         `json:"match_count"`
	Showing    int         `json:"showing"`
	Tools      []SearchHit `json:"tools"`
	// Servers are there when browsing all of them.
	Servers []BrowsedServer `json:"servers,omitempty"`
	// Instructions are those of the servers of hits, where a conversation has not had
	// them yet.
	Instructions []ServerInstructions `json:"instructions,omitempty"`
	// Suggestions are near names, when nothing was found.
	Suggestions []string `json:"suggestions,omitempty"`
	// Unsearched are the servers with unknown tools, each with the reason.
	Unsearched []string `json:"unsearched,omitempty"`
	// Note says in words what the rest does not.
	Note string `json:"note,omitempty"`
}

const (
	defaultHits = 8
	maxHits     = 50
	maxOffset   = 1_000_000
	// maxQuery bounds the searched part of a query, in characters.
	maxQuery = 1000
)

// Search finds tools, and whatever else there is to find. After Start it waits,
// for up to Options.SearchWait, for servers that were never listed. An error is a
// mistake in the request, in words for the one who made it.
func (f *Finder) Search(ctx context.Context, req SearchRequest) (SearchAnswer, error) {
	p := patience{limit: f.opts.Load().SearchWait, proceed: req.GoOn}
	if req.NoWait {
		p.limit = 0
	}
	return f.search(ctx, req, f.opts.Load().Mode == surface.ModeTools, p)
}

// search is Search for a client that writes code, or for one that calls tools
// one by one.
func (f *Finder) search(ctx context.Context, req SearchRequest, callsOnly bool, p patience) (SearchAnswer, error) {
	if err := req.check(); err != nil {
		return SearchAnswer{}, err
	}
	f.awaitListings(ctx, req.Server, req.Query, p)
	starting := f.catalog.Starting(req.Server) // before what they list is searched
	if err := f.Sync(); err != nil {
		return SearchAnswer{}, err
	}
	full, scope := f.catalog.Both()
	s := &search{f: f, full: full, scope: scope, req: req, renderer: renderer{types: wanting(f.catalog.Types(), req.Query), lines: &f.lines, scope: scope, marks: f.catalog, detail: req.Detail, callsOnly: callsOnly}}
	s.answer.Tools = []SearchHit{}
	if req.Limit > maxHits {
		s.req.Limit = maxHits
		s.note("limit is at most %d", maxHits)
	}
	s.readQuery()
	s.lower = strings.ToLower(s.text)
	if s.text == "" {
		s.browse(ctx)
	} else if err := s.find(ctx); err != nil {
		return SearchAnswer{}, err
	}
	if req.GoOn == nil {
		s.answer.Note = joinNotes(s.answer.Note, startingNote(starting))
	}
	return s.answer, context.Cause(ctx)
}

func (r SearchRequest) check() error {
	if !slices.Contains([]Detail{"", DetailName, DetailDesc, DetailFull}, r.Detail) {
		return fmt.Errorf("unknown detail %q: use name, desc or full", gate.Cut(string(r.Detail), 40))
	}
	if r.Limit < 0 {
		return fmt.Errorf("limit is %d: use 1 to %d", r.Limit, maxHits)
	}
	if r.Offset < 0 || r.Offset > maxOffset {
		return fmt.Errorf("offset is %d: use 0 to %d", r.Offset, maxOffset)
	}
	return nil
}

// A search is one call of Search under way.
type search struct {
	f        *Finder
	full     *discovery.Catalog // with what is denied
	scope    *discovery.Catalog
	req      SearchRequest
	renderer renderer
	text     string // what is searched for; empty to browse
	lower    string // the same in lower case
	folded   bool   // see fold
	server   string // config key, or empty for all
	// explained is set if the note names what the answer omits although it matches.
	explained bool
	status    []upstream.Status
	answer    SearchAnswer
}

func (s *search) note(format string, args ...any) {
	s.answer.Note = joinNotes(s.answer.Note, fmt.Sprintf(format, args...))
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// readQuery determines the text and the server of the search. The name of an unknown
// server is a model's guess, so it becomes a word of the query instead of an empty
// answer.
func (s *search) readQuery() {
	s.text = s.words(s.req.Query)
	name := strings.TrimSpace(s.req.Server)
	if name == "" {
		return
	}
	if server, ok := s.scope.FindServer(name); ok {
		s.server = server.Listing.Server
		return
	}
	if slices.Contains(s.f.catalog.Disabled(), name) {
		s.note("server %s is disabled: broker servers enable %s", gate.Name(name), gate.Name(name))
		return
	}
	s.text = s.words(name + " " + s.text)
	note := fmt.Sprintf("no server is called %q", gate.Cut(cleanWords(name), 60))
	if near := nearServers(s.scope, name); len(near) > 0 {
		note += " (did you mean " + strings.Join(near, ", ") + "?)"
	}
	s.note("%s; it was searched for as words", note)
}

// words returns the query without control characters, cut to its bound.
func (s *search) words(query string) string {
	query = cleanWords(query)
	if r := []rune(query); len(r) > maxQuery {
		s.note("only the first %d characters of the query were searched for", maxQuery)
		query = string(r[:maxQuery])
	}
	if strings.IndexFunc(query, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) < 0 {
		if query != "" {
			s.note("the query has no words, so this is what there is to find")
		}
		return ""
	}
	return query
}

// cleanWords replaces control characters and invalid UTF-8 by blanks.
func cleanWords(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text))
}

const (
	// foldDepth is how far down the ranking equal tools are looked for, and maxLooked how
	// far at most where the first ones have equals, or are not tools.
	foldDepth = 50
	maxLooked = 4000
)

// find searches for s.text.
func (s *search) find(ctx context.Context) error {
	limit := s.req.Limit
	if limit == 0 {
		limit = defaultHits
	}
	q := s.query(s.req.Offset + limit + foldDepth)
	omitted := s.omitted(ctx)
	found, err := s.f.index.Search(ctx, q)
	absent, failed := omitted(max(fitsWell, bestHeld(found)))
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	if s.req.Limit == 0 && found.Named > limit { // a list of names returns all of them
		limit = min(found.Named, maxHits)
	}
	results := s.fold(s.resolve(found.Hits), s.req.Offset+limit)
	if found.Total > q.Limit && (offersIn(results) > maxOffersFirst || len(results) < s.req.Offset+limit || s.folded) { // tools may be anywhere behind offers and equal ones
		q.Limit = min(found.Total, s.req.Offset+limit+maxLooked)
		if found, err = s.f.index.Search(ctx, q); err != nil {
			return err
		}
		results = s.fold(s.resolve(found.Hits), s.req.Offset+limit)
	}
	s.answer.MatchCount = found.Total
	if results, err = s.withPassages(ctx, toolsFirst(results), &found); err != nil {
		return err
	}
	s.learn(results)
	results = results[min(s.req.Offset, len(results)):]
	results = results[:min(limit, len(results))]
	s.answer.Unsearched = s.unsearched(len(results) == 0)
	s.show(ctx, results)
	if t, ok := s.f.catalog.Hidden(s.text); ok {
		s.explained = true
		s.note("a tool has this name, but it cannot be called: %s", s.f.catalog.Denied(t).Message)
	} else {
		s.explainWords(absent.explain(found))
	}
	s.explainFit(found, len(results))
	s.explainAbsent(results, absent.tools)
	switch {
	case len(results) > 0:
	case s.answer.MatchCount > 0:
		s.note("there are only %d", s.answer.MatchCount)
	default:
		return s.explainNothing(ctx)
	}
	return nil
}

// show renders what was found, until ctx is done.
func (s *search) show(ctx context.Context, results []result) {
	s.answer.Showing = len(results)
	said, explained, folded := false, false, false // give each advice once
	for _, r := range results {
		if ctx.Err() != nil {
			return
		}
		h := s.renderer.hit(s.scope, r, len(results))
		for _, t := range r.also[:min(len(r.also), maxAlso)] {
			h.Also = append(h.Also, t.ID)
		}
		h.AlsoMore = len(r.also) - len(h.Also)
		folded = folded || len(r.also) > 0
		if !said && r.tool != nil {
			before := h.Signature
			h.Signature = withMore(before)
			said = h.Signature != before
		}
		if !explained && r.tool != nil {
			explained = s.renderer.explainResult(&h, r.tool)
		}
		s.answer.Tools = append(s.answer.Tools, h)
	}
	describe(s.answer.Tools)
	if folded {
		s.note(`"also": the same tool of other servers ("expand": true lists each)`)
	}
}

// A result is one thing that was found: a tool, or an entry.
type result struct {
	tool    *discovery.Tool
	also    []*discovery.Tool // equal ones of other servers
	entry   *Entry
	passage *Passage // of a skill that was found by its files
}

// resolve looks hits up. One that was found and is gone meanwhile is left out.
func (s *search) resolve(hits []index.Hit) []result {
	results := make([]result, 0, len(hits))
	for _, h := range hits {
		if h.Kind != "" {
			if e, ok := s.f.entries.find(h.Kind, h.ID); ok && (e.Signature == "" || !s.renderer.callsOnly) {
				results = append(results, result{entry: e})
			}
			continue
		}
		if t, ok := s.scope.Tool(h.ID); ok {
			results = append(results, result{tool: t})
		}
	}
	return results
}

const (
	// maxPassages is how many skills a search finds by their files, and
	// passagesAt how many other hits come before them.
	maxPassages = 3
	passagesAt  = 5
)

// A Passage is a part of a skill's file that matches a query.
type Passage struct {
	Skill    string `json:"-"` // its Ref
	File     string `json:"file"`
	Fragment string `json:"fragment"`
}

// withPassages adds the skills with files that match the query, after the best of the
// other hits. Words that these files contain are not reported as unmatched.
func (s *search) withPassages(ctx context.Context, results []result, found *index.Hits) ([]result, error) {
	if s.server != "" || s.f.library == nil {
		return results, nil
	}
	passages, unmatched, err := s.f.library.Passages(ctx, s.text, maxPassages)
	if err != nil || len(passages) == 0 {
		return results, err
	}
	found.Unmatched = slices.DeleteFunc(found.Unmatched, func(w string) bool { return !slices.Contains(unmatched, w) })
	var added []result
	for _, p := range passages {
		at := slices.IndexFunc(results, func(r result) bool { return r.entry != nil && r.entry.Kind == KindSkill && r.entry.ID == p.Skill })
		switch {
		case at >= 0 && at < passagesAt:
			results[at].passage = &p
		case at >= 0:
			added = append(added, result{entry: results[at].entry, passage: &p})
			results = slices.Delete(results, at, at+1)
		default:
			if e, ok := s.f.entries.find(KindSkill, p.Skill); ok {
				added = append(added, result{entry: e, passage: &p})
				s.answer.MatchCount++
			}
		}
	}
	return slices.Insert(results, min(passagesAt, len(results)), added...), nil
}
