// Package related reads the table of related words of the search. The table is searched in place:
// nothing of it is decoded or copied. tools/words creates it.
package related

import (
	"encoding/binary"
	"errors"
	"iter"
	"strings"
)

// Magic is the prefix of a table.
const Magic = "related1"

// An Entry is a word of a table.
type Entry struct {
	Stem, Word string // the most frequent spelling of the stem
	Related    []Neighbour
}

// A Neighbour is a word that is related to another.
type Neighbour struct {
	Stem   string
	Word   string
	Weight float64 // from 0 to 1
}

// A Table contains words sorted by stem: a count, the offset of each record, and the records: the
// stem, the length of the prefix that the word shares with it, the rest of the word, and the
// numbers of the related words with their weights, best first.
type Table struct {
	data string
	n    int
}

var errDamaged = errors.New("not a table of related words")

// Read returns a table. It only checks the head.
func Read(data string) (*Table, error) {
	rest, ok := strings.CutPrefix(data, Magic)
	if !ok || len(rest) < 4 {
		return nil, errDamaged
	}
	n := int(binary.LittleEndian.Uint32([]byte(rest[:4])))
	if n > 1<<16 || len(rest) < 4+4*n {
		return nil, errDamaged
	}
	return &Table{data, n}, nil
}

// Len returns the number of words.
func (t *Table) Len() int { return t.n }

// record returns the stem of a word and the rest of its record.
func (t *Table) record(i int) (stem, rest string) {
	at := len(Magic) + 4 + 4*i
	b := t.data[at : at+4]
	from := int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
	n := int(t.data[from])
	return t.data[from+1 : from+1+n], t.data[from+1+n:]
}

// word returns the spelling of a word, and its related words.
func word(stem, rest string) (w, neighbours string) {
	same, n := int(rest[0]), int(rest[1])
	w = stem
	if same != len(stem) || n > 0 {
		w = stem[:same] + rest[2:2+n]
	}
	rest = rest[2+n:]
	return w, rest[1 : 1+3*int(rest[0])]
}

// find returns the number of a stem.
func (t *Table) find(stem string) (i int, ok bool) {
	lo, hi := 0, t.n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if s, _ := t.record(m); s < stem {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == t.n {
		return 0, false
	}
	s, _ := t.record(lo)
	return lo, s == stem
}

// Knows reports whether the table has a stem.
func (t *Table) Knows(stem string) bool {
	_, ok := t.find(stem)
	return ok
}

// Of yields the words that are related to a stem, the closest first.
func (t *Table) Of(stem string) iter.Seq[Neighbour] {
	return func(yield func(Neighbour) bool) {
		i, ok := t.find(stem)
		if !ok {
			return
		}
		_, list := word(t.record(i))
		for ; len(list) >= 3; list = list[3:] {
			s, rest := t.record(int(list[0]) | int(list[1])<<8)
			w, _ := word(s, rest)
			if !yield(Neighbour{s, w, float64(list[2]) / 255}) {
				return
			}
		}
	}
}

// Stems yields the stems of the words, sorted.
func (t *Table) Stems() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range t.n {
			if s, _ := t.record(i); !yield(s) {
				return
			}
		}
	}
}
