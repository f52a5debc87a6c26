package find

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxAbsent is how many held tools, disabled servers and failed servers an answer
	// names, of each.
	maxAbsent = 3
	// maxFailure is how many characters say why the server of a hit has failed.
	maxFailure = 150
)

// explainAbsent names what would have been found: tools that are held back, servers that
// are disabled, and hits whose server has failed. Of tools that are held back only the
// name is read: the rest is what nobody has approved.
func (s *search) explainAbsent(hits []result) {
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
	var off []string
	for _, name := range s.f.catalog.Disabled() {
		if s.server == "" && named(s.text, name) {
			off = append(off, fmt.Sprintf("%s (broker servers enable %s)", gate.Name(name), gate.Name(name)))
		}
	}
	if len(off) > 0 {
		s.note("disabled, so its tools are not searched: %s", few(off))
	}
	s.explainFailed(hits)
}

// explainFailed names the servers of hits that have failed, with the cause: their tools
// are known from before.
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

// named reports whether a word of query is one of name, or begins one.
func named(query, name string) bool {
	words := nameWords(name)
	return sharesWord(query, strings.Join(words, " ")) || slices.ContainsFunc(nameWords(query), func(q string) bool {
		return len(q) > 1 && slices.Contains(words, q)
	})
}

// nameWords splits a name such as "putObject" or "put_object" into words in small letters.
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
