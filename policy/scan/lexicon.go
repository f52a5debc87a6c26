package scan

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A lexicon finds words and phrases in one pass: a trie of ASCII letters, and
// for other scripts lists by the first character.
type lexicon struct {
	nodes []node
	wide  map[rune][]entry // words of letters that are not ASCII
	runs  map[rune][]entry // words that stand without blanks
}

const symbols = 40

// A node is a state of the trie.
type node struct {
	next        [symbols]uint16
	exact, stem class
}

type entry struct {
	text  string
	class class
	stem  bool
}

var theLexicon = sync.OnceValue(func() *lexicon {
	l := &lexicon{nodes: make([]node, 1), wide: map[rune][]entry{}, runs: map[rune][]entry{}}
	for _, w := range words {
		for text := range strings.SplitSeq(w.list, "|") {
			l.add(text, w.class)
		}
	}
	for _, w := range foreignWords {
		for text := range strings.SplitSeq(w.list, "|") {
			l.add(fold(text), w.class|foreign)
		}
	}
	for _, w := range scriptWords {
		for text := range strings.SplitSeq(w.list, "|") {
			text = fold(text)
			r, _ := utf8.DecodeRuneInString(text)
			l.runs[r] = append(l.runs[r], entry{text, w.class | foreign, true})
		}
	}
	return l
})

func (l *lexicon) add(text string, c class) {
	text, stem := strings.CutSuffix(text, "*")
	if r, _ := utf8.DecodeRuneInString(text); r >= utf8.RuneSelf {
		l.wide[r] = append(l.wide[r], entry{text, c, stem})
		return
	}
	at := 0
	for i := range len(text) {
		s := symbolOf[text[i]]
		if l.nodes[at].next[s] == 0 {
			l.nodes[at].next[s] = uint16(len(l.nodes))
			l.nodes = append(l.nodes, node{})
		}
		at = int(l.nodes[at].next[s])
	}
	if stem {
		l.nodes[at].stem |= c
	} else {
		l.nodes[at].exact |= c
	}
}

// Symbols of the trie.
const (
	gap   = 1 // one or more blanks, "_" or "-"
	none  = 0
	digit = 28
	dot   = 38
	slash = 39
)

// symbolOf is the symbol of each byte; none ends a phrase.
var symbolOf = func() (t [256]uint8) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = c - 'a' + 2
		t[c-'a'+'A'] = t[c]
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c - '0' + digit
	}
	for _, c := range " \t\n_-" {
		t[c] = gap
	}
	t['.'], t['/'], t['\\'] = dot, slash, slash
	return t
}()

var alphanumeric = func() (t [256]bool) {
	for c := range t {
		t[c] = isWord(byte(c)) || isWord(byte(c)|0x20) && c >= 'A' && c <= 'Z'
	}
	return t
}()

func isWord(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// match returns the classes of all words and phrases that begin in text at i,
// and where the longest of them ends.
func (l *lexicon) match(text string, i int) (class, int) {
	var found class
	end := i
	at := 0
	for j := i; ; {
		if j < len(text) && text[j] == '\'' && j > i {
			j++ // don't
			continue
		}
		n := &l.nodes[at]
		if at != 0 {
			if n.stem != 0 {
				found |= n.stem
				end = max(end, j)
			}
			if n.exact != 0 && (j == len(text) || !alphanumeric[text[j]] && text[j] < utf8.RuneSelf) {
				found |= n.exact
				end = max(end, j)
			}
		}
		if j == len(text) {
			break
		}
		s := symbolOf[text[j]]
		if s == none {
			break
		}
		next := n.next[s]
		if next == 0 {
			break
		}
		at = int(next)
		j++
		for s == gap && j < len(text) && symbolOf[text[j]] == gap {
			j++
		}
	}
	return found, end
}

// matchWide is match for phrases that begin with a character outside ASCII; start means
// that a word begins there.
func (l *lexicon) matchWide(text string, i int, r rune, start bool) (class, int) {
	var found class
	end := i
	for _, e := range l.runs[r] {
		if strings.HasPrefix(text[i:], e.text) {
			found |= e.class
			end = max(end, i+len(e.text))
		}
	}
	if !start {
		return found, end
	}
	for _, e := range l.wide[r] {
		if !strings.HasPrefix(text[i:], e.text) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[i+len(e.text):])
		if e.stem || i+len(e.text) == len(text) || !isLetter(next) {
			found |= e.class
			end = max(end, i+len(e.text))
		}
	}
	return found, end
}

// classes are those of all words of a text.
func (l *lexicon) classes(folded string) class {
	t := text{folded: folded}
	t.tokens()
	return t.all
}
