// Package gate cleans texts of others before they go to a client or a terminal. It removes what
// readers do not see but models or terminals process: control and escape characters, characters
// that change the direction of writing, invisible characters, tag characters, and variation
// selectors that carry data. Letters of all scripts, emoji and, in texts of several lines,
// newlines and tabs do not change.
//
// Only this package creates a Text, the type of texts that may be sent.
package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean returns s for a model, as one or more lines, each of which may end as on Windows. It
// replaces invalid UTF-8 by U+FFFD, and removes invisible characters and sequences that colour a
// terminal. It returns a clean text unchanged.
func Clean(s string) string { return clean(s, dropped) }

// Terminal returns s as one line that is safe to print on a terminal: line breaks and tabs become
// blanks, and everything else that could control the terminal or hide from the reader becomes a
// dot.
func Terminal(s string) string { return clean(s, line) }

// TerminalText is like Terminal, for a text of several lines: newlines and tabs do not change.
func TerminalText(s string) string { return clean(s, lines) }

// Spelt returns s with each invisible character replaced by a visible text, such as \u200b or
// \u{e0041}.
func Spelt(s string) string { return clean(s, spelt) }

// Line returns s for a model on one line: runs of white space become single blanks,
// without blanks at the ends.
func Line(s string) string {
	if s = Clean(s); !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// Hides reports whether Clean would change s.
func Hides(s string) bool { return Clean(s) != s }

// A style defines the replacement of invisible characters.
type style int

const (
	dropped style = iota // removed
	spelt                // a readable escape
	escaped              // an escape of JSON
	lines                // a dot
	line                 // a dot, and a blank for a line break
)

const dot = "·"

// plain are the characters that no style changes.
var plain = func() (p [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		p[c] = true
	}
	return p
}()

func clean(s string, how style) string {
	var b strings.Builder
	done := 0       // s[:done] is in b
	prev := rune(0) // the last character that stays
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
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"): // the newline is kept
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

// sequence returns the length of a terminal's escape sequence at the beginning of s: one that
// colours or moves, or a terminated one that sets a title. It returns 0 if there is none.
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

// shown reports whether the non-ASCII character r is visible after prev and before rest.
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
	case r == 0xfe0f: // it turns the symbol before it into an emoji
		return isSymbol(prev)
	case r == 0x200c, r == 0x200d:
		next, _ := utf8.DecodeRuneInString(rest)
		return joins(prev, r, next)
	case r == 0x2800: // Braille without dots
		return false
	}
	return !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
		unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isSymbol reports whether the following character may turn r into an emoji.
func isSymbol(r rune) bool {
	return r >= 0x80 && unicode.IsSymbol(r) || strings.ContainsRune("0123456789#*‼⁉〰ℹ", r)
}

// joins reports whether the joiner r has a visible effect between prev and next: it combines
// emoji, or determines how letters of some scripts connect.
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

// Cut returns s in at most n characters, the last of which is an ellipsis if s is longer. It does
// not split characters.
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
