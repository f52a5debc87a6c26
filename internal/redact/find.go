package redact

import (
	"math/bits"
	"strings"
	"sync"
)

// A candidate is what a text may contain: a prefix of tokens or a hint.
type candidate struct {
	text   string
	least  int // of a prefix: how many characters follow; 0 for a hint
	class  class
	kind   string // of a prefix
	shapes uint64 // of a hint: which shapes it is for
}

// A hinted is where a hint stands, and for which shapes.
type hinted struct {
	at, end int
	shapes  uint64
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
			add(candidate{text: text, least: p.least, class: p.class, kind: p.kind})
		}
	}
	add(candidate{text: keyBegin})
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

func pair(a, b byte) uint16 { return lowered[a]<<7 | lowered[b] }

// lowered are the bytes in lower case, of 7 bits.
var lowered = func() (t [256]uint16) {
	for c := range 256 {
		t[c] = uint16(lower(byte(c)) & 0x7f)
	}
	return t
}()

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

const (
	keyBegin = "-----begin "
	keyEnd   = "-----end "
)

// find returns the tokens of text that a prefix betrays, private keys and
// passwords in addresses, and where there are hints at others.
func (f *tokenFinder) find(text string) (tokens []Span, hints []hinted) {
	run := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isWord[c]:
			if run++; run == runLength && f.run != 0 {
				hints = append(hints, hinted{i, i, f.run})
			}
		case c == '.' && run >= dotLength:
			hints = append(hints, hinted{i, i, f.dot})
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
		if c == ':' && strings.HasPrefix(text[i:], "://") {
			if t, ok := userinfo(text, i+3); ok {
				t.Type = f.kindOf(text[t.Start:t.End], t.Type)
				tokens = append(tokens, t)
				i, run = t.End-1, 0
				continue
			}
		}
		list := f.lists[b]
		for j := range list {
			k := &list[j]
			if k.least > 0 {
				if end := k.token(text, i); end > 0 {
					tokens = append(tokens, Span{Type: k.kind, Start: i, End: end})
					i, run = end-1, 0
					break
				}
				continue
			}
			if !beginsFolded(text[i:], k.text) {
				continue
			}
			if k.shapes != 0 {
				hints = append(hints, hinted{i, i + len(k.text), k.shapes})
			} else if end := privateKey(text, i); end > 0 {
				tokens = append(tokens, Span{Type: "private_key", Start: i, End: end})
				i, run = end-1, 0
				break
			}
		}
	}
	return tokens, hints
}

// kindOf is the kind of a token that a prefix betrays, else another one.
func (f *tokenFinder) kindOf(token, otherwise string) string {
	if len(token) < 8 {
		return otherwise
	}
	for _, k := range f.lists[f.bucket[pair(token[0], token[1])]] {
		if k.least > 0 && k.token(token, 0) == len(token) {
			return k.kind
		}
	}
	return otherwise
}

// privateKey is where the private key ends that begins in text at i; 0 if none
// does. One that is cut off goes to the end.
func privateKey(text string, i int) int {
	head := text[i+len(keyBegin):]
	stop := strings.Index(head[:min(len(head), 60)], "-----")
	if stop < 0 || !strings.Contains(head[:stop], "PRIVATE KEY") {
		return 0
	}
	from := i + len(keyBegin) + stop + 5
	const longest = 64 << 10
	body := text[from:min(len(text), from+longest)]
	end := strings.Index(body, "-----END ")
	if end < 0 {
		return from + len(body)
	}
	tail := body[end+len(keyEnd):]
	if close := strings.Index(tail[:min(len(tail), 60)], "-----"); close >= 0 {
		return from + end + len(keyEnd) + close + 5
	}
	return from + end + len(keyEnd)
}

// isWord are the bytes of class word.
var isWord = func() (t [256]bool) {
	for c := range 256 {
		t[c] = isIn(word, byte(c))
	}
	return t
}()

// shaped returns the secrets that shapes find where there are hints.
func shaped(text string, hints []hinted) []Span {
	var spans []Span
	for _, h := range hints {
		for left := h.shapes; left != 0; left &= left - 1 {
			s := &shapes[bits.TrailingZeros64(left)]
			from := h.at
			switch {
			case s.before == 1 && from > 0 && isWord[text[from-1]] && text[from-1] != '-':
				continue
			case s.before > 1:
				for from = max(0, from-s.before); from > 0 && h.at-from < 4096 && isWord[text[from-1]]; from-- {
				}
			}
			window := text[from:min(len(text), h.end+s.after)]
			if s.before <= 1 {
				if m := s.expr().FindStringSubmatchIndex(window); m != nil {
					spans = append(spans, s.span(m, from))
				}
				continue
			}
			for _, m := range s.expr().FindAllStringSubmatchIndex(window, 4) {
				spans = append(spans, s.span(m, from))
			}
		}
	}
	return spans
}

// span is the secret of a match in a window that begins at from.
func (s *shape) span(m []int, from int) Span {
	start, end := m[0], m[1]
	if len(m) > 2 && m[2] >= 0 {
		start, end = m[2], m[3]
	}
	return Span{Type: s.kind, Start: from + start, End: from + end}
}

// token is where the token ends that begins in text at i; 0 if none does.
func (k *candidate) token(text string, i int) int {
	if i+2 < len(text) && len(k.text) > 2 && text[i+2] != k.text[2] || !strings.HasPrefix(text[i:], k.text) {
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
func userinfo(text string, start int) (Span, bool) {
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
		return Span{Type: "url_password", Start: colon + 1, End: at}, true
	case colon < 0 && at >= start+longName:
		return Span{Type: "url_password", Start: start, End: at}, true
	}
	return Span{}, false
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
	for i := len(hint) - 1; i >= 0; i-- { // the beginning is the same already
		if lowered[text[i]] != uint16(hint[i]) || text[i] >= 0x80 {
			return false
		}
	}
	return true
}
