package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const port = `{
  "start": "one",
  "steps": {
    "one": {"prompt": "Host?", "next": "two"},
    "two": {"action": {"tool": "t__port"}, "next": "three"},
    "three": {"prompt": "{{steps.one.host}} {{steps.two.port}}"}
  },
  "result": {"host": "{{steps.one.host}}", "port": "{{steps.two.port}}"}
}`

// A workflow in Go has functions where one in a file has templates.
func TestAWorkflowInGo(t *testing.T) {
	type level struct {
		Level int `json:"level"`
	}
	d := &workflow.Definition{
		Name: "go", Start: "fetch",
		Steps: map[string]*workflow.Step{
			"fetch": {
				Action: &workflow.Action{
					Tool: "count", Input: json.RawMessage(`{"repo": "{{params.repo}}"}`),
					Run: func(_ context.Context, in json.RawMessage) (any, error) {
						var repo struct{ Repo string }
						return map[string]int{"n": len(repo.Repo) + len(in)}, json.Unmarshal(in, &repo)
					},
				},
				Next: workflow.Branches{{To: "rate"}},
			},
			"rate": {
				PromptFunc: func(v *workflow.View) (workflow.Prompt, error) {
					return workflow.Text("Rate " + v.Text("steps.fetch.n") + " of " + v.Text("params") + ", visit " + v.Text("visits.rate")), nil
				},
				Answer:  json.RawMessage(`{"type":"object","properties":{"level":{"type":"integer"}},"required":["level"]}`),
				Targets: []string{workflow.Self, workflow.End},
				NextFunc: func(v *workflow.View) (string, error) {
					var l level
					if err := v.Get("answer", &l); err != nil {
						return "", err
					}
					var mine map[string]any
					if err := v.Get("answer", &mine); err != nil {
						return "", err
					}
					mine["level"] = "changed" // a copy: nobody sees it
					if err := v.Get("steps.none", &mine); !errors.Is(err, workflow.ErrNoValue) {
						t.Errorf("Get of nothing: %v", err)
					}
					switch {
					case l.Level < 0:
						return "nowhere", nil
					case l.Level == 0 && v.Visits() < 3:
						return workflow.Self, nil
					case l.Level > 99:
						panic("too high")
					}
					return workflow.End, nil
				},
				MaxVisits: 5,
			},
		},
		Result: json.RawMessage(`{"level":"{{steps.rate.level}}","all":"{{all.rate}}"}`),
	}
	w, err := workflow.New(d)
	if err != nil {
		t.Fatal(err)
	}
	e := workflow.NewEngine(w, nil)
	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a/b"}`))
	if !strings.HasPrefix(r.Preamble, "Prompts may hold these elements") { // a function may make some
		t.Errorf("preamble %q", r.Preamble)
	}
	r.Preamble = ""
	want(t, "start", r, `{"status":"prompt","step":"rate","prompt":"Rate 14 of {\"repo\":\"a/b\"}, visit 1",`+rateSchema+`}`)
	r = e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":0}`)})
	want(t, "self", r, `{"status":"prompt","step":"rate","prompt":"Rate 14 of {\"repo\":\"a/b\"}, visit 2",`+rateSchema+`}`)
	r = e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":4}`)})
	want(t, "end", r, `{"status":"done","result":{"all":[{"level":0},{"level":4}],"level":4}}`)
	for level, message := range map[string]string{"-1": `step \"rate\" leads to \"nowhere\", which is not one of its targets`, "100": `where step \"rate\" leads: panic: too high`} {
		r = e.Start(t.Context(), json.RawMessage(`{"repo":"a/b"}`))
		r = e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":` + level + `}`)})
		want(t, level, r, `{"status":"error","step":"rate","message":"`+message+`","retry":false}`)
	}
	d.Steps["rate"].Targets = nil
	if _, err := workflow.New(d); err == nil || !strings.Contains(err.Error(), "without Targets") {
		t.Errorf("New without targets: %v", err)
	}
}

