package find

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

const (
	// maxSuggestions is how many near names an empty answer gives.
	maxSuggestions = 5
	// maxUnsearched is how many servers are named that could not be searched.
	maxUnsearched = 10
	// maxOddWords bounds the unmatched words, and the replaced ones, that an answer
	// names.
	maxOddWords = 8
)

// unsearched names the servers with unknown tools, and the reasons. full adds the whole
// reason, which is worth its length only if nothing was found.
func (s *search) unsearched(full bool) []string {
	var names []string
	left := 0
	s.status = s.f.catalog.Status()
	for _, st := range s.status {
		if s.server != "" && st.Name != s.server || !s.f.catalog.Unlisted(st.Name) {
			continue
		}
		if len(names) == maxUnsearched {
			left++
			continue
		}
		why := string(st.State)
		if e := statusError(st); full && e != "" {
			why += ": " + e
		}
		names = append(names, gate.Clean(st.Name+" ("+why+")"))
	}
	if left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	return names
}

// explainWords names the words of the query that were corrected, replaced by synonyms,
// or ignored, so that the next query can be better.
func (s *search) explainWords(found index.Hits) {
	var read, odd []string
	for _, r := range found.Repaired {
		read = append(read, fmt.Sprintf("%q was read as %q", gate.Cut(r.From, 30), gate.Cut(r.To, 30)))
	}
	for _, r := range found.Replaced {
		read = append(read, fmt.Sprintf("no tool has the word %q: searched for %s", gate.Cut(r.From, 30), strings.Join(r.To, " or ")))
	}
	for _, w := range found.Unmatched {
		odd = append(odd, gate.Cut(w, 30))
	}
	if len(read) > 0 {
		s.note("%s", enumerate(read))
	}
	if len(odd) > 0 {
		nothing := "nothing"
		if len(s.answer.Unsearched) > 0 {
			nothing = "nothing known so far"
		}
		s.note("%s matches: %s", nothing, enumerate(odd))
	}
}

func enumerate(words []string) string {
	if left := len(words) - maxOddWords; left > 0 {
		words = append(words[:maxOddWords:maxOddWords], fmt.Sprintf("and %d more", left))
	}
	return strings.Join(words, ", ")
}

// explainNothing adds the reason for an empty answer, and near names.
func (s *search) explainNothing(ctx context.Context) error {
	if s.server != "" {
		elsewhere, err := s.f.index.Search(ctx, index.Query{Text: s.text, Limit: 3})
		if err != nil {
			return err
		}
		for _, r := range s.resolve(elsewhere.Hits) {
			s.answer.Suggestions = append(s.answer.Suggestions, r.id())
		}
	}
	if len(s.answer.Suggestions) == 0 {
		s.answer.Suggestions = suggestions(s.scope, s.text, s.server)
	}
	server, _ := s.scope.Server(s.server)
	switch {
	case len(s.scope.Tools()) == 0:
		s.note("no tools are known yet%s; list_servers says how the servers are", s.f.inThisMode())
	case s.server != "" && len(server.Tools) == 0 && len(s.answer.Unsearched) > 0:
		s.note("the tools of %s are not known yet", s.server)
	case s.server != "" && len(server.Tools) == 0:
		s.note("%s has no tools%s", s.server, s.f.inThisMode())
	case s.server != "":
		s.note("nothing on %s matches; try other words, or all servers", s.server)
	case s.explained: // reported above
	case len(s.answer.Unsearched) > 0:
		s.note("no tool of the servers that are listed has any of these words; others are not listed yet")
	default:
		s.note("no tool has any of these words; say what it should do in other words")
	}
	return nil
}

// nearServers are the names of servers that are close to name.
func nearServers(c *discovery.Catalog, name string) []string {
	var names []string
	for _, s := range c.Servers() {
		names = append(names, s.Listing.Server)
	}
	return nearest.Names(name, names, 3)
}

// suggestions returns the servers and tool ids with names near the text or one of its
// words.
func suggestions(scope *discovery.Catalog, text, server string) []string {
	var names []string
	byName := make(map[string][]string)
	add := func(name, suggestion string) {
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], suggestion)
	}
	for _, s := range scope.Servers() {
		if server != "" && server != s.Listing.Server {
			continue
		}
		add(s.Listing.Server, s.Listing.Server)
		for _, t := range s.Tools {
			add(t.Name, t.ID)
			add(t.ID, t.ID)
		}
	}
	words := strings.Fields(text)
	var near []string
	for _, word := range append([]string{text}, words[:min(len(words), 2*maxOddWords)]...) {
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
