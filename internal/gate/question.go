package gate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
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

// Form returns the schema of a form, which is valid JSON, as a person may see it:
// each text in it is clean and one line, but for what is filled in already.
func Form(schema json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	key, done := "", 0
	for i := 0; i < len(schema); i++ {
		switch schema[i] {
		case '{', '[':
			key = ""
		case '"':
			end := i + 1
			for ; end < len(schema) && schema[end] != '"'; end++ {
				if schema[end] == '\\' {
					end++
				}
			}
			end = min(end+1, len(schema))
			var text string
			if json.Unmarshal(schema[i:end], &text) != nil {
				return json.RawMessage("{}") // invalid JSON
			}
			isKey := bytes.HasPrefix(bytes.TrimLeft(schema[end:], " \t\r\n"), []byte(":"))
			shown := Line(text)
			if !isKey && key == "default" {
				shown = Clean(text)
			}
			if shown != text && (isKey || key != "pattern") {
				literal, _ := json.Marshal(shown) // texts always encode
				out.Write(schema[done:i])
				out.Write(literal)
				done = end
			}
			if key = ""; isKey {
				key = text
			}
			i = end - 1
		}
	}
	out.Write(schema[done:])
	return out.Bytes()
}
