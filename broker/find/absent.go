package find

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxAbsent bounds the held tools, the disabled servers and the failed servers that
	// an answer names, each.
	maxAbsent = 3
	// maxFailure bounds the cause of a server's failure, in characters.
	maxFailure = 150
	// maxReason bounds a reason of a rule, in characters.
	maxReason = 80
)

// fitsWell is the share of a query's words that a hit has if it fits well.
const fitsWell = 0.5

// explainFit adds a note if no hit has much of the query.
func (s *search) explainFit(found index.Hits, shown int) {
	if shown > 0 && !found.Exact && bestHeld(found) < fitsWell {
		s.note("nothing fits well: these are the nearest, and none has half of these words")
	}
}

// bestHeld returns the largest share of the query's words that one of the first hits has.
func bestHeld(found index.Hits) (best float64) {
	for _, h := range found.Hits[:min(len(found.Hits), defaultHits)] {
		best = max(best, h.Held)
	}
	return best
}

// omitted begins to search what the answer omits; see aside.begin.
func (s *search) omitted(ctx context.Context) func(least float64) (omission, error) {
	absences, some := s.f.catalog.Absences(s.full, s.scope)
	if !some {
		return func(float64) (omission, error) { return omission{}, nil }
	}
	return s.f.aside.begin(ctx, s.f.catalog, absences, index.Query{Text: s.text, Server: s.server})
}

// explainAbsent adds notes about what the answer omits although it matches as well as the
// hits: denied tools, tools that are held back, disabled servers; and about hits of failed
// servers. It reads only the name of a tool that is held back, since the rest is not
// approved.
func (s *search) explainAbsent(hits []result, omitted []catalog.Absent) {
	if !s.explained {
		s.explainDenied(omitted)
	}
	s.explainHeld()
	s.explainDisabled(omitted)
	s.explainFailed(hits)
}

// explainDenied names the omitted tools that the policy denies, with the reasons.
func (s *search) explainDenied(omitted []catalog.Absent) {
	var names, reasons []string
	for _, t := range omitted {
		if t.Denied == "" {
			continue
		}
		names = append(names, gate.Name(t.ID))
		if why := gate.Cut(gate.Line(t.Denied), maxReason); !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if len(names) == 0 {
		return
	}
	s.explained = true
	match := "1 tool that matches is"
	if len(names) > 1 {
		match = fmt.Sprintf("%d tools that match are", len(names))
		if len(omitted) == asideHits {
			match = "many tools that match are"
		}
	}
	s.note("%s denied by the policy (%s): %s", match, few(reasons), few(names))
}

// explainHeld names the matching tools that are held back.
func (s *search) explainHeld() {
	var held []string
	for _, server := range s.scope.Servers() {
		if s.server != "" && server.Listing.Server != s.server {
			continue
		}
		for _, h := range server.Held {
			if h.Kind == "tool" && named(s.text, h.Name) {
				held = append(held, fmt.Sprintf("%s (broker pins diff %s)", gate.Name(h.Name), gate.Name(server.Listing.Server)))
			}
		}
	}
	if len(held) > 0 {
		s.note("held back until a person approves: %s", few(held))
	}
}

// explainDisabled names the disabled servers that the query names, and those of omitted
// tools.
func (s *search) explainDisabled(omitted []catalog.Absent) {
	var off []string
	for _, name := range s.f.catalog.Disabled() {
		var has []string
		found := false
		for _, t := range omitted {
			if t.Denied == "" && t.Server == name {
				found = true
				if t.Name != "" {
					has = append(has, gate.Name(t.Name))
				}
			}
		}
		if !found && !(s.server == "" && named(s.text, name)) {
			continue
		}
		what := gate.Name(name) + " ("
		if len(has) > 0 {
			what += "has " + few(has) + "; "
		}
		off = append(off, what+"broker servers enable "+gate.Name(name)+")")
	}
	s.explained = s.explained || len(off) > 0
	if len(off) > 0 {
		s.note("disabled, so its tools are not searched: %s", few(off))
	}
}

// explainFailed names the failed servers of hits, with the cause. Their tools are known
// from before.
func (s *search) explainFailed(hits []result) {
	var failed []string
	for _, st := range s.status {
		if st.Err != nil && st.State == upstream.StateFailed && slices.ContainsFunc(hits, func(r result) bool { return r.tool != nil && r.tool.Server == st.Name }) {
			failed = append(failed, gate.Name(st.Name)+" ("+gate.Cut(gate.Line(st.Err.Error()), maxFailure)+")")
		}
	}
	if len(failed) > 0 {
		s.note("failed, so calls of its tools may fail: %s", few(failed))
	}
}

// few joins the first of some texts.
func few(texts []string) string {
	if left := len(texts) - maxAbsent; left > 0 {
		texts = append(texts[:maxAbsent:maxAbsent], fmt.Sprintf("and %d more", left))
	}
	return strings.Join(texts, ", ")
}

// named reports whether a word of query is a word of name or a prefix of one.
func named(query, name string) bool {
	words := nameWords(name)
	return sharesWord(query, strings.Join(words, " ")) || slices.ContainsFunc(nameWords(query), func(q string) bool {
		return len(q) > 1 && slices.Contains(words, q)
	})
}

// nameWords splits a name such as "putObject" or "put_object" into lower-case words.
func nameWords(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		if lower || r >= 'A' && r <= 'Z' || r > 127 {
			b.WriteRune(r)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}
