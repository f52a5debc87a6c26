package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const reviews = `{
  "start": "ask",
  "steps": {
    "ask": {"prompt": "top", "next": "a"}, "a": {"use": "rev", "next": "b"}, "b": {"use": "rev", "next": "end"},
    "end": {"prompt": "{{steps.ask.x}}, a {{steps.a.x}}, all of b {{all.b}}, {{steps.a/deep.x}}, {{steps.b/deep/d.x}}, {{visits.a}}"}},
  "parts": {"rev": {
    "start": "ask",
    "steps": {
      "ask": {"prompt": "before {{steps.ask.x}}", "next": [{"when": {"path": "steps.ask.x", "above": 5}, "to": "self"}, {"to": "deep"}]},
      "deep": {"use": "deep", "next": "fin"},
      "fin": {"prompt": "{{steps.ask.x}} of {{visits.ask}}, first {{all.ask.0.x}}, deep {{steps.deep.x}}, a {{steps.a.x}}, {{steps.a/ask.x}}"}},
    "parts": {"deep": {"start": "d", "steps": {"d": {"prompt": "in {{steps.ask.x}}"}}}}}},
  "result": "{{steps.b.x}}"
}`

// A part sees its own steps by their names, then those around it; a step with a
// part has the last value in it.
func TestAPartSeesItsOwnSteps(t *testing.T) {
	e := engine(t, reviews, nil)
	r := e.Start(t.Context(), nil)
	var got []string
	for _, x := range []int{1, 9, 2, 3, 4, 5, 6, 7, 8} {
		got = append(got, r.Step+": "+r.Prompt)
		// What is read back is the same.
		r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: r.Step, Answer: fmt.Appendf(nil, `{"x":%d}`, x)})
	}
	want := []string{
		"ask: top",
		"a/ask: before ", "a/ask: before 9", "a/deep/d: in 2", "a/fin: 2 of 2, first 9, deep 3, a , 2",
		"b/ask: before ", "b/deep/d: in 5", "b/fin: 5 of 1, first 5, deep 6, a 4, 2",
		`end: 1, a 4, all of b [{"x":7}], 3, 6, 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if r.Status != workflow.StatusDone || string(r.Result) != "7" {
		t.Errorf("the end: %s", show(r))
	}
	for _, remark := range e.Workflow().Lint(nil) {
		if remark.Code == "unknown-value" {
			t.Errorf("lint: %+v", remark)
		}
	}
}

// The observers of a subskill are told what happens in it, those of the workflow
// of all.
func TestASubskillHasObservers(t *testing.T) {
	var told []string
	tell := func(who string) []workflow.Observer {
		return []workflow.Observer{func(_ context.Context, _ string, e workflow.Event) error {
			told = append(told, who+" "+string(e.Kind)+" "+e.Step)
			return nil
		}}
	}
	w, err := workflow.New(&workflow.Definition{
		Start: "a", Steps: map[string]*workflow.Step{"a": {Next: workflow.Branches{{To: "subskill:s"}}}}, Observers: tell("all"),
		Subskills: map[string]*workflow.Subskill{"s": {Workflow: &workflow.Definition{Start: "b", Steps: map[string]*workflow.Step{"b": {}}, Observers: tell("s")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := workflow.NewEngine(w, nil).Start(t.Context(), json.RawMessage(`{}`)); r.Status != workflow.StatusDone {
		t.Fatal(show(r))
	}
	want := []string{"all started ", "all came a", "all entered s", "s entered s", "all came s/b", "s came s/b", "all ended ", "s ended "}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
