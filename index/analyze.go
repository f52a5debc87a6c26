package index

import (
	"strings"
	"unicode"
)

// splitWords puts spaces where an identifier changes words: at "_", "-", ".",
// "/", ":" and between camelCase humps and letters and digits, so that
// "list_pullRequests.v2" is found as "list pull requests v2". Text without
// identifiers passes through unchanged.
func splitWords(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/' || r == ':':
			b.WriteByte(' ')
			continue
		case i > 0 && unicode.IsUpper(r) && startsHump(runes, i):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// startsHump reports whether the capital at i begins a word: it follows a
// small letter or digit, or ends a run of capitals ("HTTPServer" is HTTP and
// Server).
func startsHump(runes []rune, i int) bool {
	prev := runes[i-1]
	if unicode.IsLower(prev) || unicode.IsDigit(prev) {
		return true
	}
	return unicode.IsUpper(prev) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}
