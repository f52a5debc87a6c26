package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Speaker is who speaks, as a line of ours has it: its kind, such as
// Server, and its name in quotes.
func Speaker(kind, name string) string { return kind + " " + strconv.Quote(Cut(Line(name), 60)) }

// Question is what a person reads who is asked something. The first line is
// ours: it says who asks, as Speaker has it, and for what. What they say is
// below it, with a mark before each line, so that none looks like ours.
func Question(first, text string) string {
	if text = strings.TrimSpace(strings.ReplaceAll(Clean(text), "\r", "")); text != "" {
		first += "\n> " + strings.ReplaceAll(text, "\n", "\n> ")
	}
	return first
}

// Form returns the schema of a form as a person may see it: each text in it is clean and
// one line, but for what is filled in already.
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
