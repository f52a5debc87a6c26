package index

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// named puts what the query names above everything else in sc, in the order of
// the query, and returns how many documents it names: by id, by "server.tool", or
// by a tool's own name, which several servers may have. A name of one word among
// others is a word.
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

// separators part the names in a query.
const separators = " \t\r\n,;|+"

// mayHaveNames reports whether a text has several words, and one that looks like
// a name: a capital after a small letter, or a mark between two letters.
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

// unquoted is a word of a query without the punctuation around it, and without
// the "select:" that clients begin a list of names with.
func unquoted(w string) string {
	w, _ = strings.CutPrefix(strings.Trim(w, "\"'`()[]{}<>.:!?"), "select:")
	return w
}

// severalParts reports whether a word looks like the name of a tool and nothing
// else, such as list_issues or listIssues.
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

// allNames reports whether a query is a list of names: all of its words are, and
// one of them is nothing else.
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

// A namer raises what a query names.
type namer struct {
	*snapshot
	sc     *scratch
	server string
	step   float64 // more than any score
	found  int
	raised map[int]bool
}

// name raises what a text is the name of, the further the higher at is.
func (n *namer) name(text string, at int) {
	if t, ok := n.catalog.Tool(text); ok {
		n.folded(nearest.Fold(t.Name), n.server, func(slot int, r record) {
			if r.kind() == "" && r.id() == t.ID {
				n.raise(slot, at)
			}
		})
		return
	}
	if name := nearest.Fold(text); name != "" && !strings.ContainsAny(text, " \t\n") {
		n.folded(name, n.server, func(slot int, _ record) { n.raise(slot, at) })
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
	n.sc.hits = append(n.sc.hits, scored{int32(slot), 0, above})
}

// folded calls f with what has a name that folds to name.
func (s *snapshot) folded(name, server string, f func(slot int, r record)) {
	if name == "" {
		return
	}
	for _, p := range s.parts {
		for i := range p.views {
			p.views[i].each(foldField, name, func(slot uint32, _ uint64) {
				if r := s.records[slot]; !s.dead[slot] && (server == "" || r.server() == server) {
					f(int(slot), r)
				}
			})
		}
	}
}
