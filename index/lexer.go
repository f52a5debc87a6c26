package index

import "maps"

// A term is the number of a stem.
type term uint32

// none is the term of words that say nothing.
const none = ^term(0)

// A vocabulary numbers the stems of all documents that ever were in an index.
// It is immutable; a lexer makes the next one.
type vocabulary struct {
	words layered // words as written, in lower case, to their terms
	stems layered
	// samples is a word for each term, to show: the shortest that was seen.
	samples []string
	// spellings are the words by their first byte, to repair others with.
	// Vocabularies share the memory; each sees its own part.
	spellings [256][]spelling
}

// find returns the term of a word in lower case.
func (v *vocabulary) find(word string) (term, bool) {
	if t, ok := v.words.get(word); ok {
		return t, t != none
	}
	if words().stop[word] {
		return none, false
	}
	return v.stems.get(stem(word))
}

func (v *vocabulary) findStem(s string) (term, bool) { return v.stems.get(s) }

// A layered map is a large map and a small one over it: adding a few keys to
// a copy does not copy the large one.
type layered struct{ base, top map[string]term }

func (l layered) get(key string) (term, bool) {
	if t, ok := l.top[key]; ok {
		return t, true
	}
	t, ok := l.base[key]
	return t, ok
}

// extended returns a layered map to which the caller may add keys in top.
func (l layered) extended() layered {
	if len(l.top) > 500+len(l.base)/4 {
		base := make(map[string]term, len(l.base)+len(l.top))
		maps.Copy(base, l.base)
		maps.Copy(base, l.top)
		return layered{base, map[string]term{}}
	}
	top := make(map[string]term, len(l.top))
	maps.Copy(top, l.top)
	return layered{l.base, top}
}

// A lexer adds words to a copy of a vocabulary. Not for concurrent use.
type lexer struct {
	v    *vocabulary
	stop map[string]bool
}

func newLexer(old *vocabulary) *lexer {
	return &lexer{
		v: &vocabulary{
			words: old.words.extended(), stems: old.stems.extended(),
			samples:   append(make([]string, 0, len(old.samples)+64), old.samples...),
			spellings: old.spellings,
		},
		stop: words().stop,
	}
}

// intern returns the term of a word in lower case, a new one if need be, or
// false for a word that says nothing.
func (l *lexer) intern(word string) (term, bool) {
	if t, ok := l.v.words.get(word); ok {
		return t, t != none
	}
	word = string([]byte(word)) // not the text it was cut from
	if l.stop[word] {
		l.v.words.top[word] = none
		return none, false
	}
	s := stem(word)
	t, ok := l.v.stems.get(s)
	if !ok {
		t = term(len(l.v.samples))
		l.v.stems.top[s] = t
		l.v.samples = append(l.v.samples, word)
	} else if old := l.v.samples[t]; len(word) < len(old) || len(word) == len(old) && word < old {
		l.v.samples[t] = word
	}
	l.v.words.top[word] = t
	if repairable(word) {
		list := &l.v.spellings[word[0]]
		*list = append(*list, spelling{word, t, letters(word)})
	}
	return t, true
}
