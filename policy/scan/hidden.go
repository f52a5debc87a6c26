package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether r takes no place on a screen.
func invisible(r rune) bool {
	return r == 0xad || r == 0x34f || r == 0x61c || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r >= 0x180b && r <= 0x180f ||
		r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0x3164 || r >= 0xfe00 && r <= 0xfe0f ||
		r == 0xfeff || r == 0xffa0 || r >= 0xfff9 && r <= 0xfffb || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// unseen describes the invisible characters of a text.
type unseen struct {
	zero     int    // zero-width characters that no script needs
	tags     int    // tag characters outside of flags
	bidi     bool   // overrides of the direction, and other marks without any letter that runs so
	selector int    // variation selectors that select nothing
	control  bool   // escape sequences and backspaces
	decoded  string // what tags and selectors spell
}

func (u *unseen) blocks() bool {
	return u.tags > 0 || u.bidi || u.selector >= 2 || u.zero >= 4 || u.control
}

func (u *unseen) any() bool { return u.blocks() || u.zero > 0 || u.selector > 0 }

// look finds invisible characters in s.
func look(s string) unseen {
	var u unseen
	for i := range len(s) {
		if c := s[i]; c == 0x1b || c == 0x08 || c == 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != 0 {
			u.control = true
		}
	}
	if isASCII(s) {
		return u
	}
	var spelt strings.Builder
	prev := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		rest := s[i+size:]
		switch {
		case r == 0x1f3f4:
			if n := flag(rest); n > 0 {
				size += n
			}
		case r >= 0xe0000 && r <= 0xe007f:
			u.tags++
			if r >= 0xe0020 && r < 0xe007f {
				spelt.WriteRune(r - 0xe0000)
			}
		case r == 0x202d, r == 0x202e:
			u.bidi = true
		case r >= 0x202a && r <= 0x202c, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x61c:
			if rtl := strings.ContainsFunc(s, rightToLeft); !rtl && (r < 0x200e || r > 0x200f) {
				u.bidi = true
			} else if !rtl {
				u.zero++
			}
		case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
			if !selects(prev, r) {
				u.selector++
				if r >= 0xe0100 {
					spelt.WriteByte(byte(r - 0xe0100 + 16))
				} else {
					spelt.WriteByte(byte(r - 0xfe00))
				}
			}
		case r == 0x200c, r == 0x200d:
			next, _ := utf8.DecodeRuneInString(rest)
			if !joins(prev, next) {
				u.zero++
			}
		case r == 0xfeff && i == 0: // a byte order mark
		case invisible(r), r >= 0x80 && r < 0xa0:
			u.zero++
		}
		prev = r
		i += size
	}
	u.decoded = strings.ToValidUTF8(spelt.String(), "")
	return u
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}

// flag returns the length of the tag characters of a flag, such as that of Wales, after
// a black flag, or 0.
func flag(rest string) int {
	n := 0
	for i, r := range rest {
		if r == 0xe007f && n >= 3 && n <= 6 {
			return i + utf8.RuneLen(r)
		}
		if r < 0xe0030 || r > 0xe007a || n == 6 {
			break
		}
		n++
	}
	return 0
}

// selects reports whether the variation selector r changes how prev looks.
func selects(prev, r rune) bool {
	switch {
	case r == 0xfe0f || r == 0xfe0e:
		return prev >= 0x80 && !unicode.IsLetter(prev) && !invisible(prev) || strings.ContainsRune("0123456789#*", prev) || prev == 'ℹ' || prev == 'Ⓜ'
	case r >= 0xe0100:
		return unicode.Is(unicode.Han, prev)
	}
	return unicode.Is(unicode.Han, prev) || unicode.IsSymbol(prev) && prev >= 0x80 || unicode.Is(unicode.Myanmar, prev) || unicode.Is(unicode.Phags_Pa, prev)
}

// joins reports whether a joiner between two characters changes how they look.
func joins(prev, next rune) bool {
	if prev == 0xfe0f || (prev >= 0x1f000 || prev >= 0x2190 && prev <= 0x2bff) && !invisible(prev) {
		return next >= 0x2190 && !invisible(next)
	}
	return unicode.In(prev, joining...) && (next == utf8.RuneError || unicode.In(next, joining...) || !unicode.IsLetter(next) && !invisible(next))
}

var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// pushed reports whether s pushes words out of sight with blanks.
func pushed(s string) bool {
	blanks, lines := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			blanks, lines = 0, lines+1
		case c == ' ' || c == '\t' || c == '\r':
			blanks++
		default:
			if (blanks >= 120 || lines >= 20) && len(s)-i >= 12 {
				return true
			}
			blanks, lines = 0, 0
		}
	}
	return false
}
