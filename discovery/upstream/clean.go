package upstream

import (
	"encoding/json"
	"strings"
	"unicode"
)

// CleanText takes out of a server's text what a reader does not see but a model
// does: control characters except tab and newline, bidirectional overrides,
// zero-width and tag characters, fillers and variation selectors. Everything
// else stays as it is.
func CleanText(s string) string {
	if isPlainASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// invisible reports whether r is taken out of texts.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == 0xfe0f: // U+FE0F makes a symbol an emoji
		return false
	case unicode.Is(unicode.Cc, r), r == 0x2028, r == 0x2029:
		return true
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	case unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x034f, 0x17b4, 0x17b5, 0x2800: // fillers, joiners, blanks
		return true
	}
	return false
}

// cleanSchema cleans the descriptions and titles inside a JSON schema, which
// must be valid JSON, and leaves every other byte as it is.
func cleanSchema(schema json.RawMessage) json.RawMessage {
	if !mayHideText(schema) {
		return schema
	}
	var out []byte
	done := 0 // schema[:done] has been written to out
	key := "" // the last member name, "" once its value was seen
	for i := 0; i < len(schema); {
		if schema[i] != '"' {
			if c := schema[i]; c == '{' || c == '[' {
				key = "" // the value is no text
			}
			i++
			continue
		}
		end := skipString(schema, i)
		if next := skipSpace(schema, end); next < len(schema) && schema[next] == ':' {
			key = string(schema[i+1 : end-1])
			i = end
			continue
		}
		if key == "description" || key == "title" || key == "$comment" {
			var text string
			if json.Unmarshal(schema[i:end], &text) == nil {
				if cleaned := CleanText(text); cleaned != text {
					quoted, _ := encode(cleaned) // text always encodes
					out = append(out, schema[done:i]...)
					out = append(out, quoted...)
					done = end
				}
			}
		}
		key = ""
		i = end
	}
	if done == 0 {
		return schema
	}
	return append(out, schema[done:]...)
}

// mayHideText is a cheap test: without escapes and non-ASCII bytes there is
// nothing to take out.
func mayHideText(b []byte) bool {
	for i, c := range b {
		if c >= 0x7f || (c == '\\' && i+1 < len(b) && strings.IndexByte("ubfr", b[i+1]) >= 0) {
			return true
		}
	}
	return false
}
