package index

import (
	"math"
	"strings"
)

// Where the words find a tool whose score is more than unsure of what a tool
// that held them all would have, the words decide alone. Below, the likeness of
// meaning counts vectorWeight against them. Both were chosen so that no figure
// for ordinary queries falls.
const (
	unsure       = 0.3
	vectorWeight = 0.1
)

// leastLikeness is how alike a tool that holds no word of the query must be to
// be a hit.
const leastLikeness = 0.35

// Vectors are directions of words in a space where words of like meaning point
// alike. They are immutable.
type Vectors struct {
	dims  int
	rows  map[string]int32
	data  []int8    // by row
	scale []float32 // by row: what 127 stands for
}

// Len returns the number of words.
func (v *Vectors) Len() int { return len(v.rows) }

// Dims returns the number of dimensions.
func (v *Vectors) Dims() int { return v.dims }

// add adds weight times the vector of a word to sum.
func (v *Vectors) add(sum []float32, word string, weight float32) {
	row, ok := v.rows[word]
	if !ok {
		return
	}
	weight *= v.scale[row] / 127
	for i, x := range v.data[int(row)*v.dims : (int(row)+1)*v.dims] {
		sum[i] += weight * float32(x)
	}
}

// quantized is the direction of sum in small numbers: its length is 127 or a
// little less. Nil if sum points nowhere.
func quantized(sum []float32) []int8 {
	norm := 0.0
	for _, x := range sum {
		norm += float64(x) * float64(x)
	}
	if norm == 0 {
		return nil
	}
	by := 127 / math.Sqrt(norm)
	q := make([]int8, len(sum))
	for i, x := range sum {
		q[i] = int8(math.Round(float64(x) * by))
	}
	return q
}

// likeness is the cosine of two quantized vectors, 0 if there is none.
func likeness(a, b []int8) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	dot := int32(0)
	for i, x := range a {
		dot += int32(x) * int32(b[i])
	}
	return float64(dot) / (127 * 127)
}

// of returns what a record means: the sum of its words, those of its name most.
// Words that are in every text add nothing, and one that stands twice counts
// once.
func (v *Vectors) of(rec record) []int8 {
	sum := make([]float32, v.dims)
	seen := map[string]bool{}
	name, title, description, _ := rec.texts()
	for _, part := range []struct {
		text   string
		weight float32
	}{{name, 3}, {rec.server(), 1}, {title, 1}, {firstSentence(description), 1}} {
		eachWord(part.text, false, func(w, _ string) {
			if !seen[w] && !words().stop[w] {
				seen[w] = true
				v.add(sum, w, part.weight)
			}
		})
	}
	return quantized(sum)
}

// ofQuery returns what a query means, rare words counting most.
func (v *Vectors) ofQuery(s *snapshot, text string) []int8 {
	sum := make([]float32, v.dims)
	seen := map[string]bool{}
	eachWord(text, false, func(w, _ string) {
		if seen[w] || words().stop[w] || len(seen) >= maxQueryWords {
			return
		}
		seen[w] = true
		df := 0.0
		if found := s.find(w); found != nil {
			df = float64(found.df())
		}
		v.add(sum, w, float32(math.Sqrt(s.idf(df))))
	})
	return quantized(sum)
}

// fuse adds the likeness of meaning to the scores of sc, and the documents that
// hold no word of the query but are much like it.
func (s *snapshot) fuse(v *Vectors, sc *scratch, q parsed, text, server string) {
	meaning := v.ofQuery(s, q.withRepairs(text))
	if meaning == nil {
		return
	}
	ceiling, best := s.ceiling(q), 0.0
	for _, h := range sc.hits {
		best = max(best, h.score/ceiling)
	}
	if best > unsure {
		return
	}
	meanings := s.meaningsOf(v)
	has := make(map[int32]bool, len(sc.hits))
	for i := range sc.hits {
		h := &sc.hits[i]
		has[h.slot] = true
		h.score = h.score/ceiling + vectorWeight*max(0, likeness(meaning, meanings[h.slot]))
	}
	for slot, r := range s.records {
		if s.dead[slot] || has[int32(slot)] || server != "" && r.server() != server {
			continue
		}
		if l := likeness(meaning, meanings[slot]); l >= leastLikeness {
			sc.hits = append(sc.hits, scored{slot: int32(slot), score: vectorWeight * l})
		}
	}
}

// meaningsOf returns what the records mean, by slot.
func (s *snapshot) meaningsOf(v *Vectors) [][]int8 {
	s.meaningsMu.Lock()
	defer s.meaningsMu.Unlock()
	for _, r := range s.records[len(s.meanings):] {
		s.meanings = append(s.meanings, v.of(r))
	}
	return s.meanings
}

// ceiling is the score of a document that has every word of the query in its
// name, those included that no document has.
func (s *snapshot) ceiling(q parsed) float64 {
	sum := 0.0
	for _, w := range q.wanted {
		sum += w.idf
	}
	sum += float64(len(q.unmatched)) * s.idf(0)
	if sum == 0 {
		return 1
	}
	return sum * float64(saturated(float32(fields[nameField].weight))) * (1 + coverage) * (1 + nameCoverage)
}

// withRepairs is the text with its typing errors repaired.
func (q parsed) withRepairs(text string) string {
	for _, r := range q.repaired {
		text = strings.ReplaceAll(text, r.From, r.To)
	}
	return text
}
