package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxFixed is the longest token that Shown hides.
const maxFixed = 2 << 10

// Shown returns JSON as a person is shown it who decides about it. It is whole but for
// tokens of known services, which have a fixed beginning and alphabet: of each it has
// the kind and the length. What stands under a name such as
// "password", or in a frame such as that of a private key, is not hidden: whoever wrote
// the JSON has chosen that. What is no JSON stays as it is.
func Shown(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	text := b.String()
	f := jsonFinder{text: text, fixed: true}
	f.walk()
	if len(f.spans) == 0 {
		return b.Bytes()
	}
	return []byte(ReplaceJSON(text, f.spans, func(kind, value string) string {
		return fmt.Sprintf("[redacted: %s of %d characters]", kind, len(value))
	}))
}

// fixedTokens finds the tokens that Shown hides.
func fixedTokens(text string) []Span {
	spans := slices.DeleteFunc(triggers().find(text, false), func(s Span) bool {
		return slices.Contains(framed, s.Type) || s.End-s.Start > maxFixed
	})
	return merge(spans)
}
