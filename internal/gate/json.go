package gate

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// JSON returns a value with every string in it clean, its keys too, also where
// what is hidden is written as an escape. What is not JSON becomes a string.
func JSON(value json.RawMessage) json.RawMessage {
	if !mayHide(value) {
		return value
	}
	return rewrite(value, func(_, text string) string { return Clean(text) })
}

// Descriptions cleans the texts inside a JSON Schema that are for readers, and
// leaves the names and values that it compares with as they are.
func Descriptions(schema json.RawMessage) json.RawMessage {
	return rewrite(schema, func(key, text string) string {
		switch key {
		case "description", "title", "$comment":
			return Clean(text)
		}
		return text
	})
}

// Spell returns a value in which characters that no reader sees are spelt out
// in the names and values of a JSON Schema, so that each stays another.
func Spell(schema json.RawMessage) json.RawMessage {
	return rewrite(schema, func(_, text string) string { return Spelt(text) })
}

// Escape returns a string literal of JSON or TypeScript that is the same string,
// with what no reader sees as escapes.
func Escape(literal []byte) []byte {
	if !mayHide(literal) || !Hides(string(literal)) {
		return literal
	}
	return []byte(clean(string(literal), escaped))
}

// Respell returns value, which must be valid JSON, with those of its strings in
// place of which Spell has put others: names has each by what it was made.
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

// Spellings are the strings of value, which must be valid JSON, that Spell
// changes, each by what it becomes; nil if there are none.
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

// rewrite returns value with f of each string in it: of those that are values with the
// key that they stand under, else with "". It asks only for strings that may hide
// something. A value that is not JSON is a string itself.
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

// mayHide is a cheap test: without escapes and bytes that are not ASCII there is
// nothing to take out of JSON.
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
