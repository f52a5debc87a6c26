package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A hit is a word that begins a phrase of the tables.
type hit struct {
	class          class
	word, sentence int  // indices of the word and the sentence in the text
	order          bool // it begins a clause, or follows "must" or "also"
	negated        bool // it follows "not" or "never"
	supposed       bool // it follows "if" or "after"
	quoted         bool
}

// A text contains what was found in one string.
type text struct {
	folded   string
	location location
	words    []string // without apostrophes
	hits     []hit
	all      class // of all hits
}

// nextWord finds the next word from i on: letters and digits, with an apostrophe or a dot
// in front ("don't" is "dont", and ".env" is not "env"). In scripts without blanks, each
// character is a word.
func nextWord(s string, i int) (start, end int) {
	for start = i; start < len(s); {
		r, size := utf8.DecodeRuneInString(s[start:])
		if dot := r == '.' && (start == 0 || !isWord(s[start-1])) && start+1 < len(s) && isWord(s[start+1]); dot || isLetter(r) && r != '_' {
			break
		}
		start += size
	}
	for end = start; end < len(s); {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !isWord(s[end]) && !(r == '.' && end == start) && !(r == '\'' && end > start && shortEnding(s[end+1:])) && (r < utf8.RuneSelf || !isLetter(r)) {
			break
		}
		if end += size; dense(r) {
			break
		}
	}
	return start, end
}

// shortEnding reports whether s, which follows an apostrophe, is the end of a word such as
// "don't", and not a word as in "l'ami".
func shortEnding(s string) bool {
	n := 0
	for n < min(len(s), 3) && isWord(s[n]) {
		n++
	}
	return n == 1 || n == 2
}

func isWord(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func isLetter(r rune) bool {
	return r == '_' || r < utf8.RuneSelf && isWord(byte(r)) || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// dense reports whether r is of a script that puts no blanks between words.
func dense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// A token is a word of a text with its context.
type token struct {
	start, end, sentence int
	clause               bool // it begins a sentence or a clause
	quoted               bool
}

// tokens splits a text into words and sentences.
func tokens(s string) (list []token) {
	list = make([]token, 0, len(s)/5+1)
	sentence, clause, quote, open := 0, true, byte(0), 0
	for i := 0; i < len(s); {
		start, end := nextWord(s, i)
		for ; i < start; i++ {
			c, next := s[i], byte('\n')
			if i+1 < len(s) {
				next = s[i+1]
			}
			switch {
			case (c == '.' || c == '!' || c == '?') && !isWord(next) && next != '/':
				sentence, clause, quote = sentence+1, true, 0
			case c == '\n':
				if quote, clause = 0, true; i > 0 && s[i-1] == '\n' || strings.IndexByte("-*#", next) >= 0 {
					sentence++
				}
			case strings.IndexByte(":;,(>]-`|", c) >= 0:
				clause = true
			}
			switch {
			case strings.IndexByte("`\"'", c) >= 0 && quote == 0:
				quote = c
			case c == quote:
				quote = 0
			case c == '(':
				open++
			case c == ')':
				open = max(0, open-1)
			}
		}
		if start < end {
			list = append(list, token{start, end, sentence, clause, quote != 0 || open > 0})
			clause = false
		}
		i = end
	}
	return list
}

// read finds the words and phrases of a text, and the meaning of its names.
func (w *walker) read(s string, at location) *text {
	t := &text{folded: fold(s), location: at}
	list := tokens(t.folded)
	t.words = make([]string, len(list))
	for i, k := range list {
		t.words[i] = strings.ReplaceAll(t.folded[k.start:k.end], "'", "")
	}
	p, said := tables(), 0
	for i, k := range list {
		c, n := p.at(t.words[i:], t.folded[k.start:])
		if c |= w.named(t, i, k); c == 0 {
			continue
		}
		if c&says != 0 {
			said = i + n
		}
		if i < said {
			c &^= neg // "does not" is not an order
		}
		h := hit{class: c, word: i, sentence: k.sentence, quoted: k.quoted, order: k.clause && (i > 0 || at != prose)}
		for j := len(t.hits) - 1; j >= 0 && t.hits[j].sentence == k.sentence && i-t.hits[j].word <= 3; j-- {
			h.negated = h.negated || t.hits[j].class&(neg|says) != 0
			h.supposed = h.supposed || t.hits[j].class&cond != 0
			h.order = h.order || t.hits[j].class&orders != 0
		}
		t.hits = append(t.hits, h)
		t.all |= c
	}
	return t
}

// marked reports whether s pretends that somebody other than the server speaks.
func marked(s string) bool {
	return strings.ContainsAny(s, "<[#{") && containsAny(s, lists()["markers"]...)
}
