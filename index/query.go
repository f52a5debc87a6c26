package index

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on what one query may cost. The rest of a longer text is ignored.
const (
	maxQueryBytes = 4096
	maxQueryWords = 48
	// maxQueryPieces bounds the words that are read, those included that say nothing.
	maxQueryPieces = 4 * maxQueryWords
)

// A wanted is one word of a query and the words that answer it: the word
// itself, its synonyms, or what it was repaired to. A document has the word if
// it has any of them, and only the best counts.
type wanted struct {
	surface string // as typed
	to      []variant
	idf     float64
}

type variant struct {
	word   *word
	weight float64
	// related is set if the word is only related to the one of the query.
	related bool
}

// A parsed query.
type parsed struct {
	wanted    []wanted
	unmatched []string
	repaired  []Repair
	replaced  []Replacement
	// words is the number of different words that were looked up in the lexicon, and
	// english the number that it has.
	words, english int
	// unsure is the number of words that no tool has, nor the lexicon.
	unsure int
	// apart is set while the words of a phrase are translated one by one.
	apart  bool
	intent intent
	list   []piece // that were read
}

// queryWords are the words of a piece of a query. A name of several words is
// one word where the tools write it as one.
func (s *snapshot) queryWords(p piece) []string {
	if p.unspaced || len(p.parts) == 0 {
		if p.unspaced {
			return p.parts
		}
		return []string{p.whole}
	}
	if s.find(p.whole) != nil || len(words().synonyms[p.whole]) > 0 { // k8s
		return []string{p.whole}
	}
	return p.parts
}

// surfaceOf is the word around a piece as it was typed, between blanks,
// without the punctuation at its ends.
func surfaceOf(text string, p piece) string {
	start, end := p.start, p.end
	for start > 0 && end-start < maxWord {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !inWord(r) {
			break
		}
		start -= n
	}
	for end < len(text) && end-start < maxWord {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !inWord(r) {
			break
		}
		end += n
	}
	return firstLetters(strings.Trim(strings.ToValidUTF8(text[start:end], ""), "'-_./"), maxWord)
}

func inWord(r rune) bool {
	return wordRune(r) && !isUnspaced(r) || strings.ContainsRune("'-_./", r) && !unicode.IsSpace(r)
}

// joinWanted lets two words side by side be answered by their
// compound, and by the terms of it: "file system" finds "filesystem".
func (s *snapshot) joinWanted(all []wanted, a, b int, compound string) {
	found := s.find(compound)
	if found == nil {
		return
	}
	for _, i := range []int{a, b} {
		all[i].to = addVariant(slices.Clone(all[i].to), variant{word: found, weight: joinedWeight})
	}
}

// joinedWeight is what a compound counts for each of its two words.
const joinedWeight = 0.8

func addVariant(list []variant, v variant) []variant {
	for i := range list {
		if list[i].word.stem == v.word.stem {
			list[i].weight = max(list[i].weight, v.weight)
			return list
		}
	}
	return append(list, v)
}

// settle weighs the words by how rare they are and puts those that nothing
// answers aside.
func (q *parsed) settle(s *snapshot) {
	matched := map[string]bool{}
	answered := q.wanted[:0]
	var lost []string
	for _, w := range q.wanted {
		if len(w.to) == 0 {
			lost = append(lost, w.surface)
			continue
		}
		matched[w.surface] = true
		w.idf = s.idfOf(w.to)
		answered = append(answered, w)
	}
	for _, surface := range lost {
		if !matched[surface] && !slices.Contains(q.unmatched, surface) {
			q.unmatched = append(q.unmatched, surface)
		}
	}
	q.wanted, q.replaced = bounded(answered), distinct(q.replaced)
}

// bounded returns the first of the words, each once, as many as a query may have: a text
// without blanks has as many words as characters.
func bounded(list []wanted) []wanted {
	type key struct {
		surface string
		word    *word
	}
	seen := make(map[key]bool, len(list))
	list = slices.DeleteFunc(list, func(w wanted) bool {
		k := key{w.surface, w.to[0].word}
		if seen[k] || len(seen) == maxQueryWords {
			return true
		}
		seen[k] = true
		return false
	})
	return list
}

