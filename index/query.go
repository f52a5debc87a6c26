package index

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on what one query may cost. Nobody means the rest of 100 kB.
const (
	maxQueryBytes = 4096
	maxQueryWords = 48
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
	apart bool
}

// parse finds the meaning of the words of text in this snapshot. Words of other
// alphabets are not English. Latin words may be English if the lexicon contains more
// than a third of them.
func (s *snapshot) parse(text string) parsed {
	q := s.parseAs(text, false, nil)
	if q.words == 0 || q.english == q.words && q.unsure == 0 {
		return q
	}
	foreign := 3*q.english <= q.words
	var translated map[int]translation
	if foreign || 2*q.unsure >= q.words {
		translated = translate(prepared(text))
	}
	if foreign || len(translated) > q.english {
		return s.parseAs(text, true, translated)
	}
	return q
}

// prepared returns the part of a text that is read, without data.
func prepared(text string) string {
	if len(text) > maxQueryBytes {
		text = strings.ToValidUTF8(text[:maxQueryBytes], "")
	}
	return withoutData(text)
}

// parseAs is parse with the choice whether the text may be in another language, and what
// its pieces stand for in English.
func (s *snapshot) parseAs(text string, foreign bool, translated map[int]translation) parsed {
	var q parsed
	text = prepared(text)
	seen := map[string]bool{}
	prev := -1 // the place of the word before, if it stands right before
	prevWord := ""
	pieces(text, func(p piece) bool {
		surface := surfaceOf(text, p)
		if s.parseTranslated(&q, p, surface, translated[p.start]) {
			prev, prevWord = -1, ""
			return len(q.wanted) < maxQueryWords
		}
		for _, w := range s.queryWords(p) {
			stop := s.stop(w)
			if stop {
				q.words++
				q.english++
			}
			if seen[w] || stop {
				prev, prevWord = -1, ""
				continue
			}
			seen[w] = true
			written := ""
			if w == p.whole && !p.unspaced && (foreign || !isASCII(w)) {
				written = p.written
			}
			found := s.resolve(w, written)
			q.words++
			if found.known {
				q.english++
			} else if !found.direct {
				q.unsure++
			}
			at := len(q.wanted)
			q.wanted = append(q.wanted, wanted{surface: surface, to: found.to})
			if found.repair != "" {
				q.repaired = append(q.repaired, Repair{From: surface, To: found.repair})
			}
			if len(found.synonyms) > 0 {
				q.replaced = append(q.replaced, Replacement{From: surface, To: found.synonyms})
			}
			if prev >= 0 {
				s.joinWanted(q.wanted, prev, at, prevWord+w)
			}
			prev, prevWord = at, w
		}
		return len(q.wanted) < maxQueryWords
	})
	q.settle(s)
	return q
}

// parseTranslated adds what a piece of a query stands for in English, together with the
// word itself. It reports whether nothing else is to be done with the piece.
func (s *snapshot) parseTranslated(q *parsed, p piece, surface string, t translation) bool {
	if p.unspaced {
		for _, w := range wordsOf(p.whole) {
			var own []variant
			all := pairs(w.word)
			for _, pair := range all {
				if found := s.find(pair); found != nil {
					own = append(own, variant{word: found, weight: formWeight})
				}
			}
			if len(own) < len(all) {
				own = nil // of another word
			}
			s.wantTranslation(q, surface, w.word, own, w.english, besideUnspaced)
		}
		return false
	}
	if t.skip && (!q.apart || len(t.apart) == 0) {
		q.words++
		return true
	}
	if t.skip {
		t.english = t.apart
	} else {
		q.apart = len(t.apart) > 0 && !s.has(t.english)
		if q.apart {
			t.english = t.apart
		}
	}
	if len(t.english) == 0 {
		return false
	}
	own := s.variants(queryStem(p.whole), nil, 1)
	for _, form := range s.forms(p.whole, p.written) {
		if found := s.find(form); found != nil {
			own = addVariant(own, variant{word: found, weight: formWeight})
		}
	}
	if len(own) == 0 && !isASCII(p.whole) && scriptOf(p.whole) != "latin" && len(s.repair(p.whole)) > 0 {
		return false // a typing error in a word that tools have
	}
	if !s.wantTranslation(q, surface, surface, own, t.english, besideWeight) {
		return false
	}
	q.words++
	return true
}

// has reports whether tools have any of the words or their synonyms.
func (s *snapshot) has(english []string) bool {
	for _, e := range english {
		st := queryStem(e)
		if len(s.variants(st, words().synonyms[st], 1)) > 0 {
			return true
		}
	}
	return false
}

// wantTranslation adds what a word of another language stands for to own, its own forms
// that tools have. It reports whether tools have any of them. Beside such forms, a
// translation counts beside; the pairs of an unspaced word are words by themselves.
func (s *snapshot) wantTranslation(q *parsed, surface, word string, own []variant, english []string, beside float64) bool {
	direct, weight, to := len(own) > 0, translatedWeight, own
	if direct {
		weight = beside
		if isUnspacedWord(word) {
			to = nil
		}
	}
	for _, e := range english {
		st := queryStem(e)
		for _, v := range s.variants(st, words().synonyms[st], weight) {
			to = addVariant(to, v)
		}
	}
	if len(to) == 0 {
		return false
	}
	q.wanted = append(q.wanted, wanted{surface: surface, to: to})
	if !direct {
		q.replaced = append(q.replaced, Replacement{From: word, To: english[:1]})
	}
	return true
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

// joinWanted lets two words that stand side by side be answered by their
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
	kept := q.wanted[:0]
	var lost []string
	for _, w := range q.wanted {
		if len(w.to) == 0 {
			lost = append(lost, w.surface)
			continue
		}
		matched[w.surface] = true
		w.idf = s.idfOf(w.to)
		kept = append(kept, w)
	}
	for _, surface := range lost {
		if !matched[surface] && !slices.Contains(q.unmatched, surface) {
			q.unmatched = append(q.unmatched, surface)
		}
	}
	q.wanted = kept
}

// idfOf is how much finding one of the variants says: that of the word itself,
// which is the first, or of the best of its stand-ins.
func (s *snapshot) idfOf(to []variant) float64 {
	if to[0].weight >= 1 {
		return s.idf(float64(to[0].word.df()))
	}
	df := 0.0
	for _, v := range to {
		df = max(df, float64(v.word.df()))
	}
	return s.idf(df)
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
	r := resolution{to: s.variants(st, synonyms, 1), known: len(synonyms) > 0}
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
