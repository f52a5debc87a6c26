package index

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// named moves the documents that the query names to the top of sc, in the order of the
// query, and returns their number. A name is an id, a "server.tool", or a tool's own
// name, which several servers may share. A name of one word between others counts as a
// word.
func (s *snapshot) named(sc *scratch, q Query) int {
	text := strings.TrimSpace(q.Text)
	if text == "" || len(text) > maxQueryBytes {
		return 0
	}
	n := namer{snapshot: s, sc: sc, server: q.Server}
	if n.name(text, maxQueryWords); n.found > 0 || !mayHaveNames(text) {
		return n.found
	}
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
	list = list[:min(len(list), maxQueryWords)]
	all := s.allNames(list)
	for i, w := range list {
		w = unquoted(w)
		if all || severalParts(w) {
			n.name(w, len(list)-i)
		}
	}
	return n.found
}

// separators separate the names in a query.
const separators = " \t\r\n,;|+"

// mayHaveNames reports whether a text has several words and one that looks like a name:
// a capital after a small letter, or a separator between two letters.
func mayHaveNames(text string) bool {
	several, name := false, false
	for i := 1; i+1 < len(text) && !(several && name); i++ {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z':
			name = name || 'a' <= text[i-1] && text[i-1] <= 'z'
		case 'a' <= c && c <= 'z':
		case c >= '0' && c <= '9', c >= utf8.RuneSelf, strings.IndexByte("_-./:", c) >= 0:
			name = name || text[i-1] != ' ' && text[i+1] != ' '
		default:
			several = several || strings.IndexByte(separators, c) >= 0
		}
	}
	return several && name
}

// unquoted returns a word of a query without punctuation around it, and without the
// prefix "select:" of some clients' lists of names.
func unquoted(w string) string {
	w, _ = strings.CutPrefix(strings.Trim(w, "\"'`()[]{}<>.:!?"), "select:")
	return w
}

// severalParts reports whether a word can only be the name of a tool, such as
// list_issues or listIssues.
func severalParts(w string) bool {
	if strings.ContainsAny(w, "_-./:") {
		return true
	}
	several := false
	pieces(w, func(p piece) bool {
		several = several || !p.unspaced && len(p.parts) > 1
		return false
	})
	return several
}

// allNames reports whether a query is a list of names: all of its words are names, and
// at least one has several parts.
func (s *snapshot) allNames(list []string) bool {
	several := false
	for _, w := range list {
		if w = unquoted(w); w == "" {
			continue
		}
		if _, ok := s.catalog.Tool(w); !ok {
			known := false
			s.folded(nearest.Fold(w), "", func(int, record) { known = true })
			if !known {
				return false
			}
		}
		several = several || severalParts(w)
	}
	return several
}

// A namer raises the documents that the query names.
type namer struct {
	*snapshot
	sc     *scratch
	server string
	step   float64 // more than any score
	found  int
	raised map[int]bool
}

// name raises the documents with the name text; a larger at raises them more.
func (n *namer) name(text string, at int) {
	if t, ok := n.catalog.Tool(text); ok {
		n.folded(nearest.Fold(t.Name), n.server, func(slot int, r record) {
			if r.kind() == "" && r.id() == t.ID {
				n.raise(slot, at)
			}
		})
		return
	}
	if !strings.ContainsAny(text, " \t\n") {
		n.folded(nearest.Fold(text), n.server, func(slot int, _ record) { n.raise(slot, at) })
	}
}

func (n *namer) raise(slot, at int) {
	if n.raised[slot] {
		return
	}
	if n.raised == nil {
		n.raised = map[int]bool{}
		best := 0.0
		for _, h := range n.sc.hits {
			best = max(best, h.score)
		}
		n.step = best + 1
	}
	n.raised[slot] = true
	n.found++
	above := n.step * float64(at)
	for i := range n.sc.hits {
		if n.sc.hits[i].slot == int32(slot) {
			n.sc.hits[i].score += above
			return
		}
	}
	n.sc.hits = append(n.sc.hits, scored{slot: int32(slot), score: above})
}

// folded calls f with each document that has a name which folds to name.
func (s *snapshot) folded(name, server string, f func(slot int, r record)) {
	if name == "" {
		return
	}
	for _, p := range s.parts {
		p.each(foldField, name, func(slot uint32, _ uint64) {
			if r := s.records[slot]; !s.dead[slot] && (server == "" || r.server() == server) {
				f(int(slot), r)
			}
		})
	}
}
