package redact

import (
	"strings"
	"sync"
)

// A span is where a token stands in a text.
type span struct{ from, to int }

// A candidate is what a text may contain: a prefix of tokens or a hint.
type candidate struct {
	text   string
	least  int // of a prefix: how many characters follow; 0 for a hint
	class  class
	shapes uint64 // of a hint: which shapes it is for
}

// A tokenFinder finds all prefixes and hints in one pass: the first two bytes,
// without regard to case, say which of them may begin there.
type tokenFinder struct {
	bucket   [1 << 14]uint8 // by two bytes of 7 bits; 0 is none
	lists    [][]candidate
	run, dot uint64 // the shapes for runs
}

var finder = sync.OnceValue(newFinder)

func newFinder() *tokenFinder {
	f := &tokenFinder{lists: make([][]candidate, 1)}
	add := func(c candidate) {
		b := &f.bucket[pair(c.text[0], c.text[1])]
		if *b == 0 {
			*b = uint8(len(f.lists))
			f.lists = append(f.lists, nil)
		}
		f.lists[*b] = append(f.lists[*b], c)
	}
	for _, p := range prefixes {
		for _, text := range p.begins {
			add(candidate{text: text, least: p.least, class: p.class})
		}
	}
	f.bucket[pair(':', '/')] = uint8(len(f.lists)) // for addresses
	f.lists = append(f.lists, nil)
	for i, s := range shapes {
		for _, hint := range s.hints {
			switch bit := uint64(1) << i; hint {
			case hintRun:
				f.run |= bit
			case hintRunDot:
				f.dot |= bit
			default:
				add(candidate{text: hint, shapes: bit})
			}
		}
	}
	return f
}

func pair(a, b byte) uint16 { return uint16(lower(a)&0x7f)<<7 | uint16(lower(b)&0x7f) }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// find returns the tokens of text that a prefix betrays, and which of shapes are
// worth looking for.
func (f *tokenFinder) find(text string) (tokens []span, hinted uint64) {
	run := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isIn(word, c):
			if run++; run == runLength {
				hinted |= f.run
			}
		case c == '.' && run >= dotLength:
			hinted |= f.dot
			run = 0
		default:
			run = 0
		}
		if i+1 == len(text) {
			break
		}
		b := f.bucket[pair(c, text[i+1])]
		if b == 0 {
			continue
		}
		if strings.HasPrefix(text[i:], "://") {
			if t, ok := userinfo(text, i+3); ok {
				tokens = append(tokens, t)
				i, run = t.to-1, 0
				continue
			}
		}
		for _, k := range f.lists[b] {
			if k.least == 0 {
				if k.shapes&^hinted != 0 && beginsFolded(text[i:], k.text) {
					hinted |= k.shapes
				}
			} else if end := k.token(text, i); end > 0 {
				tokens = append(tokens, span{i, end})
				i, run = end-1, 0
				break
			}
		}
	}
	return tokens, hinted
}

// token is where the token ends that begins in text at i; 0 if none does.
func (k *candidate) token(text string, i int) int {
	if !strings.HasPrefix(text[i:], k.text) {
		return 0
	}
	if len(k.text) < 6 && i > 0 && (isIn(word, text[i-1]) && text[i-1] != '-') { // it is the end of a word
		return 0
	}
	start := i + len(k.text)
	end := start
	digits, separators := 0, 0
	for ; end < len(text) && isIn(k.class, text[end]); end++ {
		switch c := text[end]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '-' || c == '_':
			separators++
		}
	}
	for end > start && text[end-1] == '.' { // of the sentence
		end--
	}
	n := end - start
	if n < k.least || digits == 0 && separators > 0 { // words-in-a-row are none
		return 0
	}
	if k.class >= hexadecimal && (n > k.least || end < len(text) && isIn(word, text[end])) {
		return 0
	}
	if k.class == letters && digits == 0 {
		return 0
	}
	return end
}

// userinfo finds the secret before the host in an address whose "://" ends at
// start: a password, or a name that is as long as a token.
func userinfo(text string, start int) (span, bool) {
	const longName = 20
	colon, at := -1, -1
scan:
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ' || c == '/' || c == '"' || c == '\'':
			break scan
		case c == ':' && colon < 0 && at < 0:
			colon = i
		case c == '@':
			at = i
		}
	}
	switch {
	case colon >= 0 && at > colon+1:
		return span{colon + 1, at}, true
	case colon < 0 && at >= start+longName:
		return span{start, at}, true
	}
	return span{}, false
}

func isIn(k class, c byte) bool {
	switch {
	case '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F':
		return true
	case 'g' <= c && c <= 'z' || 'G' <= c && c <= 'Z' || c == '_' || c == '-':
		return k != hexadecimal && (k != letters || c != '_' && c != '-')
	case c == '.':
		return k == dotted
	case c == '+' || c == '/' || c == '=':
		return k == base64
	}
	return false
}

// beginsFolded reports whether text begins with hint, which is in lower case.
func beginsFolded(text, hint string) bool {
	if len(text) < len(hint) {
		return false
	}
	for i := range len(hint) {
		if lower(text[i]) != hint[i] {
			return false
		}
	}
	return true
}
