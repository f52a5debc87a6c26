package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const stores = `{"start": "ask", "stores": {"env": {"type": "object", "properties": {"api": {"type": "object"}, "n": {"type": "integer"}}}, "list": {"type": "array"}},
	"steps": {
		"ask": {"prompt": "Which host?", "maxVisits": 3, "save": {"env": {"api": {"host": "{{answer.host}}"}}, "step": {"host": "{{answer.host}}", "visits": "{{visits.ask}}"}}, "next": [{"when": {"path": "answer.again", "exists": true}, "to": "self"}, {"to": "port"}]},
		"port": {"prompt": "Which port of {{store.env.api.host}}?", "save": {"env": {"api": {"port": "{{answer}}"}}, "list": ["{{answer}}"]}, "next": [{"when": {"path": "store.env.api.port", "above": 1000}, "to": "sub"}, {"to": "show"}]},
		"show": {"save": {"step": "shown"}, "next": "end"},
		"sub": {"next": [{"to": "subskill:own", "with": {"env": "{{store.env}}"}}]},
		"end": {"prompt": "{{store.env}} {{steps.ask}} {{all.ask.0.visits}} {{steps.show}}"}},
	"subskills": {"own": {"workflow": {"start": "a", "stores": {"env": {}}, "steps": {"a": {"prompt": "{{store.env}}{{params.env.api}}", "save": {"env": "{{answer}}"}}}, "result": {"mine": "{{store.env}}"}}}},
	"result": "{{store}}"}`

// What steps save is merged field by field, and a subskill has stores of its own.
func TestStores(t *testing.T) {
	e := engine(t, stores, nil)
	begin := func() string { return e.Start(t.Context(), nil).Session }
	id := begin()
	want(t, "asked again", e.Advance(t.Context(), id, reply(`{"host":"b","again":1}`)), `{"status":"prompt","step":"ask","prompt":"Which host?"}`)
	want(t, "saved", e.Advance(t.Context(), id, reply(`{"host":"a"}`)), `{"status":"prompt","step":"port","prompt":"Which port of a?"}`)
	want(t, "merged", e.Advance(t.Context(), id, reply(`80`)), `{"status":"prompt","step":"end","prompt":"{\"api\":{\"host\":\"a\",\"port\":80}} {\"host\":\"a\",\"visits\":2} 1 shown"}`)
	want(t, "the result", e.Advance(t.Context(), id, reply(`1`)), `{"status":"done","result":{"env":{"api":{"host":"a","port":80}},"list":[80]}}`)

	id = begin()
	e.Advance(t.Context(), id, reply(`{"host":"a"}`))
	want(t, "its own", e.Advance(t.Context(), id, reply(`8080`)), `{"status":"prompt","step":"own/a","prompt":"{\"host\":\"a\",\"port\":8080}"}`)
	want(t, "its result", e.Advance(t.Context(), id, reply(`5`)), `{"status":"done","result":{"mine":5}}`)
}

// A visit that was passed without an answer has no value, and leaves those of the
// visits before it.
func TestAPassedStepSavesItsValue(t *testing.T) {
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x", "maxVisits": 3, "save": {"step": "{{visits.a}}"}, "next": [{"when": {"path": "visits.a", "below": 3}, "to": "self"}, {"to": "done"}]}}, "result": "{{all.a}}"}`, nil)
	id := e.Start(t.Context(), nil).Session
	e.Advance(t.Context(), id, reply(`"answered"`))
	e.Advance(t.Context(), id, workflow.Reply{Step: "a"})
	want(t, "all of them", e.Advance(t.Context(), id, workflow.Reply{Step: "a"}), `{"status":"done","result":[1,2,3]}`)
}

