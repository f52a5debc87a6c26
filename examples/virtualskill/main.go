// Command virtualskill defines a skill in Go: its text, a file beside it, and a
// tool that is a function. It then does what a model would do with it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing/fstest"

	"github.com/mcpbroker/mcpbroker/skills"
)

// haiku is the skill. Its tool checks what the model wrote, which no text could.
var haiku = skills.Virtual{
	Name:        "haiku",
	Description: "Writes haiku. Use when a short poem is wanted.",
	Body: `# Haiku about $ARGUMENTS

1. Read references/rules.md.
2. Write three lines.
3. Call the tool count_words with {"text": "…"}; more than 14 words are too many.`,
	Files: fstest.MapFS{"references/rules.md": {Data: []byte("Three lines: 5, 7 and 5 syllables. One season.\n")}},
	Tools: []skills.Tool{{
		Name:        "count_words",
		Description: "Count the words of a poem.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Handler:     countWords,
	}},
}

func countWords(_ context.Context, input json.RawMessage) (any, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input is not {\"text\": \"…\"}: %w", err)
	}
	return map[string]int{"words": len(strings.Fields(in.Text))}, nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "virtualskill:", err)
		os.Exit(1)
	}
}

// run shows the skill to a model that does not exist.
func run(ctx context.Context, out io.Writer) error {
	registry := skills.NewRegistry(nil)
	if err := registry.Register(haiku); err != nil {
		return err
	}
	now := registry.Snapshot()
	fmt.Fprintln(out, now.Catalogue(0))

	var session skills.Session
	activation, err := now.Activate(&session, "haiku", "autumn", false)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, activation.Text)

	skill, err := now.Get("haiku")
	if err != nil {
		return err
	}
	page, err := skill.ReadFile("references/rules.md", 0, 0)
	if err != nil {
		return err
	}
	fmt.Fprint(out, page.Text)
	answer, err := skill.Call(ctx, "count_words", json.RawMessage(`{"text": "leaves on the cold path / a broker of wind and rain / sells them to the night"}`))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, string(answer))
	return nil
}
