package index

import "math/bits"

// A packed posting is one document of a term: its slot in the lower bits, and
// above them 1 + the place of the term in the document's name, or 0.
type packed struct {
	slot   uint32
	weight float32
}

const (
	slotBits = 26
	slotMask = 1<<slotBits - 1
	maxNamed = 31 // words of a name that are told apart
)

// inverted lists the documents of each term, for those documents that the
// snapshot had when it was made. It is immutable and shared by the snapshots
// after it, which pass over what has changed since and read those documents
// themselves.
type inverted struct {
	starts []uint32 // by term: where its postings begin; one more at the end
	all    []packed
}

func (inv *inverted) of(t term) []packed {
	if int(t)+1 >= len(inv.starts) {
		return nil
	}
	return inv.all[inv.starts[t]:inv.starts[t+1]]
}

// invert makes the lists for docs, which hold terms below terms.
func invert(docs []*document, terms int) *inverted {
	inv := &inverted{starts: make([]uint32, terms+1)}
	n := 0
	for _, d := range docs {
		if d == nil {
			continue
		}
		n += len(d.postings)
		for _, p := range d.postings {
			inv.starts[p.term+1]++
		}
	}
	for t := range terms {
		inv.starts[t+1] += inv.starts[t]
	}
	inv.all = make([]packed, n)
	next := append([]uint32(nil), inv.starts...)
	for slot, d := range docs {
		if d == nil {
			continue
		}
		for i, p := range d.postings {
			at := uint32(slot)
			if i < min(d.nameLen, maxNamed) {
				at |= uint32(i+1) << slotBits
			}
			inv.all[next[p.term]] = packed{at, p.weight}
			next[p.term]++
		}
	}
	return inv
}

// A tally is what a search knows of one document so far.
type tally struct {
	sum   float64
	best  float64 // of the word that is being looked at
	named uint32  // which words of the name were found
	found uint16  // how many words of the query
	known bool
}

// lookUp scores the documents that the lists hold and that have not changed
// since.
func (s *snapshot) lookUp(sc *scratch, q []wanted) {
	if s.inverted == nil {
		return
	}
	if len(sc.tallies) < len(s.docs) {
		sc.tallies = make([]tally, len(s.docs))
	}
	for _, w := range q {
		sc.touched = sc.touched[:0]
		for _, v := range w.to {
			weight := v.weight * w.idf
			for _, p := range s.inverted.of(v.term) {
				slot := p.slot & slotMask
				t := &sc.tallies[slot]
				if t.best == 0 {
					sc.touched = append(sc.touched, slot)
				}
				t.best = max(t.best, weight*saturated(p.weight))
				t.named |= 1 << (p.slot >> slotBits)
			}
		}
		for _, slot := range sc.touched {
			t := &sc.tallies[slot]
			t.sum += t.best
			t.best = 0
			t.found++
			if !t.known {
				t.known = true
				sc.all = append(sc.all, slot)
			}
		}
	}
	for _, slot := range sc.all {
		t := &sc.tallies[slot]
		if !s.changed(slot) {
			d := s.docs[slot]
			sc.hits = append(sc.hits, scored{int32(slot), d.total(t.sum, int(t.found), len(q), bits.OnesCount32(t.named&^1))})
		}
		*t = tally{}
	}
	sc.all = sc.all[:0]
}

// changed reports whether the document at slot is not the one in the lists.
func (s *snapshot) changed(slot uint32) bool {
	return s.docs[slot] == nil || s.fresh[int(slot)]
}

// total is the score of a document from the sum over the words of the query
// that it holds.
func (d *document) total(sum float64, found, words, named int) float64 {
	return sum * (1 + coverage*float64(found)/float64(words)) *
		(1 + nameCoverage*float64(named)/float64(max(1, min(d.nameLen, maxNamed))))
}

func saturated(weight float32) float64 {
	tf := float64(weight)
	return tf * (saturation + 1) / (tf + saturation)
}
