package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxFixed bounds the length of a token that Shown hides.
const maxFixed = 2 << 10

// Shown returns JSON for the person who decides about it. It is complete except for
// tokens of known services, which have a fixed prefix and alphabet; each is replaced by
// its kind and length. Shown does not hide the value of a key such as "password", or a
// value in a frame such as that of a private key, since the author of the JSON chose
// the key. Nor does it hide readable text in the form of a token. Invalid JSON is
// returned unchanged.
func Shown(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	text := b.String()
	f := newFinder(jsonFinder{fixed: true}, text)
	f.walk()
	if len(f.spans) == 0 {
		return b.Bytes()
	}
	return []byte(ReplaceJSON(text, f.spans, func(kind, value string) string {
		return fmt.Sprintf("[redacted: %s of %d characters]", kind, len(value))
	}))
}

// fixedTokens returns the tokens that Shown hides.
func fixedTokens(text string) []Span {
	spans := slices.DeleteFunc(triggers().find(text, false), func(s Span) bool {
		return slices.Contains(framed, s.Type) || s.End-s.Start > maxFixed || Readable(s.Type, text[s.Start:s.End])
	})
	return merge(spans)
}
