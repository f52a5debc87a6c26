// Package tokens counts tokens like OpenAI's o200k_base encoding. Other models count a little
// differently; the ratios between texts hold. Reading the vocabulary takes some 50 ms and 15 MB:
// the first Count reads it, and no answer of a server should need it.
package tokens

import (
	"bytes"
	"compress/flate"
	"container/heap"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// compressed contains the tokens in the order of their ranks, each after a byte with its length. A
// test in tools/peers generates it from another implementation.
//
//go:embed o200k.flate
var compressed []byte

// vocabulary returns the ranks of all tokens.
var vocabulary = sync.OnceValues(func() (map[string]uint32, error) {
	all, err := io.ReadAll(flate.NewReader(bytes.NewReader(compressed)))
	if err != nil {
		return nil, fmt.Errorf("vocabulary of tokens: %w", err)
	}
	ranks := make(map[string]uint32, 200_000)
	for rest := string(all); rest != ""; {
		n := 1 + int(rest[0])
		if n > len(rest) {
			return nil, errors.New("vocabulary of tokens: cut off")
		}
		ranks[rest[1:n]] = uint32(len(ranks))
		rest = rest[n:]
	}
	return ranks, nil
})

// Count returns the number of tokens of text. It is safe for concurrent use.
func Count(text string) (int, error) {
	ranks, err := vocabulary()
	if err != nil {
		return 0, err
	}
	n := 0
	for piece := range pieces(text) {
		if _, ok := ranks[piece]; ok {
			n++
		} else {
			n += countPairs(ranks, piece)
		}
	}
	return n, nil
}

// countPairs returns the number of tokens of a piece that is not itself a token: it repeatedly
// joins the neighbours whose token has the lowest rank. It takes O(n log n).
func countPairs(ranks map[string]uint32, piece string) int {
	parts := make([]part, len(piece)+1) // by where they begin; the last one is the end
	for i := range parts {
		parts[i] = part{before: int32(i - 1), after: int32(i + 1), rank: none}
	}
	rankAt := func(i int32) uint32 { // of the part at i and the one after it
		if next := parts[i].after; int(next) < len(piece) {
			if rank, ok := ranks[piece[i:parts[next].after]]; ok {
				return rank
			}
		}
		return none
	}
	var pairs pairHeap
	for i := range int32(len(piece)) {
		if parts[i].rank = rankAt(i); parts[i].rank != none {
			pairs = append(pairs, pair{parts[i].rank, i})
		}
	}
	heap.Init(&pairs)
	n := len(piece)
	for len(pairs) > 0 {
		p := heap.Pop(&pairs).(pair)
		if parts[p.at].rank != p.rank {
			continue // one of its parts has become part of another
		}
		n--
		gone := parts[p.at].after
		parts[p.at].after = parts[gone].after
		parts[parts[gone].after].before = p.at
		parts[gone].rank = none
		for _, i := range []int32{p.at, parts[p.at].before} {
			if i < 0 {
				continue
			}
			if parts[i].rank = rankAt(i); parts[i].rank != none {
				heap.Push(&pairs, pair{parts[i].rank, i})
			}
		}
	}
	return n
}

// none is the rank of text that is not a token.
const none = math.MaxUint32

// A part is a token so far; rank is the rank of the token that it forms with the next part.
type part struct {
	before, after int32
	rank          uint32
}

// A pair is the part at an offset with the next one.
type pair struct {
	rank uint32
	at   int32
}

// In a pairHeap, the leftmost pair of the lowest rank is first.
type pairHeap []pair

func (h pairHeap) Len() int      { return len(h) }
func (h pairHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)   { *h = append(*h, x.(pair)) }
func (h pairHeap) Less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].at < h[j].at
}
func (h *pairHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
