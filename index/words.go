package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the number of letters of the longest word. A longer run of letters is
// data, such as a key, a hash or an encoded picture.
const maxWord = 48

// A piece is a run of letters and digits in a text.
type piece struct {
	// whole is the run in lower case without accents, and written the run in lower case
	// with accents.
	whole, written string
	// parts are the words within it if it has several: those of a camelCase
	// name, letters and digits, the character pairs of Chinese.
	parts []string
	// unspaced is set if parts are pairs of characters and whole is not a word.
	unspaced bool
	// end is the offset of the first byte after the piece.
	start, end int
}

// pieces calls yield with each piece of s, in order, until it returns false.
// Everything but letters, digits and the marks on them separates.
func pieces(s string, yield func(piece) bool) {
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if !wordRune(r) {
			i += size
			continue
		}
		unspaced := isUnspaced(r)
		start := i
		ascii := r < utf8.RuneSelf
		for i += size; i < len(s); i += size {
			r, size = rune(s[i]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(s[i:])
			}
			if !wordRune(r) || isUnspaced(r) != unspaced {
				break
			}
			ascii = ascii && r < utf8.RuneSelf
		}
		if !yield(newPiece(s[start:i], start, i, unspaced, ascii)) {
			return
		}
	}
}

func newPiece(s string, start, end int, unspaced, ascii bool) piece {
	p := piece{unspaced: unspaced, start: start, end: end}
	if unspaced {
		p.whole, p.written = s, s
		p.parts = pairs(s)
		return p
	}
	if !ascii {
		p.written = firstLetters(strings.ToLower(norm.NFKC.String(s)), maxWord)
		s = plain(s)
	}
	// Keep characters that may begin a name; the rest is data.
	s = singular(firstLetters(s, maxWord))
	p.whole = strings.ToLower(s)
	if ascii {
		p.written = p.whole
	}
	if severalWords(s) {
		if parts := humps(s); len(parts) > 1 {
			p.parts = parts
		}
	}
	return p
}

// singular takes the small s off an abbreviation: VMs, PRs, URLs.
func singular(s string) string {
	if n := len(s) - 1; n >= 2 && s[n] == 's' && strings.ToUpper(s[:n]) == s[:n] && !hasDigit(s) {
		return s[:n]
	}
	return s
}

// severalWords reports whether s may have humps: it has a digit, or a capital
// that is not the first letter.
func severalWords(s string) bool {
	for i := range len(s) {
		c := s[i]
		if '0' <= c && c <= '9' || c >= utf8.RuneSelf || i > 0 && 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// isUnspaced reports whether the script of r is written without spaces, or, as in
// Korean, with attached particles.
func isUnspaced(r rune) bool {
	switch {
	case r < 0xE00:
		return false
	case r < 0xF00: // Thai and Lao
		return true
	case r < 0x1100:
		return 0x1000 <= r && r < 0x10A0 // Burmese
	case r < 0x2000:
		return r < 0x1200 || 0x1780 <= r && r < 0x1800 // Jamo, Khmer
	}
	return isCJK(r)
}

// isCJK reports whether a character in the script of r is roughly one word.
func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

// pairs returns the overlapping pairs of characters of s, each with its marks, or s if
// it has only one character.
func pairs(s string) []string {
	var starts []int
	for i, r := range s {
		if i == 0 || !unicode.IsMark(r) {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 {
		return []string{s}
	}
	p := make([]string, 0, len(starts)-1)
	starts = append(starts, len(s))
	for i := range len(starts) - 2 {
		p = append(p, s[starts[i]:starts[i+2]])
	}
	return p
}

// plain removes accents and differences of width, so that "Café" and "Cafe" match.
// Marks that are letters of their own stay, such as the vowels of Hindi and the breve
// of Russian й.
func plain(s string) string {
	prev := rune(0)
	s = strings.Map(func(r rune) rune {
		before := prev
		prev = r
		switch {
		case r < 0x300:
		case r == 0x306 && (before == 'и' || before == 'И'):
		case r == 'ـ', isAccent(r):
			return -1
		}
		return r
	}, norm.NFKD.String(s))
	return norm.NFC.String(s)
}

// isAccent reports whether r is a mark that writers may omit: an accent, a vowel point
// of Hebrew or Arabic, the dot of Hindi.
func isAccent(r rune) bool {
	switch {
	case r < 0x370, 0x591 <= r && r < 0x670, r == 0x670, r == 0x93C:
		return unicode.Is(unicode.Mn, r)
	}
	return r >= 0x1AB0 && unicode.Is(unicode.Mn, r) && (r < 0x1B00 || 0x1DC0 <= r && r < 0x2100)
}

// humps splits a name where its words meet: "getHTTPStatus2" is get, http,
// status and 2. The parts are in lower case.
func humps(s string) []string {
	var parts []string
	start := 0
	r := []rune(s)
	for i := 1; i <= len(r); i++ {
		if i < len(r) && !wordStarts(r, i) {
			continue
		}
		parts = append(parts, strings.ToLower(string(r[start:i])))
		start = i
	}
	return parts
}

// wordStarts reports whether r[i] begins a word: a capital after a small
// letter, the last of a run of capitals before a small letter, a digit after a
// letter or a letter after a digit.
func wordStarts(r []rune, i int) bool {
	prev, cur := r[i-1], r[i]
	switch {
	case unicode.IsDigit(prev) != unicode.IsDigit(cur):
		return true
	case !unicode.IsUpper(cur):
		return false
	case unicode.IsLower(prev):
		return true
	}
	return unicode.IsUpper(prev) && i+1 < len(r) && unicode.IsLower(r[i+1])
}

// eachWord calls emit with every word by which text is found, without and with its
// accents. A compound name is found by each of its words, and in prose also by the
// whole, since "GitHub" is written "github" elsewhere.
func eachWord(text string, prose bool, emit func(word, written string)) {
	prev := ""
	pieces(text, func(p piece) bool {
		switch {
		case p.unspaced:
			for _, w := range p.parts {
				emit(w, w)
			}
			if len(p.parts) > 1 || utf8.RuneCountInString(p.whole) == 2 {
				for _, r := range p.whole {
					if isCJK(r) {
						emit(string(r), string(r))
					}
				}
			}
			prev = ""
			return true
		case len(p.parts) == 0:
			emit(p.whole, p.written)
			prev = join(prev, p.whole, emit)
			return true
		}
		if prose || len(p.parts) == 2 && hasDigit(p.whole) {
			emit(p.whole, p.written)
		}
		for _, w := range p.parts {
			emit(w, w)
			prev = join(prev, w, emit)
		}
		return true
	})
}

// join emits the compound of two words if it is one that is also written as
// one word, and returns what the next word is to be joined with.
func join(prev, word string, emit func(word, written string)) string {
	if one := strings.TrimSuffix(word, "s"); prev != "" && words().compounds[[2]string{prev, one}] {
		emit(prev+one, prev+one)
	}
	return word
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
