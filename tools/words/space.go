package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// How the space of words is made.
const (
	dimensions = 120
	window     = 7  // words on each side that are near
	rounds     = 5  // of the iteration
	leastCount = 6  // how often a word must occur
	leastTools = 12 // how often in texts on tools, to be what a word is related to
	maxWords   = 20_000
	maxTargets = 6_000
)

// A vocabulary is the words that are frequent enough.
type vocabulary struct {
	*corpus
	ids []int32         // stems, the most frequent first
	row map[int32]int32 // by stem
}

func (c *corpus) vocabulary() *vocabulary {
	v := &vocabulary{corpus: c, row: map[int32]int32{}}
	for id := range c.stems {
		if c.count[id] >= leastCount {
			v.ids = append(v.ids, int32(id))
		}
	}
	slices.SortFunc(v.ids, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.count[b], c.count[a]), cmp.Compare(c.stems[a], c.stems[b]))
	})
	v.ids = v.ids[:min(len(v.ids), maxWords)]
	for i, id := range v.ids {
		v.row[id] = int32(i)
	}
	return v
}

// A matrix is sparse and symmetric.
type matrix struct {
	rows [][]cell
}

type cell struct {
	at int32
	v  float32
}

func (m *matrix) len() int {
	n := 0
	for _, r := range m.rows {
		n += len(r)
	}
	return n
}

// near returns how much more often two words stand near each other than by chance: the
// positive pointwise mutual information.
func (c *corpus) near(v *vocabulary) *matrix {
	n := len(v.ids)
	counts := make([]map[int32]float32, n)
	for i := range counts {
		counts[i] = map[int32]float32{}
	}
	var list []int32
	for _, t := range c.texts {
		list = list[:0]
		for _, id := range t {
			if row, ok := v.row[id]; ok {
				list = append(list, row)
			}
		}
		for i, a := range list {
			for j := i + 1; j < min(len(list), i+1+window); j++ {
				if b := list[j]; a != b {
					w := 1 / float32(j-i)
					counts[a][b] += w
					counts[b][a] += w
				}
			}
		}
	}
	m := &matrix{rows: make([][]cell, n)}
	all := make([]float64, n)
	sums, total := make([]float64, n), 0.0
	for i, r := range counts {
		for j, x := range r {
			m.rows[i] = append(m.rows[i], cell{j, x})
		}
		counts[i] = nil
		slices.SortFunc(m.rows[i], func(a, b cell) int { return cmp.Compare(a.at, b.at) })
		for _, c := range m.rows[i] {
			all[i] += float64(c.v)
		}
		sums[i] = math.Pow(all[i], .75) // rare words would be near too much
		total += sums[i]
	}
	for i, row := range m.rows {
		kept := row[:0]
		for _, c := range row {
			if p := math.Log(float64(c.v) * total / (all[i] * sums[c.at])); p > 0 && c.v > .3 {
				kept = append(kept, cell{c.at, float32(p)})
			}
		}
		m.rows[i] = kept
	}
	return m
}

// reduce returns the rows of m in a space of few dimensions, each of length 1, by
// subspace iteration from a fixed beginning.
func (m *matrix) reduce(dims int) [][]float32 {
	rnd := rand.New(rand.NewPCG(1, 2))
	q := make([][]float32, len(m.rows))
	for i := range q {
		q[i] = make([]float32, dims)
		for k := range q[i] {
			q[i][k] = float32(rnd.NormFloat64())
		}
	}
	var lengths []float64
	for range rounds {
		q = m.times(q, dims)
		lengths = orthogonal(q, dims)
	}
	for _, row := range q {
		sum := 0.0
		for k := range row {
			row[k] *= float32(math.Sqrt(lengths[k]))
			sum += float64(row[k] * row[k])
		}
		if sum > 0 {
			by := float32(1 / math.Sqrt(sum))
			for k := range row {
				row[k] *= by
			}
		}
	}
	return q
}

func (m *matrix) times(q [][]float32, dims int) [][]float32 {
	out := make([][]float32, len(q))
	parallel(len(q), func(i int) {
		row := make([]float32, dims)
		for _, c := range m.rows[i] {
			for k, x := range q[c.at] {
				row[k] += c.v * x
			}
		}
		out[i] = row
	})
	return out
}

// orthogonal makes the columns of q orthogonal and of length 1, and returns how long
// they were.
func orthogonal(q [][]float32, dims int) []float64 {
	lengths := make([]float64, dims)
	columns := make([][]float32, dims)
	for k := range columns {
		columns[k] = make([]float32, len(q))
		for i := range q {
			columns[k][i] = q[i][k]
		}
	}
	for k, a := range columns {
		for _, b := range columns[:k] {
			d := dot(a, b)
			for i := range a {
				a[i] -= float32(d) * b[i]
			}
		}
		l := math.Sqrt(dot(a, a))
		lengths[k] = l
		for i := range a {
			a[i] /= float32(max(l, 1e-9))
			q[i][k] = a[i]
		}
	}
	return lengths
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	const workers = 2
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