// A workflow may end in another skill, which gets an input.
func TestAWorkflowLeadsToAnotherSkill(t *testing.T) {
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x", "next": [{"to": "skill:support", "with": {"query": "{{params.q}}"}}]}}}`, nil)
	id := e.Start(t.Context(), json.RawMessage(`{"q":"why"}`)).Session
	want(t, "redirect", e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`1`)}), `{"status":"redirect","skill":"support","input":{"query":"why"}}`)
	if over := e.Advance(t.Context(), id, workflow.Reply{}); !strings.Contains(over.Message, "the session is over") {
		t.Errorf("after the end: %s", show(over))
	}
	for definition, want := range map[string]string{
		`{"start": "a", "steps": {"a": {"next": "skill:"}}}`:                     `which names no skill`,
		`{"start": "a", "steps": {"a": {"next": "subskill:x"}}}`:                 `leads to "subskill:x", which does not exist`,
		`{"start": "a", "steps": {"a": {"next": [{"to": "done", "with": {}}]}}}`: "a with, which only a skill uses",
	} {
		if _, err := workflow.Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want %q in it", definition, err, want)
		}
	}
}

// Of an action that was interrupted nobody knows whether it was done: it is not
// repeated until the model says so, or at once if that does no harm.
func TestAnInterruptedActionIsNotRepeatedByItself(t *testing.T) {
	for _, repeatable := range []string{"false", "true"} {
		calls := 0
		ctx, cancel := context.WithCancel(t.Context())
		e := engine(t, `{"start": "a", "steps": {"a": {"action": {"tool": "pay", "repeatable": `+repeatable+`}}}}`, &workflow.Options{
			Call: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				if calls++; calls == 1 {
					cancel()
					return nil, context.Cause(ctx)
				}
				return json.RawMessage(`"paid"`), nil
			}})
		r := e.Start(ctx, nil)
		if r.Status != workflow.StatusError || !*r.Retry || !strings.Contains(r.Message, "may have been done") {
			t.Errorf("interrupted: %s", show(r))
		}
		r2 := e.Advance(t.Context(), r.Session, workflow.Reply{})
		if repeatable == "true" {
			if r2.Status != workflow.StatusDone || calls != 2 {
				t.Errorf("a repeatable one: %s after %d calls", show(r2), calls)
			}
			continue
		}
		if r2.Status != workflow.StatusError || calls != 1 || !strings.Contains(r2.Message, `"again": true`) {
			t.Errorf("one that is not: %s after %d calls", show(r2), calls)
		}
		if r3 := e.Advance(t.Context(), r.Session, workflow.Reply{Again: true}); r3.Status != workflow.StatusDone || calls != 2 {
			t.Errorf("again: %s after %d calls", show(r3), calls)
		}
	}
}

// A call of which its caller does not know whether it was done is like one that
// was interrupted.
func TestAnActionThatMayHaveBeenDoneIsNotRepeatedByItself(t *testing.T) {
	calls := 0
	e := engine(t, `{"start": "a", "steps": {"a": {"action": {"tool": "pay"}}}}`, &workflow.Options{
		Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			if calls++; calls == 1 {
				return nil, fmt.Errorf("the server died: %w", workflow.ErrUnsure)
			}
			return json.RawMessage(`"paid"`), nil
		}})
	r := e.Start(t.Context(), nil)
	if r.Status != workflow.StatusError || !*r.Retry || !strings.Contains(r.Message, `"again": true`) {
		t.Errorf("unsure: %s", show(r))
	}
	if r := e.Advance(t.Context(), r.Session, workflow.Reply{}); r.Status != workflow.StatusError || calls != 1 {
		t.Errorf("not said: %s after %d calls", show(r), calls)
	}
	if r := e.Advance(t.Context(), r.Session, workflow.Reply{Again: true}); r.Status != workflow.StatusDone || calls != 2 {
		t.Errorf("again: %s after %d calls", show(r), calls)
	}
}

