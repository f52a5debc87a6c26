package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// flag matches a flag such as that of Wales: a black flag, and letters as tags.
var flag = pattern(`\x{1f3f4}[\x{e0030}-\x{e007a}]{3,6}\x{e007f}`)

// look reports whether s contains characters that are invisible and that no script needs, and
// whether they are more than a slip: tags, overrides of the direction, escape sequences, or
// several. tags is the text that they spell.
func look(s string) (some, blocks bool, tags string) {
	clean := gate.Clean(s)
	if clean == s {
		return false, false, ""
	}
	s = flag().ReplaceAllString(s, "")
	zero, selectors := 0, 0 // characters without a width, and selectors without effect
	var spelt strings.Builder
	rtl := strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
	})
	clean = gate.Clean(s)
	prev := rune(0)
	for i, r := range s {
		if next, size := utf8.DecodeRuneInString(clean); next == r && clean != "" {
			clean, prev = clean[size:], r
			continue
		}
		switch {
		case r == utf8.RuneError, r == 0, r == 0xfeff && i == 0, r == 0xfe0e && prev >= 0x80 && !unicode.IsLetter(prev):
		case r < ' ' && r != '\r', r == 0x7f, r == 0x202d, r == 0x202e:
			blocks = true
		case r >= 0xe0000 && r <= 0xe007f:
			blocks = true
			spelt.WriteRune(r - 0xe0000)
		case unicode.Is(unicode.Variation_Selector, r):
			selectors++
			spelt.WriteByte(byte(r - 0xe0100 + 16))
		case unicode.Is(unicode.Bidi_Control, r):
			if !rtl { // right-to-left texts need them
				zero++
				blocks = blocks || r < 0x200e || r > 0x200f
			}
		default:
			zero++
		}
	}
	tags = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, spelt.String())
	blocks = blocks || zero >= 4 || selectors >= 2
	return blocks || zero+selectors > 0, blocks, tags
}

// pushed reports whether s pushes words out of sight with blanks.
func pushed(s string) bool {
	if !strings.Contains(s, strings.Repeat(" ", 60)) && strings.Count(s, "\n") < 20 && strings.Count(s, "\t") < 60 {
		return false
	}
	return hiddenBehind().MatchString(s)
}

// hiddenBehind matches text behind many blanks in a line, or many empty lines.
var hiddenBehind = pattern(`(?:[ \t\r]{120}|(?:\n[ \t\r]*){20})[ \t\r\n]*[^ \t\r\n](?s:.{11})`)
