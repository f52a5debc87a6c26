package index

import "slices"

const (
	// favored is the share of its own score that a favored tool gains at most.
	favored = 0.2
	// maxWords bounds the words of Words.
	maxWords = 24
)

// Words returns the words of a query that say something, as stems, sorted: what two
// queries have in common if they look for the same.
func Words(query string) []string {
	list := make([]string, 0, 8)
	pieces(prepared(query), func(p piece) bool {
		switch {
		case p.unspaced:
			list = append(list, p.parts...)
		case !words().stop[p.whole]:
			list = append(list, queryStem(p.whole))
		}
		return len(list) < maxWords
	})
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// favor raises tools of Query.Favor among the hits.
func (sc *scratch) favor(records []record, tools map[string]float64) {
	for id, share := range tools {
		i := slices.IndexFunc(sc.hits, func(h scored) bool {
			t := records[h.slot].tool
			return t != nil && t.ID == id
		})
		if i >= 0 {
			sc.hits[i].score *= 1 + favored*max(0, min(share, 1))
		}
	}
}
