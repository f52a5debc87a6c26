package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// flag matches a flag such as that of Wales: a black flag, and letters as tags.
var flag = lazyregexp.New(`\x{1f3f4}[\x{e0030}-\x{e007a}]{3,6}\x{e007f}`)

var rightToLeft = []*unicode.RangeTable{unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam}

// look reports whether s contains characters that are invisible and that no script needs, and
// whether they are more than a slip: tags, overrides of the direction, escape sequences, or
// several. tags is the text that they spell.
func look(s string) (some, blocks bool, tags string) {
	clean := gate.Clean(s)
	if clean == s {
		return false, false, ""
	}
	s = flag.ReplaceAllString(s, "")
	clean = gate.Clean(s)
	rtl := strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, rightToLeft...) })
	zero, selectors, prev := 0, 0, rune(0) // characters without a width, and selectors without effect
	var spelt strings.Builder
	spell := func(r rune) {
		if r >= ' ' && r <= '~' {
			spelt.WriteRune(r)
		}
	}
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
			spell(r - 0xe0000)
		case unicode.Is(unicode.Variation_Selector, r):
			selectors++
			spell(rune(byte(r - 0xe0100 + 16)))
		case unicode.Is(unicode.Bidi_Control, r) && rtl: // right-to-left texts need them
		default:
			zero++
			blocks = blocks || unicode.Is(unicode.Bidi_Control, r) && r != 0x200e && r != 0x200f
		}
	}
	blocks = blocks || zero >= 4 || selectors >= 2
	return blocks || zero+selectors > 0, blocks, spelt.String()
}

// pushed reports whether s pushes words out of sight with blanks.
func pushed(s string) bool {
	if !strings.Contains(s, strings.Repeat(" ", 60)) && strings.Count(s, "\n") < 20 && strings.Count(s, "\t") < 60 {
		return false
	}
	return hiddenBehind.MatchString(s)
}

// hiddenBehind matches text behind many blanks in a line, or many empty lines.
var hiddenBehind = lazyregexp.New(`(?:[ \t\r]{120}|(?:\n[ \t\r]*){20})[ \t\r\n]*[^ \t\r\n](?s:.{11})`)
