package index

import (
	_ "embed"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
)

//go:embed everyday.bin
var everydayFile string

// What a word of tools counts for an everyday word or phrase that stands for it, against
// one that was asked for.
const (
	phraseWeight = 0.7
	// phraseOwnWeight is that of the words of the phrase itself.
	phraseOwnWeight = 0.3
	everydayWeight  = 0.35
	// besideEveryday is everydayWeight where tools have the everyday word.
	besideEveryday = 0.15
)

// everydayWords is the table of everyday words and phrases that ships with the program. It
// is read where it lies.
var everydayWords = sync.OnceValue(func() *sayings {
	s, err := readSayings(everydayFile)
	if err != nil {
		panic("index: everyday.bin: " + err.Error()) // a test reads the file
	}
	return s
})

const sayingsMagic = "sayings1"

// sayings is a table of everyday words and phrases: the number of them, that of the words
// of tools, the offset of each, and then what they are. A saying is its length, its stems
// with blanks between them, and how many words of tools it stands for, by number. A word
// of tools is its stem and how it is written.
type sayings struct {
	data   string
	n, m   int
	starts map[string]span // of the words that every query has, as they are written
}

// A span is the sayings from one number to another.
type span struct{ from, end int }

func readSayings(data string) (*sayings, error) {
	rest, ok := strings.CutPrefix(data, sayingsMagic)
	if !ok || len(rest) < 8 {
		return nil, errors.New("not a table of everyday words")
	}
	t := &sayings{data: data, starts: map[string]span{}}
	t.n, t.m = t.number(len(sayingsMagic)), t.number(len(sayingsMagic)+4)
	if t.n > 1<<20 || t.m > 1<<16 || len(rest) < 8+4*(t.n+t.m) {
		return nil, errors.New("not a table of everyday words")
	}
	for w := range words().stop {
		if sp := t.span(w); sp.end > sp.from {
			t.starts[w] = sp
		}
	}
	return t, nil
}

func (t *sayings) number(at int) int {
	b := t.data[at : at+4]
	return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
}

// text returns the text at an offset, after its length, and the offset behind it.
func (t *sayings) text(at int) (string, int) {
	end := at + 1 + int(t.data[at])
	return t.data[at+1 : end], end
}

// saying returns the stems of a saying, and the offset of what they stand for.
func (t *sayings) saying(i int) (string, int) { return t.text(t.number(len(sayingsMagic) + 8 + 4*i)) }

// meaning returns the words of tools for a saying, but not itself.
func (t *sayings) meaning(i int) (to []synonym) {
	stems, at := t.saying(i)
	for k := range int(t.data[at]) {
		number := int(t.data[at+1+2*k]) | int(t.data[at+2+2*k])<<8
		stem, next := t.text(t.number(len(sayingsMagic) + 8 + 4*(t.n+number)))
		if word, _ := t.text(next); stem != stems {
			to = append(to, synonym{stem, word, 1})
		}
	}
	return to
}

// span returns the sayings that begin with a stem.
func (t *sayings) span(stem string) span {
	from := sort.Search(t.n, func(i int) bool { s, _ := t.saying(i); return s >= stem })
	end := from
	for ; end < t.n; end++ {
		s, _ := t.saying(end)
		if rest, ok := strings.CutPrefix(s, stem); !ok || rest != "" && rest[0] > ' ' {
			break
		}
	}
	return span{from, end}
}

// fillers are words that may stand between the words of a phrase: "throw it out".
var fillers = map[string]bool{"a": true, "an": true, "the": true, "my": true, "our": true, "your": true, "his": true, "her": true, "their": true, "its": true,
	"this": true, "that": true, "these": true, "those": true, "it": true, "them": true, "of": true, "some": true, "s": true}

// sayingStem is the stem of a word of a saying. Words that every query has are compared as
// they are.
func sayingStem(word string) string {
	if words().stop[word] {
		return word
	}
	return queryStem(word)
}

// phrase returns what the longest phrase stands for with which list begins, and of how
// many pieces it is, or nothing. in are the sayings that begin with the first piece.
func (t *sayings) phrase(in span, list []piece) (to []synonym, n int) {
	best := -1
	for i := in.from; i < in.end; i++ {
		stems, _ := t.saying(i)
		if k := begins(stems, list); k > 1 && k > n {
			best, n = i, k
		}
	}
	if best < 0 {
		return nil, 0
	}
	return t.meaning(best), n
}

// begins returns how many pieces of list a phrase takes from the first on, or 0.
func begins(stems string, list []piece) int {
	_, rest, more := strings.Cut(stems, " ")
	n := 1
	for more {
		for n < len(list) && fillers[list[n].whole] {
			n++
		}
		var next string
		next, rest, more = strings.Cut(rest, " ")
		if n == len(list) || !hasStem(list[n].whole, next) {
			return 0
		}
		n++
	}
	return n
}

// hasStem reports whether a word has a stem. Most that have not differ in the first letters.
func hasStem(word, stem string) bool {
	return word == stem || word != "" && word[0] == stem[0] && sayingStem(word) == stem
}

// everyday adds what an everyday word stands for to r.
func (s *snapshot) everyday(r *resolution, stem string) {
	t := everydayWords()
	r.sayings = t.span(stem)
	if r.sayings.from == r.sayings.end {
		return
	}
	if s, _ := t.saying(r.sayings.from); s != stem { // phrases only
		return
	}
	meant := t.meaning(r.sayings.from)
	if len(meant) == 0 {
		return
	}
	r.known = true
	if r.effect == 0 {
		r.effect = effects()[meant[0].word]
	}
	weight := everydayWeight
	if len(r.to) > 0 && r.to[0].weight >= 1 {
		weight = besideEveryday
	}
	most := max(relatedTools, relatedShare*float64(s.live))
	for _, v := range s.variants(stem, meant, weight) {
		if weight == besideEveryday && float64(v.word.df()) > most {
			continue
		}
		r.to = addVariant(r.to, v)
	}
}

// wantPhrase adds an everyday phrase with what it stands for, and reports whether any tool
// has a word for it.
func (s *snapshot) wantPhrase(q *parsed, text string, list []piece, meant []synonym) bool {
	var to []variant
	for _, m := range meant {
		for _, v := range s.variants(m.stem, words().synonyms[m.stem], phraseWeight) {
			to = addVariant(to, v)
		}
	}
	if len(to) == 0 {
		return false
	}
	first := len(to)
	for _, p := range list {
		if e := effects()[p.whole]; e&asking != 0 || s.stop(p.whole) {
			q.intent.add(e)
		}
		if !s.stop(p.whole) {
			for _, v := range s.variants(queryStem(p.whole), nil, phraseOwnWeight) {
				to = addVariant(to, v)
			}
		}
	}
	q.intent.add(effects()[meant[0].word])
	q.english++
	surface := text[list[0].start:list[len(list)-1].end]
	q.wanted = append(q.wanted, wanted{surface: surface, to: to})
	i := slices.IndexFunc(meant, func(m synonym) bool { return s.findStem(m.stem) != nil })
	if len(to) == first && i >= 0 {
		q.replaced = append(q.replaced, Replacement{From: surface, To: []string{meant[i].word}})
	}
	return true
}
