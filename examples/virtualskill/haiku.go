package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing/fstest"

	"github.com/mcpbroker/mcpbroker/skills"
)

// haiku is the skill. Name and description are all that a model knows of it
// until it activates it; then it gets the body, and the names of the files and
// tools.
func haiku() (skills.Virtual, error) {
	w, err := writing()
	return skills.Virtual{
		Name:        "haiku",
		Description: "Writes haiku. Use when a short poem is wanted.",
		Body: `# Haiku about $ARGUMENTS

Read references/rules.md, then either write by yourself and call the tool count_words
with {"text": "…"}, or begin the workflow and do what it says.`,
		// Files may also be an embed.FS or os.DirFS.
		Files: fstest.MapFS{"references/rules.md": {Data: []byte("Three lines: 5, 7 and 5 syllables. One season.\n")}},
		Tools: []skills.Tool{{
			Name:        "count_words",
			Description: "Count the words of a poem.",
			// Input that does not fit never reaches the handler.
			InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
			Handler:     countWords,
		}},
		Workflow: w,
	}, err
}

// countWords is the handler of a tool. What it returns is written as JSON; an
// error is what the model reads.
func countWords(_ context.Context, input json.RawMessage) (any, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	return map[string]int{"words": words(in.Text)}, nil
}

// words counts those of a poem; the slashes between lines are none.
func words(poem string) int { return len(strings.Fields(strings.ReplaceAll(poem, "/", " "))) }