// What does not fit a schema ends the session, and so does what is too large.
func TestWhatDoesNotFitEndsTheSession(t *testing.T) {
	call := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"n":1}`), nil
	}
	for definition, want := range map[string]string{
		`{"start": "a", "stores": {"s": {"type": "object"}}, "steps": {"a": {"save": {"s": "{{params.x}}"}}}}`:                                                                                  `what step "a" saves does not match the schema of store "s": `,
		`{"start": "a", "stores": {"s": {"properties": {"n": {"type": "string"}}}}, "steps": {"a": {"save": {"s": {"n": 1}}}}}`:                                                                 `does not match the schema of store "s": "n": takes a string`,
		`{"start": "a", "stores": {"s": {}}, "steps": {"a": {"maxVisits": 100, "save": {"s": {"a": "{{store.s}}", "b": ["{{store.s}}", "{{store.s}}", "{{params.x}}"]}}, "next": "self"}}}`:     `more than the 2 MiB`,
		`{"start": "a", "steps": {"a": {"action": {"tool": "t", "input": {"n": "x"}, "inputSchema": {"properties": {"n": {"type": "integer"}}}}}}}`:                                             `the input of t does not match its inputSchema: "n": takes an integer`,
		`{"start": "a", "steps": {"a": {"action": {"tool": "t", "outputSchema": {"required": ["m"]}}}}}`:                                                                                        `the result of t does not match its outputSchema: "m" is missing`,
		`{"start": "a", "steps": {"a": {"next": "subskill:s"}}, "subskills": {"s": {"workflow": {"start": "a", "stores": {"e": {"type": "integer"}}, "steps": {"a": {"save": {"e": "no"}}}}}}}`: `what step "s/a" saves does not match the schema of store "e"`,
	} {
		e := engine(t, definition, &workflow.Options{Call: call})
		r := e.Start(t.Context(), json.RawMessage(`{"x":"text"}`))
		if r.Status != workflow.StatusError || *r.Retry || !strings.Contains(r.Message, want) {
			t.Errorf("%s:\n got %.300s\nwant %s", definition, show(r), want)
		}
		if again := e.Advance(t.Context(), r.Session, workflow.Reply{}); !strings.Contains(again.Message, "the session is over") {
			t.Errorf("%s: it goes on: %s", definition, show(again))
		}
	}
}

func TestWrongStoresAreRefused(t *testing.T) {
	for definition, want := range map[string]string{
		`{"start": "a", "stores": {"environment": {}}, "steps": {"a": {"save": {"enviroment": 1}}}}`:                                                          `step "a" saves into "enviroment", which is neither a store nor "step" (did you mean environment?)`,
		`{"start": "a", "stores": {"a.b": {}, "a/b": {}, "step": {}}, "steps": {"a": {}}}`:                                                                    "\"a.b\" cannot be a store: it needs a name without dots and slashes, other than \"step\"\n\"a/b\" cannot be a store: it needs a name without dots and slashes, other than \"step\"\n\"step\" cannot",
		`{"start": "a", "stores": {"s": {"type": 1}}, "steps": {"a": {}}}`:                                                                                    `store "s": invalid JSON Schema`,
		`{"start": "a", "steps": {"a": {"action": {"tool": "t", "inputSchema": {"type": 1}, "outputSchema": 5}}}}`:                                            `step "a": inputSchema of its action: invalid`,
		`{"start": "a", "stores": {"main": {}}, "steps": {"a": {}}, "subskills": {"s": {"workflow": {"start": "a", "steps": {"a": {"save": {"main": 1}}}}}}}`: `[subskill:s] step "s/a" saves into "main", which is neither a store nor "step"`,
	} {
		if _, err := workflow.Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s):\n got %v\nwant %s", definition, err, want)
		}
	}
	both := &workflow.Step{Save: map[string]json.RawMessage{"step": json.RawMessage(`1`)}, SaveFunc: func(*workflow.View) (map[string]any, error) { return nil, nil }}
	if _, err := workflow.New(&workflow.Definition{Start: "a", Steps: map[string]*workflow.Step{"a": both}}); err == nil || !strings.Contains(err.Error(), "Save and SaveFunc") {
		t.Errorf("both: %v", err)
	}
}

// In Go a function says what is saved.
func TestSaveFunc(t *testing.T) {
	for _, c := range []struct {
		save func(*workflow.View) (map[string]any, error)
		want string
	}{
		{func(v *workflow.View) (map[string]any, error) {
			return map[string]any{"s": map[string]int{"n": v.Visits()}, "step": "x" + v.Text("params.x")}, nil
		}, `{"status":"done","result":{"s":{"n":1},"step":"xy"}}`},
		{func(*workflow.View) (map[string]any, error) { return map[string]any{"t": 1}, nil }, `{"status":"error","step":"a","message":"step \"a\" saves into \"t\", which is not a store","retry":false}`},
		{func(*workflow.View) (map[string]any, error) { return nil, errors.New("broken") }, `{"status":"error","step":"a","message":"what step \"a\" saves: broken","retry":false}`},
		{func(*workflow.View) (map[string]any, error) { panic("oops") }, `{"status":"error","step":"a","message":"what step \"a\" saves: panic: oops","retry":false}`},
	} {
		w, err := workflow.New(&workflow.Definition{Start: "a", Stores: map[string]json.RawMessage{"s": nil}, Steps: map[string]*workflow.Step{"a": {SaveFunc: c.save}},
			Result: json.RawMessage(`{"s": "{{store.s}}", "step": "{{steps.a}}"}`)})
		if err != nil {
			t.Fatal(err)
		}
		want(t, c.want, workflow.NewEngine(w, nil).Start(t.Context(), json.RawMessage(`{"x":"y"}`)), c.want)
	}
}

func TestLintOfStores(t *testing.T) {
	w, err := workflow.Parse([]byte(`{"start": "a", "stores": {"used": {}, "never": {}}, "steps": {"a": {"prompt": "{{store}} {{store.used.x}} {{store.gone}}", "save": {"used": "{{steps.none}}"}, "next": "subskill:s"}},
		"subskills": {"s": {"workflow": {"start": "a", "stores": {"used": {}}, "steps": {"a": {"prompt": "{{store.never}}"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Lint(nil) {
		got = append(got, r.Code+" "+r.Step+": "+r.Message)
	}
	want := []string{
		`unknown-value a: {{store.gone}}: there is no store "gone"`,
		`unknown-value a: {{steps.none}}: there is no step "none"`,
		`unknown-value s/a: [subskill:s] {{store.never}}: there is no store "never"`,
		`unused-store : no step saves into store "never"`,
		`unused-store : [subskill:s] no step saves into store "used"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}
