package scan

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// fold returns s in the form for looking up words: compatibility forms replaced by
// plain ones, lower case, without accents and invisible characters, and with look-alike
// letters replaced by Latin ones.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if plain, ok := signs[r]; ok {
			b.WriteString(plain)
		} else if (r < 0x300 || r > 0x36f) && !unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return latin(norm.NFC.String(b.String()))
}

// signs maps characters to the ones they are read as.
var signs = map[rune]string{
	'ı': "i", 'İ': "i", 'ł': "l", 'Ł': "l", 'ø': "o", 'Ø': "o", 'ß': "ss", 'đ': "d", 'Đ': "d", '’': "'", '‘': "'", 'ʼ': "'",
	'“': `"`, '”': `"`, '„': `"`, '«': `"`, '»': `"`, '。': ". ", '！': ". ", '？': ". ", '，': ",", '、': ",", '…': ". ",
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lookalikes maps small letters of other scripts to the Latin ones that they look like.
var lookalikes = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for _, letters := range lists()["lookalikes"] {
		for _, r := range letters[1:] {
			m[r] = rune(letters[0])
		}
	}
	return m
})

var letters = lazyregexp.New(`\pL+`)

// latin replaces lookalikes in words that also have Latin letters.
func latin(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return lookalikes()[r] != 0 }) {
		return s
	}
	return letters.ReplaceAllStringFunc(s, func(word string) string {
		if !strings.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf }) {
			return word
		}
		return strings.Map(func(r rune) rune { return cmp.Or(lookalikes()[r], r) }, word)
	})
}

// disguised reports whether s contains a word of four letters or more that mixes Latin letters
// with similar Cyrillic or Armenian ones.
func disguised(s string) bool {
	return !isASCII(s) && slices.ContainsFunc(letters.FindAllString(strings.ToLower(s), -1), func(word string) bool {
		plain := latin(word)
		return plain != word && isASCII(plain) && len(plain) >= 4 && strings.ContainsFunc(word, func(r rune) bool { return unicode.In(r, unicode.Cyrillic, unicode.Armenian) })
	})
}

// unleet replaces digits and signs in a word with the letters that they resemble.
var unleet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i", "|", "l").Replace

// spelt reports whether single letters spell words of attacks.
func spelt(s string) bool {
	var b strings.Builder
	singles := 0
	for i := 0; i < len(s); i++ {
		if isWord(s[i]) && (i == 0 || !isWord(s[i-1])) && (i+1 == len(s) || !isWord(s[i+1])) {
			b.WriteByte(s[i])
			singles++
		} else if isWord(s[i]) && b.Len() > 0 && s[i-1] == ' ' {
			b.WriteByte('|')
		}
	}
	return singles >= 10 && containsAny(b.String(), lists()["spelt"]...)
}