// An answer that was cancelled while another one was at work is not given to the
// step after it.
func TestACancelledAnswerChangesNothing(t *testing.T) {
	acting, acted := make(chan struct{}), make(chan struct{})
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "A?", "next": "b"}, "b": {"action": {"tool": "t"}, "prompt": "B?"}}}`, &workflow.Options{
		Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			close(acting)
			<-acted
			return json.RawMessage(`1`), nil
		}})
	session := e.Start(t.Context(), nil).Session
	first := make(chan workflow.Result)
	go func() { first <- e.Advance(t.Context(), session, workflow.Reply{Answer: json.RawMessage(`"one"`)}) }()
	<-acting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := e.Advance(ctx, session, workflow.Reply{Answer: json.RawMessage(`"two"`)}); r.Status != workflow.StatusError {
		t.Errorf("cancelled: %s", show(r))
	}
	close(acted)
	if r := <-first; r.Status != workflow.StatusPrompt || r.Step != "b" {
		t.Errorf("the first answer: %s", show(r))
	}
	if r := e.Advance(t.Context(), session, workflow.Reply{}); r.Step != "b" || r.Status != workflow.StatusPrompt {
		t.Errorf("afterwards: %s", show(r))
	}
}

// Whatever event a process ends after, the next one goes on from there.
func TestASessionGoesOnAfterEveryEvent(t *testing.T) {
	calls := 0
	sessions := workflow.NewMemory()
	o := &workflow.Options{Sessions: sessions, Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		calls++
		return json.RawMessage(`{"port":1}`), nil
	}}
	e := engine(t, port, o)
	id := e.Start(t.Context(), nil).Session
	e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"host":"h"}`)})
	e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`"fine"`)})
	history, err := sessions.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	wantHistory := []string{"started", "came", "prompted", "answered", "came", "acting", "acted", "came", "prompted", "answered", "ended"}
	var kinds []string
	for _, ev := range history {
		kinds = append(kinds, string(ev.Kind))
	}
	if diff := cmp.Diff(wantHistory, kinds); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	// restored is a session with the first n events.
	restored := func(events []workflow.Event) string {
		id, err := sessions.New()
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if err := sessions.Append(id, ev); err != nil {
				t.Fatal(err)
			}
		}
		return id
	}
	for n := 1; n < len(history); n++ {
		before := calls
		id := restored(history[:n])
		var r workflow.Result
		for range 5 { // as a model would: it asks where it is, and answers
			if r = e.Advance(t.Context(), id, workflow.Reply{Again: true}); r.Status != workflow.StatusPrompt {
				break
			}
			if r = e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"host":"h"}`)}); r.Status != workflow.StatusPrompt {
				break
			}
		}
		if r.Status != workflow.StatusDone || string(r.Result) != `{"host":"h","port":1}` {
			t.Errorf("after %d events (%s): %s", n, kinds[n-1], show(r))
		}
		repeats := 0
		if n <= 6 { // the action had no result yet
			repeats = 1
		}
		if calls-before != repeats {
			t.Errorf("after %d events (%s): the action was done %d times, want %d", n, kinds[n-1], calls-before, repeats)
		}
	}
	if r := e.Advance(t.Context(), restored(history[1:]), workflow.Reply{}); r.Status != workflow.StatusError || !strings.Contains(r.Message, "has no beginning") {
		t.Errorf("a history without a beginning: %s", show(r))
	}
}

// A session goes on only with the definition that it was begun with.
func TestAChangedWorkflowIsRefused(t *testing.T) {
	sessions := workflow.NewMemory()
	const v1 = `{"start": "a", "steps": {"a": {"prompt": "Delete the copies?"}}}`
	o := &workflow.Options{Sessions: sessions}
	id := engine(t, v1, o).Start(t.Context(), nil).Session
	reply := workflow.Reply{Step: "a", Answer: json.RawMessage(`"yes"`)}
	r := engine(t, strings.Replace(v1, "copies", "originals", 1), o).Advance(t.Context(), id, reply)
	if r.Status != workflow.StatusError || *r.Retry || !strings.Contains(r.Message, "has been changed since this session began") {
		t.Errorf("another definition: %s", show(r))
	}
	// One that is only laid out differently is the same.
	if r := engine(t, strings.ReplaceAll(v1, ": ", ":\n\t"), o).Advance(t.Context(), id, reply); r.Status != workflow.StatusDone {
		t.Errorf("the same definition: %s", show(r))
	}
}
