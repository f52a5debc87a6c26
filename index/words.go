package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the length in bytes above which a run of letters is no word but
// data: a key, a hash, an encoded picture.
const maxWord = 48

// A piece is a run of letters and digits in a text.
type piece struct {
	// whole is the run in lower case, without accents.
	whole string
	// parts are the words within it if it has several: those of a camelCase
	// name, letters and digits, the character pairs of Chinese.
	parts []string
	// cjk says that parts are pairs of characters and whole is no word.
	cjk bool
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
		cjk := isCJK(r)
		start := i
		ascii := r < utf8.RuneSelf
		for i += size; i < len(s); i += size {
			r, size = rune(s[i]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(s[i:])
			}
			if !wordRune(r) || isCJK(r) != cjk {
				break
			}
			ascii = ascii && r < utf8.RuneSelf
		}
		if !yield(newPiece(s[start:i], start, i, cjk, ascii)) {
			return
		}
	}
}

func newPiece(s string, start, end int, cjk, ascii bool) piece {
	p := piece{cjk: cjk, start: start, end: end}
	if cjk {
		p.whole = s
		p.parts = pairs(s)
		return p
	}
	if !ascii {
		s = plain(s)
	}
	if len(s) > maxWord {
		// Keep what a name may begin with; the rest is data.
		s = strings.ToValidUTF8(s[:maxWord], "")
	}
	s = singular(s)
	p.whole = strings.ToLower(s)
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
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// isCJK reports whether words of r's script are written without spaces, or, as
// in Korean, with their particles attached.
func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

// pairs are the overlapping pairs of characters of s, or s if it is only one.
func pairs(s string) []string {
	r := []rune(s)
	if len(r) < 2 {
		return []string{s}
	}
	p := make([]string, 0, len(r)-1)
	for i := range len(r) - 1 {
		p = append(p, string(r[i:i+2]))
	}
	return p
}

// plain removes accents and the differences of width: "Café" and "Cafe" are
// found alike.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
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

// eachWord calls emit with every word that text is to be found by. A name of
// several words is found by each of them, and in prose by the whole too, since
// "GitHub" is written "github" elsewhere.
func eachWord(text string, prose bool, emit func(string)) {
	prev := ""
	pieces(text, func(p piece) bool {
		switch {
		case p.cjk:
			for _, w := range p.parts {
				emit(w)
			}
			if len(p.parts) > 1 || utf8.RuneCountInString(p.whole) == 2 {
				for _, r := range p.whole {
					emit(string(r))
				}
			}
			prev = ""
			return true
		case len(p.parts) == 0:
			emit(p.whole)
			prev = join(prev, p.whole, emit)
			return true
		}
		if prose || len(p.parts) == 2 && hasDigit(p.whole) {
			emit(p.whole)
		}
		for _, w := range p.parts {
			emit(w)
			prev = join(prev, w, emit)
		}
		return true
	})
}

// join emits the compound of two words if it is one that is also written as
// one word, and returns what the next word is to be joined with.
func join(prev, word string, emit func(string)) string {
	if one := strings.TrimSuffix(word, "s"); prev != "" && words().compounds[[2]string{prev, one}] {
		emit(prev + one)
	}
	return word
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
