package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Speaker returns the name of a speaker for a line of the broker: its kind, such as Server, and
// its name in quotes.
func Speaker(kind, name string) string { return kind + " " + strconv.Quote(Cut(Line(name), 60)) }

// Question returns a question for a person. The first line is the broker's: it names who asks, as
// Speaker does, and for what. The text follows, with a mark before each line, so that no line
// looks like the broker's.
func Question(first, text string) string {
	if text = strings.TrimSpace(strings.ReplaceAll(Clean(text), "\r", "")); text != "" {
		first += "\n> " + strings.ReplaceAll(text, "\n", "\n> ")
	}
	return first
}

// Form returns the schema of a form for a person: each text in it is clean and one line, except
// for prefilled values.
func Form(schema json.RawMessage) json.RawMessage {
	out, ok := jsonscan.Rewrite(schema, func(l jsonscan.Literal) []byte {
		of := string(l.Of)
		if of == "pattern" {
			return nil
		}
		text := string(jsonscan.Unquote(l.Text))
		shown := Line(text)
		if of == "default" {
			shown = Clean(text)
		}
		if shown == text {
			return nil
		}
		return Compact(shown)
	})
	if !ok {
		return json.RawMessage("{}")
	}
	return out
}
