package find

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxAbsent bounds the held tools, the disabled servers and the failed servers that
	// an answer names, each.
	maxAbsent = 3
	// maxFailure bounds the cause of a server's failure, in characters.
	maxFailure = 150
)

// explainAbsent adds notes about tools that are held back, disabled servers, and hits
// of failed servers. It reads only the name of a tool that is held back, since the rest
// is not approved.
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
