package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const maxWords = 14

// writing is the workflow of the skill: it asks for the season, lets the model
// write, counts by itself, and lets it write anew while there are too many words.
func writing() (*workflow.Workflow, error) {
	return workflow.New(&workflow.Definition{
		Name:    "haiku",
		Version: "1", // to be changed with the functions: sessions of another one are refused
		Start:   "season",
		Steps: map[string]*workflow.Step{
			// A question goes to the user: as a form if the client shows forms,
			// else through the model and whatever tool its host has for that.
			"season": {
				Prompt: workflow.Prompt{{AskUser: &workflow.Question{Key: "season", Question: "Which season?",
					Options: []workflow.Option{{Value: "spring"}, {Value: "autumn"}}}}},
				Next: workflow.Branches{{To: "write"}},
			},
			// An answer that does not fit the schema is refused, and asked for again.
			"write": {
				PromptFunc: func(v *workflow.View) (workflow.Prompt, error) {
					text := "Write a haiku about " + v.Text("steps.season.season") + "."
					if v.Visits() > 1 {
						text += fmt.Sprintf(" The last one had %s words: %d are the most.", v.Text("steps.count.words"), maxWords)
					}
					return workflow.Text(text), nil
				},
				Answer:    json.RawMessage(`{"type":"object","properties":{"poem":{"type":"string"}},"required":["poem"]}`),
				Next:      workflow.Branches{{To: "count"}},
				MaxVisits: 3, OnMaxVisits: workflow.End,
			},
			// A step without a prompt is passed. Its action could also be a call of an
			// upstream tool: Action{Tool: "github__list_issues", Input: …}.
			"count": {
				Action: &workflow.Action{
					Tool:  "count",
					Input: json.RawMessage(`{"text": "{{steps.write.poem}}"}`),
					Run:   countWords,
				},
				Targets: []string{"write", workflow.End},
				NextFunc: func(v *workflow.View) (string, error) {
					var counted struct{ Words int }
					err := v.Get("steps.count", &counted)
					if counted.Words > maxWords {
						return "write", err
					}
					return workflow.End, err
				},
			},
		},
		Result: json.RawMessage(`{"season": "{{steps.season.season}}", "poem": "{{steps.write.poem}}"}`),
	})
}

// play is what a model does with the workflow: call_skill_tool with the tool
// start, then with the tool advance until the status is done.
func play(ctx context.Context, skill *skills.Skill, out io.Writer) error {
	w, err := skill.Workflow()
	if err != nil {
		return err
	}
	engine := workflow.NewEngine(w, nil) // the broker has one for each skill and client
	result := engine.Start(ctx, nil)
	for _, answer := range []string{
		`{"season": "autumn"}`,
		`{"poem": "leaves on the cold path / a broker of wind and rain / sells them all to the dark night"}`,
		`{"poem": "leaves on the cold path / a broker of wind and rain / buys them"}`,
	} {
		fmt.Fprintf(out, "%s: %s\n  %s\n", result.Step, result.Prompt, answer)
		result = engine.Advance(ctx, result.Session, workflow.Reply{Answer: json.RawMessage(answer)})
	}
	fmt.Fprintf(out, "%s: %s\n", result.Status, result.Result)
	return nil
}
