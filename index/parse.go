package index

import (
	"slices"
	"strings"
)

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

// A parser reads one query.
type parser struct {
	*parsed
	s          *snapshot
	text       string
	foreign    bool // the text may be in another language
	translated map[int]translation
	seen       []string
	prev       int // the number of the word before, if it stands right before, or -1
	prevWord   string
}

// parseAs is parse with the choice whether the text may be in another language, and what
// its pieces stand for in English.
func (s *snapshot) parseAs(text string, foreign bool, translated map[int]translation) parsed {
	var q parsed
	p := parser{parsed: &q, s: s, text: prepared(text), foreign: foreign, translated: translated, seen: make([]string, 0, 16), prev: -1}
	p.list = make([]piece, 0, min(2+len(p.text)/6, maxQueryPieces))
	pieces(p.text, func(piece piece) bool {
		p.list = append(p.list, piece)
		return len(p.list) < maxQueryPieces
	})
	for i := 0; i < len(p.list) && len(q.wanted) < maxQueryWords; {
		i += p.read(i)
	}
	q.settle(s)
	return q
}

// read reads the piece with the number i, and returns how many it has read: more than
// one if a phrase begins with it.
func (p *parser) read(i int) int {
	piece := p.list[i]
	surface := surfaceOf(p.text, piece)
	if p.s.parseTranslated(p.parsed, piece, surface, p.translated[piece.start]) {
		p.prev, p.prevWord = -1, ""
		return 1
	}
	for _, w := range p.s.queryWords(piece) {
		stop := p.s.stop(w)
		whole := w == piece.whole && !piece.unspaced
		if stop {
			p.words++
			p.english++
			p.intent.add(effects()[w])
		}
		if whole && stop {
			if n := p.phrase(everydayWords().starts[w], i); n > 0 {
				return n
			}
		}
		if stop || slices.Contains(p.seen, w) {
			p.prev, p.prevWord = -1, ""
			continue
		}
		p.seen = append(p.seen, w)
		written := ""
		if whole && (p.foreign || !isASCII(w)) {
			written = piece.written
		}
		found := p.s.resolve(w, written)
		p.words++
		if whole && found.sayings.end > found.sayings.from {
			if n := p.phrase(found.sayings, i); n > 0 {
				return n
			}
		}
		p.add(w, surface, found)
	}
	return 1
}

// add adds a word that was resolved.
func (p *parser) add(w, surface string, found resolution) {
	if found.known {
		p.english++
	} else if !found.direct {
		p.unsure++
	}
	p.intent.add(found.effect)
	at := len(p.wanted)
	p.wanted = append(p.wanted, wanted{surface: surface, to: found.to})
	if found.repair != "" {
		p.repaired = append(p.repaired, Repair{From: surface, To: found.repair})
	}
	if len(found.synonyms) > 0 {
		p.replaced = append(p.replaced, Replacement{From: surface, To: found.synonyms})
	}
	if p.prev >= 0 {
		p.s.joinWanted(p.wanted, p.prev, at, p.prevWord+w)
	}
	p.prev, p.prevWord = at, w
}

// phrase adds the phrase of some sayings that begins with the piece i, and returns of how many
// pieces it is, or 0.
func (p *parser) phrase(in span, i int) int {
	if p.translated != nil || in.from == in.end {
		return 0
	}
	meant, n := everydayWords().phrase(in, p.list[i:])
	if n == 0 || !p.s.wantPhrase(p.parsed, p.text, p.list[i:i+n], meant) {
		return 0
	}
	for _, piece := range p.list[i : i+n] {
		p.seen = append(p.seen, piece.whole)
	}
	p.prev, p.prevWord = -1, ""
	return n
}

// parseTranslated adds what a piece of a query stands for in English, together with the
// word itself. It reports whether nothing else is to be done with the piece.
func (s *snapshot) parseTranslated(q *parsed, p piece, surface string, t translation) bool {
	if p.unspaced {
		for _, w := range wordsOf(p.whole) {
			var forms []variant
			all := pairs(w.word)
			for _, pair := range all {
				if found := s.find(pair); found != nil {
					forms = append(forms, variant{word: found, weight: formWeight})
				}
			}
			if len(forms) < len(all) {
				forms = nil // of another word
			}
			s.wantTranslation(q, surface, w.word, forms, w.english, besideUnspaced)
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
	forms := s.variants(queryStem(p.whole), nil, 1)
	for _, form := range s.forms(p.whole, p.written) {
		if found := s.find(form); found != nil {
			forms = addVariant(forms, variant{word: found, weight: formWeight})
		}
	}
	if len(forms) == 0 && !isASCII(p.whole) && scriptOf(p.whole) != "latin" && len(s.repair(p.whole)) > 0 {
		return false // a typing error in a word that tools have
	}
	if !s.wantTranslation(q, surface, surface, forms, t.english, besideWeight) {
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

// wantTranslation adds the English words for a word of another language to forms, its forms
// that tools have. It reports whether tools have any of them. Beside such forms, a
// translation counts beside; the pairs of an unspaced word are words by themselves.
func (s *snapshot) wantTranslation(q *parsed, surface, word string, forms []variant, english []string, beside float64) bool {
	direct, weight, to := len(forms) > 0, translatedWeight, forms
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
