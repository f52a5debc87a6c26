package index

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Words shorter than this are too near to too many others to be repaired, and
// longer than farFrom they may differ by two letters.
const (
	shortestRepaired = 4
	farFrom          = 7
	longestRepaired  = 32
)

// repairedWeight is what a repaired word counts against one as typed.
const repairedWeight = 0.9

type repairedWord struct {
	word   string
	weight float64
}

// repairable reports whether a word may be what another was meant to be.
func repairable(word string) bool {
	return len(word) >= shortestRepaired-1 && len(word) <= longestRepaired && !hasDigit(word)
}

func joinWords(list []repairedWord) string {
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.word)
	}
	return b.String()
}

// repair returns what a word that no tool uses may have been meant to be: the
// nearest that one uses, two that were written as one, or nothing. The first
// letter is taken to be right.
func (s *snapshot) repair(word string) []repairedWord {
	n := utf8.RuneCountInString(word)
	if n < shortestRepaired || len(word) > longestRepaired || hasDigit(word) {
		return nil
	}
	limit := 1
	if n >= farFrom {
		limit = 2
	}
	near, dist := s.nearest(word, limit)
	if dist == 1 {
		return []repairedWord{{near, repairedWeight}}
	}
	if a, b, ok := s.split(word); ok {
		return []repairedWord{{a, repairedWeight}, {b, repairedWeight}}
	}
	if near != "" {
		return []repairedWord{{near, repairedWeight}}
	}
	return nil
}

// nearest is the word with the smallest edit distance up to limit; of equals
// the one that most tools use, then the first of the alphabet.
func (s *snapshot) nearest(word string, limit int) (best string, dist int) {
	dist = limit + 1
	bestDF := 0
	mask := letters(word)
	for _, c := range s.spelled(word[0]) {
		if bits.OnesCount32(c.mask^mask) > 2*limit || abs(len(c.word)-len(word)) > limit {
			continue
		}
		d := distance(word, c.word, min(limit, dist))
		if d > limit || d > dist {
			continue
		}
		found := s.find(c.word)
		if found == nil {
			continue
		}
		df := found.df()
		if d < dist || df > bestDF || df == bestDF && c.word < best {
			best, dist, bestDF = c.word, d, df
		}
	}
	return best, dist
}

// split takes a word apart into two that tools use: "websearch".
func (s *snapshot) split(word string) (a, b string, ok bool) {
	const shortest = 3
	best := 0
	for i := shortest; i <= len(word)-shortest; i++ {
		if !utf8.RuneStart(word[i]) {
			continue
		}
		x, y := s.find(word[:i]), s.find(word[i:])
		if x == nil || y == nil {
			continue
		}
		if df := min(x.df(), y.df()); df > best {
			a, b, best = word[:i], word[i:], df
		}
	}
	return a, b, best > 0
}

// A spelling is a word that some tool used, as candidate for a repair.
type spelling struct {
	word string
	mask uint32
}

// letters is a set of the letters of a word.
func letters(word string) uint32 {
	var m uint32
	for i := range len(word) {
		m |= 1 << (word[i] & 31)
	}
	return m
}

func abs(n int) int { return max(n, -n) }

// distance is the number of letters to insert, delete, change or swap with
// their neighbour to make a of b, or more than limit if it is more than limit.
func distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	var rows [3][longestRepaired + 4]int
	before, last, now := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			now[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
