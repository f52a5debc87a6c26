package index

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

const (
	// favored is the share of its own score that a favored tool gains at most.
	favored = 0.2
	// maxWords bounds the words of Words.
	maxWords = 24
)

// Words returns the words of a query that say something, as stems, sorted: what two
// queries have in common if they look for the same.
func Words(query string) []string {
	var list []string
	pieces(prepared(query), func(p piece) bool {
		switch {
		case p.unspaced:
			list = append(list, p.parts...)
		case !words().stop[p.whole]:
			list = append(list, queryStem(p.whole))
		}
		return len(list) < maxWords
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// favor raises the tools of Query.Favor among the hits.
func (s *snapshot) favor(sc *scratch, tools map[string]float64) {
	for id, share := range tools {
		t, ok := s.catalog.Tool(id)
		if !ok || t.ID != id {
			continue
		}
		s.folded(nearest.Fold(t.Name), "", func(slot int, r record) {
			if r.kind() != "" || r.id() != id {
				return
			}
			i := slices.IndexFunc(sc.hits, func(h scored) bool { return h.slot == int32(slot) })
			if i >= 0 {
				sc.hits[i].score *= 1 + favored*max(0, min(share, 1))
			}
		})
	}
}
