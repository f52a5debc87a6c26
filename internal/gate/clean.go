// Package gate is what every text passes that is not the broker's own on its
// way out, to a client or to a terminal. It takes out what a reader does not
// see but a model or a terminal does: control and escape characters, characters
// that change the direction of writing, invisible ones, tag characters and
// variation selectors that carry data. Letters of all scripts, emoji, and in
// texts of more than one line newlines and tabs stay as they are.
//
// What only this package can make, a Text, is what may be sent.
package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean returns s as a model may read it: one line or many, each of which may
// end as on Windows. What is not UTF-8
// becomes U+FFFD, what a reader does not see is gone, and so are sequences that
// colour a terminal. A text without any is returned as it is.
func Clean(s string) string { return clean(s, dropped) }

// Terminal returns s as one line that is safe to print on a terminal: line
// breaks and tabs are blanks, and everything else that could steer the terminal
// or hide from the reader shows as a dot.
func Terminal(s string) string { return clean(s, line) }

// TerminalText is Terminal for a text that may have lines: newlines and tabs
// stay.
func TerminalText(s string) string { return clean(s, lines) }

// Spelt returns s with each character that no reader sees as a text that one
// does, such as \u200b or \u{e0041}.
func Spelt(s string) string { return clean(s, spelt) }

// Line returns s for a model on one line: runs of white space become single blanks,
// without blanks at the ends.
func Line(s string) string {
	if s = Clean(s); !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// Hides reports whether s has something that Clean would change.
func Hides(s string) bool { return Clean(s) != s }

// A style says what becomes of a character that is not shown.
type style int

const (
	dropped style = iota // gone
	spelt                // an escape that can be read
	escaped              // an escape of JSON
	lines                // a dot
	line                 // a dot, and a line break is a blank
)

const dot = "·"

// plain are the characters that every style leaves as they are.
var plain = func() (p [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		p[c] = true
	}
	return p
}()

func clean(s string, how style) string {
	var b strings.Builder
	done := 0       // s[:done] is in b
	prev := rune(0) // the last one that stays
	for i := 0; i < len(s); {
		if plain[s[i]] {
			for i++; i < len(s) && plain[s[i]]; {
				i++
			}
			prev = rune(s[i-1])
			continue
		}
		c := s[i]
		if (c == '\n' || c == '\t') && how != line || c == '\r' && how == dropped && strings.HasPrefix(s[i+1:], "\n") {
			prev = rune(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= 0x80 && shown(prev, r, size, s[i+size:]) {
			prev = r
			i += size
			continue
		}
		b.WriteString(s[done:i])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case how == dropped:
			size = max(size, sequence(s[i:]))
		case how == escaped && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b.WriteString(fmt.Sprintf(`\u%04x\u%04x`, high, low))
		case how == spelt && r > 0xffff:
			b.WriteString(fmt.Sprintf(`\u{%x}`, r))
		case how == spelt || how == escaped:
			b.WriteString(fmt.Sprintf(`\u%04x`, r))
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"): // the newline says it
		case how == line && isSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteString(dot)
		}
		i += size
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r == 0x2028 || r == 0x2029 }

// sequence returns the length of a terminal's escape sequence at the beginning of s:
// one that colours or moves, or a terminated one that sets a title. It returns 0 if
// there is none.
func sequence(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch s[1] {
	case '[': // parameters, then one final byte
		for i := 2; i < min(len(s), 64); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return 0
			}
		}
	case ']': // up to BEL or ST
		for i := 2; i < min(len(s), 1024); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b || s[i] == '\n' {
				if strings.HasPrefix(s[i:], "\x1b\\") {
					return i + 2
				}
				return 0
			}
		}
	}
	return 0
}

// shown reports whether a reader sees the character r, which is not ASCII, after
// prev and before rest.
func shown(prev, r rune, size int, rest string) bool {
	switch {
	case r == utf8.RuneError:
		return size > 1
	case r < 0xa0:
		return false
	case r < 0x300:
		return r != 0xad // the soft hyphen
	case r >= 0x3165 && r < 0xd800, r >= 0x3000 && r < 0x3164: // Chinese, Japanese, Korean
		return true
	case r == 0xfe0f: // makes the symbol before it an emoji
		return isSymbol(prev)
	case r == 0x200c, r == 0x200d:
		next, _ := utf8.DecodeRuneInString(rest)
		return joins(prev, r, next)
	case r == 0x2800: // Braille without a dot
		return false
	}
	return !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
		unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isSymbol reports whether r may be made an emoji by what follows it.
func isSymbol(r rune) bool {
	return r >= 0x80 && unicode.IsSymbol(r) || strings.ContainsRune("0123456789#*‼⁉〰ℹ", r)
}

// joins reports whether the joiner r changes what a reader sees between prev and
// next: it makes one emoji of several, or says how letters of some scripts meet.
func joins(prev, r, next rune) bool {
	if r == 0x200d && (prev == 0xfe0f || prev >= 0x80 && unicode.IsSymbol(prev)) {
		return next >= 0x80 && unicode.IsSymbol(next)
	}
	return unicode.In(prev, joining...) && next != 0x200c && next != 0x200d
}

// joining are the scripts whose letters have more than one shape.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// Cut returns the first n characters of s, the last of them an ellipsis if
// something is missing. It cuts no character in two.
func Cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	end, left := 0, n-1
	for end = range s {
		if left <= 0 {
			break
		}
		left--
	}
	return strings.TrimRight(s[:end], " ") + "…"
}
