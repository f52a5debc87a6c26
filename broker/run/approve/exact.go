package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxBlanks is the longest run of blanks that is printed unchanged.
const maxBlanks = 8

// exactLine returns arguments on one line for the person who decides about them. It replaces a
// long run of blanks, which could hide the rest, with its length.
func exactLine(args json.RawMessage) string {
	var b strings.Builder
	text := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' { // only between values
			return ' '
		}
		return r
	}, gate.Clean(string(args)))
	for len(text) > 0 {
		n := len(text) - len(strings.TrimLeft(text, " "))
		if n > maxBlanks {
			fmt.Fprintf(&b, "⟨%d blanks⟩", n)
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
		if n = strings.IndexByte(text, ' '); n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return strings.TrimSpace(b.String())
}

// lookAlikes are alphabets with letters that resemble Latin letters.
var lookAlikes = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu, unicode.Coptic}

// spellMixed returns JSON in which look-alike letters are escaped, such as \u0430, in
// words that also have Latin letters.
func spellMixed(value json.RawMessage) json.RawMessage {
	if !bytes.ContainsFunc(value, func(r rune) bool { return unicode.IsOneOf(lookAlikes, r) }) {
		return value
	}
	var out, word []byte
	end := func() {
		if bytes.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) && bytes.ContainsFunc(word, func(r rune) bool { return unicode.IsOneOf(lookAlikes, r) }) {
			for _, r := range string(word) {
				if unicode.IsOneOf(lookAlikes, r) {
					out = fmt.Appendf(out, `\\u%04x`, r)
				} else {
					out = append(out, string(r)...)
				}
			}
		} else {
			out = append(out, word...)
		}
		word = word[:0]
	}
	for i, r := range string(value) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r):
			end()
			out = append(out, string(r)...)
		case len(word) == 0 && i > 0 && value[i-1] == '\\': // skip escapes of JSON
			out = append(out, string(r)...)
		default:
			word = append(word, string(r)...)
		}
	}
	end()
	return out
}
