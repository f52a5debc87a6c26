package gate

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// JSON returns a value with every string and key cleaned, including characters that are written as
// escapes. Invalid JSON becomes a string.
func JSON(value json.RawMessage) json.RawMessage {
	if !mayHide(value) {
		return value
	}
	return rewrite(value, func(_, text string) string { return Clean(text) })
}

// Descriptions cleans the texts in a JSON Schema that are for readers, and does not change the
// names and values that it compares with.
func Descriptions(schema json.RawMessage) json.RawMessage {
	return rewrite(schema, func(key, text string) string {
		switch key {
		case "description", "title", "$comment":
			return Clean(text)
		}
		return text
	})
}

// Spell returns a JSON Schema in which the invisible characters of names and values are spelt out,
// so that different names stay different.
func Spell(schema json.RawMessage) json.RawMessage {
	return rewrite(schema, func(_, text string) string { return Spelt(text) })
}

// Escape returns a string literal of JSON or TypeScript for the same string, with invisible
// characters as escapes.
func Escape(literal []byte) []byte {
	if !mayHide(literal) || !Hides(string(literal)) {
		return literal
	}
	return []byte(clean(string(literal), escaped))
}

// Respell reverts Spell in value, which must be valid JSON: names maps the strings that Spell made
// to the original ones.
func Respell(value json.RawMessage, names map[string]string) json.RawMessage {
	if len(names) == 0 {
		return value
	}
	return rewrite(value, func(_, text string) string {
		if original, ok := names[text]; ok {
			return original
		}
		return text
	})
}

// Spellings maps the strings in value, which must be valid JSON, that Spell would change, from
// their new form to the original. It is nil if there are none.
func Spellings(value json.RawMessage) map[string]string {
	var names map[string]string
	rewrite(value, func(_, text string) string {
		if s := Spelt(text); s != text {
			if names == nil {
				names = make(map[string]string)
			}
			names[s] = text
		}
		return text
	})
	return names
}

// rewrite replaces each string in value by the result of f, whose key is the key of a string that
// is a member's value, else "". It skips strings that cannot hide anything. An invalid value is
// one string.
func rewrite(value json.RawMessage, f func(key, text string) string) json.RawMessage {
	if !mayHide(value) {
		return value
	}
	out, ok := jsonscan.Rewrite(value, func(l jsonscan.Literal) []byte {
		if !mayHide(l.Text) {
			return nil
		}
		text := string(jsonscan.Unquote(l.Text))
		if changed := f(string(l.Of), text); changed != text {
			return Compact(changed)
		}
		return nil
	})
	if !ok {
		return Compact(f("", string(value)))
	}
	return out
}

// mayHide is a fast test: JSON without escapes and non-ASCII bytes contains nothing to remove.
func mayHide(b []byte) bool {
	for i, c := range b {
		if c >= 0x7f {
			return true
		}
		if c == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case 'u', 'b', 'f', 'r':
				return true
			}
		}
	}
	return false
}
