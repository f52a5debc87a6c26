package scan

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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

// lookalikes are small letters of other scripts that look like Latin ones.
var lookalikes = map[rune]byte{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ј': 'j', 'ѕ': 's', 'ԁ': 'd', 'һ': 'h', 'ԛ': 'q', 'ԝ': 'w',
	'к': 'k', 'м': 'm', 'т': 't', 'в': 'b', 'н': 'h', 'г': 'r', 'ԍ': 'g', 'ɡ': 'g', 'α': 'a', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k',
	'τ': 't', 'υ': 'u', 'ε': 'e', 'η': 'n', 'ɑ': 'a', 'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h', 'ց': 'g', 'ⅼ': 'l', 'ӏ': 'l', 'ү': 'y', 'ʀ': 'r', 'ɩ': 'i', 'ꜱ': 's', 'ᴏ': 'o', 'ᴄ': 'c', 'ᴇ': 'e',
}

var letters = pattern(`\pL+`)

// latin replaces lookalikes in words that also have Latin letters.
func latin(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return lookalikes[r] != 0 }) {
		return s
	}
	return letters().ReplaceAllStringFunc(s, func(word string) string {
		if !strings.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf }) {
			return word
		}
		return strings.Map(func(r rune) rune {
			if c := lookalikes[r]; c != 0 {
				return rune(c)
			}
			return r
		}, word)
	})
}

// disguised reports whether s contains a word of four letters or more that mixes Latin letters
// with similar Cyrillic or Armenian ones.
func disguised(s string) bool {
	return !isASCII(s) && slices.ContainsFunc(letters().FindAllString(strings.ToLower(s), -1), func(word string) bool {
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
	return singles >= 10 && containsAny(b.String(), "ignoreall", "ignoreprev", "previousinstruction", "donottell", "donotmention", "systemprompt", "disregard", "withouttelling")
}
