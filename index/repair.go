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
	n := utf8.RuneCountInString(word)
	return n >= shortestRepaired-1 && n <= longestRepaired && !hasDigit(word)
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
	if n < shortestRepaired || n > longestRepaired || hasDigit(word) {
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
	first, n := utf8.DecodeRuneInString(word)
	length := utf8.RuneCountInString(word)
	list := s.spelled(word[0])
	for i := range list {
		c := &list[i]
		if bits.OnesCount32(c.mask^mask) > 2*limit || abs(int(c.length)-length) > limit || n > 1 && !strings.HasPrefix(c.term, string(first)) {
			continue
		}
		found := c.word()
		d := distance(word, found, min(limit, dist))
		if d > limit || d > dist {
			continue
		}
		used := s.find(found)
		if used == nil {
			continue
		}
		df := used.df()
		if d < dist || df > bestDF || df == bestDF && found < best {
			best, dist, bestDF = found, d, df
		}
	}
	return best, dist
}

// split takes a word apart into two that tools use: "websearch".
func (s *snapshot) split(word string) (a, b string, ok bool) {
	const shortest = 3
	best := 0
	for i := range word {
		if i < shortest || len(word)-i < shortest || utf8.RuneCountInString(word[:i]) < shortest || utf8.RuneCountInString(word[i:]) < shortest {
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
	term   string // as stored in the index
	mask   uint32
	bytes  uint8 // of the word without accents, the prefix of term
	length uint8 // in letters
}

func (s *spelling) word() string { return s.term[:s.bytes] }

// written returns the word with its accents.
func (s *spelling) written() string {
	if int(s.bytes) == len(s.term) {
		return s.term
	}
	return s.term[s.bytes+1:]
}

// spellingTerm returns a spelling as the index stores it; newSpelling is its inverse.
func spellingTerm(word, written string) string {
	if word == written {
		return word
	}
	return word + "\x00" + written
}

func newSpelling(term string) spelling {
	word, _, _ := strings.Cut(term, "\x00")
	return spelling{term, letters(word), uint8(len(word)), uint8(utf8.RuneCountInString(word))} // repairable words are short
}

// letters is a set of the letters of a word.
func letters(word string) uint32 {
	var m uint32
	for _, r := range word {
		m |= 1 << (r & 31)
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
	if !isASCII(a) || !isASCII(b) {
		return distanceOf([]rune(a), []rune(b), limit)
	}
	var as, bs [longestRepaired + 4]byte
	return distanceOf(as[:copy(as[:], a)], bs[:copy(bs[:], b)], limit)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func distanceOf[T byte | rune](a, b []T, limit int) int {
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
