package clients

import (
	"bytes"
	"slices"
)

// A change replaces Len bytes at At by Text. Lists of changes are in the order
// of the text, and do not overlap.
type change struct {
	At   int    `json:"at"`
	Len  int    `json:"len"`
	Text string `json:"text"`
}

// maxChanged is how many lines may differ between two texts that are compared:
// the work grows with its square, and nobody edits so much by hand.
const maxChanged = 1000

// changesBetween returns what makes old into text, line by line and without what
// each pair of lines has in common at its ends. It gives up on texts that have
// little in common.
func changesBetween(old, text []byte) ([]change, bool) {
	a, b := splitLines(old), splitLines(text)
	common, ok := commonLines(a, b)
	if !ok {
		return nil, false
	}
	var list []change
	at := 0 // bytes of old that are seen to
	for i, j, next := 0, 0, 0; i < len(a) || j < len(b); {
		var gone, added []byte
		for next == len(common) && i < len(a) || next < len(common) && i < common[next].a {
			gone = append(gone, a[i]...)
			i++
		}
		for next == len(common) && j < len(b) || next < len(common) && j < common[next].b {
			added = append(added, b[j]...)
			j++
		}
		if len(gone)+len(added) > 0 {
			list = append(list, trimmed(at, gone, added))
			at += len(gone)
		}
		if next < len(common) {
			at += len(a[i])
			i, j, next = i+1, j+1, next+1
		}
	}
	return list, true
}

// trimmed is the change of gone into added without their common ends.
func trimmed(at int, gone, added []byte) change {
	start := 0
	for start < min(len(gone), len(added)) && gone[start] == added[start] {
		start++
	}
	gone, added = gone[start:], added[start:]
	end := 0
	for end < min(len(gone), len(added)) && gone[len(gone)-1-end] == added[len(added)-1-end] {
		end++
	}
	return change{at + start, len(gone) - end, string(added[:len(added)-end])}
}

func splitLines(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// A linePair is a line that two texts share, by its index in each.
type linePair struct{ a, b int }

// commonLines returns a longest common subsequence of two lists of lines, by
// the greedy algorithm of Myers, "An O(ND) difference algorithm and its
// variations" (1986): furthest[k] is how far a path on diagonal k = x - y comes
// with d lines that differ, and rounds remembers it for each d.
func commonLines(a, b [][]byte) ([]linePair, bool) {
	var rounds [][]int
	furthest := make([]int, 2*maxChanged+3) // of diagonal k at k + middle
	const middle = maxChanged + 1
	for d := 0; d <= maxChanged; d++ {
		rounds = append(rounds, slices.Clone(furthest[middle-d:middle+d+1]))
		for k := -d; k <= d; k += 2 {
			x := furthest[middle+k-1] + 1
			if k == -d || k != d && furthest[middle+k-1] < furthest[middle+k+1] {
				x = furthest[middle+k+1]
			}
			for x < len(a) && x-k < len(b) && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			furthest[middle+k] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(rounds, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// walkBack collects the lines on the path that ended at x, y.
func walkBack(rounds [][]int, x, y int) []linePair {
	var pairs []linePair
	for d := len(rounds) - 1; d > 0; d-- {
		before := func(k int) int { return rounds[d][k+d] }
		k := x - y
		from := k - 1
		if k == -d || k != d && before(k-1) < before(k+1) {
			from = k + 1
		}
		toX, toY := before(from), before(from)-from
		for x > toX && y > toY {
			x, y = x-1, y-1
			pairs = append(pairs, linePair{x, y})
		}
		x, y = toX, toY
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		pairs = append(pairs, linePair{x, y})
	}
	slices.Reverse(pairs)
	return pairs
}

// applyChanges carries out changes of old. They do not fit if they were made for
// another text.
func applyChanges(old []byte, changes []change) ([]byte, bool) {
	var out []byte
	at := 0
	for _, c := range changes {
		if c.At < at || c.Len < 0 || c.At+c.Len > len(old) {
			return nil, false
		}
		out = append(append(out, old[at:c.At]...), c.Text...)
		at = c.At + c.Len
	}
	return append(out, old[at:]...), true
}

// inverse returns what makes the text that changes made of old into old again.
func inverse(old []byte, changes []change) []change {
	var list []change
	grown := 0
	for _, c := range changes {
		list = append(list, change{c.At + grown, len(c.Text), string(old[c.At : c.At+c.Len])})
		grown += len(c.Text) - c.Len
	}
	return list
}

// join makes one list of two that change the same text. Changes of both that
// overlap cannot be joined. Where both add something at one place, that of first
// comes first.
func join(first, second []change) ([]change, bool) {
	list := slices.Concat(first, second)
	slices.SortStableFunc(list, func(a, b change) int {
		if a.At != b.At {
			return a.At - b.At
		}
		return min(a.Len, 1) - min(b.Len, 1) // what only adds stands before what replaces
	})
	for i := 1; i < len(list); i++ {
		if list[i-1].At+list[i-1].Len > list[i].At {
			return nil, false
		}
	}
	return list, true
}
