package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

func Example() {
	w, err := workflow.Parse([]byte(`{
		"start": "rate",
		"steps": {
			"rate": {
				"prompt": "How bad is {{params.issue}}, from 0 to 9?",
				"answer": {"type": "integer"},
				"next": [{"when": {"path": "answer", "above": 5}, "to": "label"}, {"to": "done"}]
			},
			"label": {"action": {"tool": "github__add_label", "input": {"label": "bad"}}}
		},
		"result": "rated {{steps.rate}}"
	}`))
	if err != nil {
		panic(err)
	}
	engine := workflow.NewEngine(w, &workflow.Options{
		Call: func(_ context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
			fmt.Printf("call %s %s\n", tool, input)
			return json.RawMessage(`"ok"`), nil
		},
	})
	ctx := context.Background()
	r := engine.Start(ctx, json.RawMessage(`{"issue": "#12"}`))
	fmt.Println(r.Status, r.Prompt)
	r = engine.Advance(ctx, r.Session, workflow.Reply{Answer: json.RawMessage(`8`)})
	fmt.Println(r.Status, string(r.Result))
	// Output:
	// prompt How bad is #12, from 0 to 9?
	// call github__add_label {"label":"bad"}
	// done "rated 8"
}
