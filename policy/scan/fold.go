package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// fold returns s in the form for looking up words: compatibility forms replaced by
// plain ones, lower case, without accents and invisible characters, and with look-alike
// letters replaced by Latin ones.
func fold(s string) string {
	if folded(s) {
		return s
	}
	if s, ok := typeset(s); ok {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case r >= 0x300 && r <= 0x36f, invisible(r):
			continue
		case r == 'ı', r == 'İ':
			r = 'i'
		case r == 'ł', r == 'Ł':
			r = 'l'
		case r == 'ø', r == 'Ø':
			r = 'o'
		case r == 'ß':
			b.WriteByte('s')
			r = 's'
		case r == 'đ', r == 'Đ':
			r = 'd'
		case r == '’', r == '‘', r == 'ʼ':
			r = '\''
		case r == '“', r == '”', r == '„', r == '«', r == '»':
			r = '"'
		case r == '。', r == '！', r == '？':
			b.WriteByte('.')
			r = ' '
		case r == '，', r == '、':
			r = ','
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return latin(norm.NFC.String(b.String()))
}

// folded reports whether s is ASCII without capital letters.
func folded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// typeset folds a text with only dashes, quotes, bullets and the like beyond ASCII, the
// common case, without decomposing it.
func typeset(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			b = append(b, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch t := typographic(r); t {
		case 0:
			return "", false
		case 1:
			b = append(b, s[i:i+size]...)
		default:
			b = append(b, t)
		}
		i += size
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), true // b is not shared
}

// typographic returns what to read for a dash, a quote, a bullet, an arrow or an
// emoji: 1 means itself, 0 that it is none of these.
func typographic(r rune) byte {
	switch {
	case r == '’' || r == '‘':
		return '\''
	case r == '“' || r == '”':
		return '"'
	case r == '–', r == '—', r == '•', r >= 0x2190 && r < 0x2200, r >= 0x1f300 && r < 0x1fa00:
		return 1
	}
	return 0
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lookalikes are small letters of other scripts that look like Latin ones.
var lookalikes = map[rune]byte{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ј': 'j', 'ѕ': 's', 'ԁ': 'd', 'һ': 'h', 'ԛ': 'q', 'ԝ': 'w',
	'к': 'k', 'м': 'm', 'т': 't', 'в': 'b', 'н': 'h', 'г': 'r', 'ԍ': 'g', 'ɡ': 'g', 'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k',
	'τ': 't', 'υ': 'u', 'ε': 'e', 'η': 'n', 'ɑ': 'a', 'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h', 'ց': 'g', 'ⅼ': 'l', 'ӏ': 'l', 'ү': 'y', 'ʀ': 'r', 'ɩ': 'i', 'ꜱ': 's', 'ᴏ': 'o', 'ᴄ': 'c', 'ᴇ': 'e',
}

// latin replaces lookalikes in words that have Latin letters too, and in words of
// nothing else where most letters of the text are Latin.
func latin(s string) string {
	ascii, other := 0, 0
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			ascii++
		case lookalikes[r] != 0:
			other++
		}
	}
	if other == 0 || ascii == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		end, plain, like, rest := wordAt(s, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+size])
			i += size
			continue
		}
		word := s[i:end]
		if like == 0 || plain == 0 && (rest > 0 || ascii < 3*other) {
			b.WriteString(word)
		} else {
			for _, r := range word {
				if c := lookalikes[r]; c != 0 {
					b.WriteByte(c)
				} else {
					b.WriteRune(r)
				}
			}
		}
		i = end
	}
	return b.String()
}

// wordAt returns where the word that begins at i ends, and how many of its
// letters are Latin, look Latin, and are others.
func wordAt(s string, i int) (end, plain, like, rest int) {
	for end = i; end < len(s); {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !unicode.IsLetter(r) {
			break
		}
		switch {
		case r < utf8.RuneSelf:
			plain++
		case lookalikes[r] != 0:
			like++
		default:
			rest++
		}
		end += size
	}
	return end, plain, like, rest
}

// disguised reports whether s has a word of four letters or more that mixes
// Latin letters with Cyrillic or Armenian ones that look like them.
func disguised(s string) bool {
	if isASCII(s) {
		return false
	}
	s = strings.ToLower(s)
	for i := 0; i < len(s); {
		end, plain, like, rest := wordAt(s, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if plain > 0 && like > 0 && rest == 0 && plain+like >= 4 {
			for _, r := range s[i:end] {
				if lookalikes[r] != 0 && unicode.In(r, unicode.Cyrillic, unicode.Armenian) {
					return true
				}
			}
		}
		i = end
	}
	return false
}

func isLetter(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// unleet returns a word with digits and signs as the letters that they look like.
var unleet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i", "|", "l").Replace

// joined returns s with letters put together that stand alone, such as
// "i g n o r e", and whether there are any; two blanks part words.
func joined(s string) (string, bool) {
	var b strings.Builder
	found := false
	for i := 0; i < len(s); {
		end, letters, word := i, 0, []byte(nil)
		for end < len(s) && isWord(s[end]) && (end == 0 || !isWord(s[end-1])) && (end+1 == len(s) || !isWord(s[end+1])) {
			word = append(word, s[end])
			letters++
			end++
			n := 0
			for end+n < len(s) && strings.IndexByte(" .-_*", s[end+n]) >= 0 {
				n++
			}
			if n == 0 || end+n >= len(s) {
				break
			}
			if n > 1 {
				word = append(word, ' ')
			}
			end += n
		}
		if letters >= 6 {
			b.Write(word)
			b.WriteByte(' ')
			found, i = true, end
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String(), found
}

// squeezed reports whether single letters spell out words of attacks.
func squeezed(s string) bool {
	singles := 0
	for i := 0; i+1 < len(s); i++ {
		if !isWord(s[i]) || s[i+1] != ' ' || i > 0 && isWord(s[i-1]) {
			singles = 0
			continue
		}
		i++
		if singles++; singles >= 10 {
			all := strings.ReplaceAll(s, " ", "")
			for _, p := range []string{"ignoreall", "ignoreprev", "previousinstruction", "donottell", "donotmention", "systemprompt", "disregard", "withouttelling"} {
				if strings.Contains(all, p) {
					return true
				}
			}
			return false
		}
	}
	return false
}
