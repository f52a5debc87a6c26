package index

import (
	"cmp"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A snapshot is what searches read: immutable, replaced as a whole.
type snapshot struct {
	catalog    *discovery.Catalog
	vocabulary *vocabulary
	docs       []*document // nil where one was removed
	df         []uint32    // by term: how many documents hold it
	live       int
	inverted   *inverted    // nil while there are few documents
	fresh      map[int]bool // slots whose document is not the one in inverted

	vectors *Vectors // nil if there are none

	scratch sync.Pool
}

// How a document's words become its score: BM25F, then more for documents that
// hold more of the query and whose name the query covers.
const (
	saturation   = 1.0 // k1: how soon more of the same word stops to count
	coverage     = 0.5
	nameCoverage = 0.6
)

// scratch is the memory of one search. A term's entry of heads is 1 + the place
// in links of the first wanted word that it answers.
type scratch struct {
	heads []uint16
	links []link
	best  []float64
	hits  []scored

	tallies []tally  // by slot; all zero between searches
	touched []uint32 // slots that hold the word that is being looked at
	all     []uint32 // slots that hold any
}

type link struct {
	wanted uint16
	next   uint16 // as in heads
	weight float64
}

type scored struct {
	slot  int32
	score float64
}

func (s *snapshot) getScratch() *scratch {
	if sc, ok := s.scratch.Get().(*scratch); ok {
		return sc
	}
	return &scratch{heads: make([]uint16, len(s.df))}
}

// prepare enters the words of q.
func (sc *scratch) prepare(q []wanted) {
	sc.best = slices.Grow(sc.best[:0], len(q))[:len(q)]
	sc.links, sc.hits = sc.links[:0], sc.hits[:0]
	for i, w := range q {
		for _, v := range w.to {
			sc.links = append(sc.links, link{uint16(i), sc.heads[v.term], v.weight * w.idf})
			sc.heads[v.term] = uint16(len(sc.links))
		}
	}
}

// release takes the words out again.
func (s *snapshot) release(sc *scratch, q []wanted) {
	for _, w := range q {
		for _, v := range w.to {
			sc.heads[v.term] = 0
		}
	}
	s.scratch.Put(sc)
}

// score is how well d answers the words that were prepared; zero if it holds
// none of them.
func (sc *scratch) score(d *document) float64 {
	best := sc.best
	clear(best)
	any, named := false, 0
	for i, p := range d.postings {
		h := sc.heads[p.term]
		if h == 0 {
			continue
		}
		any = true
		tf := saturated(p.weight)
		for ; h != 0; h = sc.links[h-1].next {
			l := &sc.links[h-1]
			best[l.wanted] = max(best[l.wanted], l.weight*tf)
		}
		if i < min(d.nameLen, maxNamed) {
			named++
		}
	}
	if !any {
		return 0
	}
	sum, found := 0.0, 0
	for _, b := range best {
		if b > 0 {
			sum += b
			found++
		}
	}
	return d.total(sum, found, len(best), named)
}

// scan scores the document at slot by reading it.
func (s *snapshot) scan(sc *scratch, slot int, server string) {
	d := s.docs[slot]
	if d == nil || server != "" && d.server != server {
		return
	}
	if score := sc.score(d); score > 0 {
		sc.hits = append(sc.hits, scored{int32(slot), score})
	}
}

// scoreAll fills the hits of sc with every document that answers any of the
// words, in no order.
func (s *snapshot) scoreAll(sc *scratch, q []wanted, server string) {
	if len(q) == 0 {
		return
	}
	if s.inverted == nil || server != "" {
		for slot := range s.docs {
			s.scan(sc, slot, server)
		}
		return
	}
	s.lookUp(sc, q)
	for slot := range s.fresh {
		s.scan(sc, slot, server)
	}
}

// rank returns the best limit of what was scored, best first, equal scores by
// id.
func (s *snapshot) rank(hits []scored, limit int) []Hit {
	order := func(a, b scored) int {
		if a.score != b.score { // most often; the rest costs look-ups
			return cmp.Compare(b.score, a.score)
		}
		x, y := &s.docs[a.slot].hit, &s.docs[b.slot].hit
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Kind, y.Kind))
	}
	hits = top(hits, limit, order)
	out := make([]Hit, len(hits))
	for i, h := range hits {
		out[i] = s.docs[h.slot].hit
		out[i].Score = h.score
	}
	return out
}

// top sorts the first n of list in order to the front, and returns them.
func top[T any](list []T, n int, order func(a, b T) int) []T {
	if n >= len(list) {
		slices.SortFunc(list, order)
		return list
	}
	best := list[:n]
	slices.SortFunc(best, order)
	for _, x := range list[n:] {
		if order(x, best[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, x, order)
		copy(best[at+1:], best[at:n-1])
		best[at] = x
	}
	return best
}