// distinct returns a list without what it repeats.
func distinct(list []Replacement) []Replacement {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(r Replacement) bool {
		if seen[r.From] {
			return true
		}
		seen[r.From] = true
		return false
	})
}

// idfOf is how much finding one of the variants says: that of the word itself,
// which is the first, or of the best of its stand-ins.
func (s *snapshot) idfOf(to []variant) float64 {
	if to[0].weight >= 1 {
		return s.idf(float64(to[0].word.df()))
	}
	best := to[0]
	for _, v := range to {
		if v.weight > best.weight {
			best = v
		}
	}
	return s.idf(float64(best.word.df()))
}

func (s *snapshot) idf(df float64) float64 {
	n := float64(s.live)
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

func (s *snapshot) stop(word string) bool { return words().stop[word] }

// A resolution is what a word of a query was found to be.
type resolution struct {
	to     []variant
	repair string // what it was taken for, if it was taken for something else
	// synonyms replace the word, best first, if no tool contains it.
	synonyms []string
	known    bool // the lexicon has synonyms for it
	direct   bool // tools have it, a form or a synonym of it
	effect   effect
	sayings  span // the everyday words and phrases that begin with it
}

// maxSynonyms bounds the synonyms that are reported for a replaced word.
const maxSynonyms = 1

// resolve returns the words that match a word: the word and its synonyms, other forms
// of it if it may not be English, words that are related to it, or else the nearest word
// that the tools use. written is the word with its accents, or "" for an English word.
// The result is remembered and must not be changed.
func (s *snapshot) resolve(word, written string) resolution {
	key := lookup{word, written}
	s.stemsMu.RLock()
	r, ok := s.resolved[key]
	s.stemsMu.RUnlock()
	if ok {
		return r
	}
	r = s.resolveAnew(word, written)
	s.stemsMu.Lock()
	defer s.stemsMu.Unlock()
	if len(s.resolved) < maxResolved {
		s.resolved[lookup{strings.Clone(word), strings.Clone(written)}] = r
	}
	return r
}

func (s *snapshot) resolveAnew(word, written string) resolution {
	st := queryStem(word)
	synonyms := words().synonyms[st]
	r := resolution{to: s.variants(st, synonyms, 1), known: len(synonyms) > 0, effect: effects()[word]}
	s.everyday(&r, st)
	if written != "" {
		for _, form := range s.forms(word, written) {
			if found := s.find(form); found != nil {
				r.to = addVariant(r.to, variant{word: found, weight: formWeight})
			}
		}
	}
	r.direct = len(r.to) > 0
	if !r.direct {
		r.synonyms = s.related(&r, st)
	} else {
		s.related(&r, st)
		if r.to[0].weight < formWeight {
			r.synonyms = s.inUse(synonyms)
		}
	}
	if len(r.to) > 0 {
		return r
	}
	for _, w := range s.repair(word) {
		st := stem(w.word)
		for _, v := range s.variants(st, words().synonyms[st], w.weight) {
			r.to = addVariant(r.to, v)
		}
	}
	if len(r.to) > 0 {
		r.repair = joinWords(s.repair(word))
	}
	return r
}

// inUse returns the best of the synonyms that tools use.
func (s *snapshot) inUse(synonyms []synonym) (list []string) {
	for _, syn := range synonyms {
		if s.findStem(syn.stem) != nil && len(list) < maxSynonyms {
			list = append(list, syn.word)
		}
	}
	return list
}

// variants returns the live terms of a stem and its synonyms, the stem first.
func (s *snapshot) variants(st string, synonyms []synonym, weight float64) []variant {
	var to []variant
	if found := s.findStem(st); found != nil {
		to = append(to, variant{word: found, weight: weight})
	}
	for _, syn := range synonyms {
		if found := s.findStem(syn.stem); found != nil {
			to = addVariant(to, variant{word: found, weight: weight * syn.weight})
		}
	}
	return to
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
