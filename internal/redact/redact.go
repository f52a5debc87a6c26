// Package redact finds what should not leave in a text or in JSON: secrets, which
// are hidden in everything that is kept, and data about persons. It also cuts what
// is too long.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Hidden is what replaces a secret.
const Hidden = "[redacted]"

// lookahead is how much more than what is kept is searched for secrets, so that
// the cut does not make one unrecognisable.
const lookahead = 4 << 10

// links are those of internal/accounts, but for their tokens.
var links = lazyregexp.New(`(/connect/[^/\s"]+/)[0-9a-f]{16}[A-Z2-7]{26}`)

func hidden(string, string) string { return Hidden }

// Text hides what looks like a secret in a text: keys and tokens of known
// services, bearer tokens, JWTs, private keys, passwords in addresses, and what
// follows a word such as "password=". Links that make a browser somebody's are
// hidden here alone: a model has to be able to pass them on.
func Text(text string) string {
	if strings.Contains(text, "/connect/") {
		text = links.ReplaceAllString(text, "${1}"+Hidden)
	}
	return Replace(text, merge(triggers().find(text, false)), hidden)
}

// Cut is Text for at most limit bytes of s.
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

// JSON hides the secrets in data, leaf by leaf: what Text hides, and all that
// stands below a name such as "password". It returns JSON of at most limit bytes,
// which is at least 4 KiB, or nil if data is empty. What is longer, and what is no
// JSON, becomes a string, with a note where it is cut.
func JSON(data []byte, limit int) []byte {
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	text, whole := truncate(string(data[:min(len(data), limit+lookahead)]), limit+lookahead), len(data) <= limit+lookahead
	if f := newFinder(jsonFinder{wide: true}, text); f.walk() || !whole && f.cut() {
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
