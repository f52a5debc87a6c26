// Package redact finds sensitive data in a text or in JSON: secrets, which are hidden in all
// stored data, and personal data. It also cuts long texts.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Hidden replaces a secret.
const Hidden = "[redacted]"

// lookahead is the number of bytes beyond the kept ones that are searched, so that a secret across
// the cut is recognized.
const lookahead = 4 << 10

// links matches the links of internal/accounts, except their tokens.
var links = lazyregexp.New(`(/connect/[^/\s"]+/)[0-9a-f]{16}[A-Z2-7]{26}`)

func hidden(string, string) string { return Hidden }

// Text hides secrets in a text: keys and tokens of known services, bearer tokens, JWTs, private
// keys, passwords in addresses, and values after a word such as "password=". Only Text hides the
// links that assign a browser to a person: a model must be able to pass them on.
func Text(text string) string {
	if strings.Contains(text, "/connect/") {
		text = links.ReplaceAllString(text, "${1}"+Hidden)
	}
	return Replace(text, merge(triggers().find(text, false)), hidden)
}

// Cut is like Text, for at most limit bytes of s.
func Cut(s string, limit int) string {
	return truncate(Text(truncate(s, limit+lookahead)), limit)
}

// truncate shortens s to at most n bytes of whole characters.
func truncate(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// JSON hides the secrets in data: what Text hides in each string, and all values below a name such
// as "password". It returns JSON of at most limit bytes, which must be at least 4 KiB, or nil if
// data is empty. Data that is too long, or invalid, becomes a string, with a note where it is cut.
func JSON(data []byte, limit int) []byte {
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	text, whole := truncate(string(data[:min(len(data), limit+lookahead)]), limit+lookahead), len(data) <= limit+lookahead
	if f := newFinder(jsonFinder{wide: true}, text); f.walk() || !whole && f.truncated() {
		text = ReplaceJSON(text, f.spans, hidden)
	} else {
		text, whole = Text(text), false
	}
	var b bytes.Buffer
	if whole && len(text) <= limit && json.Compact(&b, []byte(text)) == nil {
		return b.Bytes()
	}
	note := ""
	if len(data) > limit {
		note = fmt.Sprintf("… [cut: %d bytes in all]", len(data))
	}
	for n := limit - 1<<10; ; n /= 2 { // escapes may make a text up to six times as long
		if q := quoted(truncate(text, n) + note); len(q) <= limit {
			return q
		}
	}
}
