package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const triage = `{
  "name": "triage", "preamble": "Be brief.", "start": "fetch",
  "params": {"type": "object", "properties": {"repo": {"type": "string"}}, "required": ["repo"]},
  "steps": {
    "fetch": {"action": {"tool": "github__list_issues", "input": {"repo": "{{params.repo}}", "note": "of {{params.repo}}", "n": 12345678901234567890}}, "next": "rate"},
    "rate": {"prompt": "Rate {{steps.fetch.0.title}} of {{params.repo}}.", "answer": {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]},
      "maxVisits": 3, "onMaxVisits": "give-up",
      "next": [{"when": {"path": "answer.level", "above": 5}, "to": "fix"}, {"when": {"path": "answer.level", "equals": 0}, "to": "rate"}, {"to": "done"}]},
    "fix": {"prompt": "Repair it.", "next": [{"when": {"path": "answer.how", "exists": true}, "to": "report"}, {"to": "self"}]},
    "report": {"prompt": "Report {{steps.fix.how}}."},
    "give-up": {"action": {"tool": "slack__post", "input": {"text": "gave up"}}}
  },
  "result": {"level": "{{steps.rate.level}}", "text": "level {{steps.rate.level}}", "report": "{{steps.report}}"}
}`

// tools records calls and answers them.
type tools struct {
	mu    sync.Mutex
	calls []string
	fail  error
}

func (c *tools) call(_ context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, tool+" "+string(input))
	if c.fail != nil {
		return nil, c.fail
	}
	return json.RawMessage(`[{"title": "crash", "id": 9007199254740993}]`), nil
}

func engine(t *testing.T, definition string, o *workflow.Options) *workflow.Engine {
	t.Helper()
	w, err := workflow.Parse([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return workflow.NewEngine(w, o)
}

func show(r workflow.Result) string {
	r.Session = ""
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(r)
	return strings.TrimSpace(b.String())
}

func want(t *testing.T, what string, r workflow.Result, want string) {
	t.Helper()
	if got := show(r); got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

const rateSchema = `"schema":{"type":"object","properties":{"level":{"type":"integer"}},"required":["level"]}`

func TestAWorkflowFromStartToEnd(t *testing.T) {
	var c tools
	sessions := workflow.NewMemory()
	var kinds []string
	o := &workflow.Options{Call: c.call, Sessions: sessions, Observe: func(_ string, e workflow.Event) {
		kinds = append(kinds, string(e.Kind)+" "+e.Step)
	}}
	e := engine(t, triage, o)
	want(t, "params", e.Start(t.Context(), json.RawMessage(`{}`)), `{"status":"error","message":"params: \"repo\" is missing","retry":true}`)

	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a/b"}`))
	id := r.Session
	want(t, "start", r, `{"status":"prompt","step":"rate","preamble":"Be brief.","prompt":"Rate crash of a/b.",`+rateSchema+`}`)
	advance := func(step, answer string) workflow.Result {
		// Each call is one of a new process.
		return engine(t, triage, o).Advance(t.Context(), id, workflow.Reply{Step: step, Answer: json.RawMessage(answer)})
	}
	if r := advance("rate", `{"level":"high"}`); r.Status != workflow.StatusError || !*r.Retry || !strings.Contains(r.Message, "level") {
		t.Errorf("a wrong answer: %s", show(r))
	}
	if r := advance("rate", `{"level"`); r.Status != workflow.StatusError || !*r.Retry {
		t.Errorf("no JSON: %s", show(r))
	}
	want(t, "the wrong step", advance("rat", `{}`), `{"status":"error","step":"rate","message":"the session is at step \"rate\", not at \"rat\", which does not exist (did you mean rate?)","retry":true}`)
	want(t, "no answer", advance("", ""), `{"status":"prompt","step":"rate","preamble":"Be brief.","prompt":"Rate crash of a/b.",`+rateSchema+`}`)
	want(t, "again", advance("rate", `{"level":0.0}`), `{"status":"prompt","step":"rate","prompt":"Rate crash of a/b.",`+rateSchema+`}`)
	want(t, "on", advance("rate", `{"level":7}`), `{"status":"prompt","step":"fix","prompt":"Repair it."}`)
	want(t, "itself", advance("fix", `{}`), `{"status":"prompt","step":"fix","prompt":"Repair it."}`)
	want(t, "out", advance("fix", `{"how":"glue"}`), `{"status":"prompt","step":"report","prompt":"Report glue."}`)
	want(t, "end", advance("report", `"all well"`), `{"status":"done","result":{"level":7,"report":"all well","text":"level 7"}}`)
	want(t, "after the end", advance("report", `1`), `{"status":"error","step":"report","message":"the session is over: start another one","retry":false}`)
	if diff := cmp.Diff([]string{`github__list_issues {"n":12345678901234567890,"note":"of a/b","repo":"a/b"}`}, c.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if kinds[0] != "started " || kinds[len(kinds)-1] != "ended " || !slices.Contains(kinds, "acted fetch") {
		t.Errorf("events %v", kinds)
	}
	if r := advance("x", "1"); r.Status != workflow.StatusError {
		t.Errorf("%s", show(r))
	}
	for _, id := range []string{"", "../../etc/passwd", strings.Repeat("a", 32)} {
		if r := e.Advance(t.Context(), id, workflow.Reply{Step: "rate"}); r.Status != workflow.StatusError || *r.Retry {
			t.Errorf("session %q: %s", id, show(r))
		}
	}
}

func TestAFailedActionIsTriedAgain(t *testing.T) {
	c := tools{fail: errors.New("offline")}
	e := engine(t, triage, &workflow.Options{Call: c.call})
	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a"}`))
	want(t, "offline", r, `{"status":"error","step":"fetch","preamble":"Be brief.","message":"call github__list_issues: offline; try again with advance and this session","retry":true}`)
	c.fail = nil
	if again := e.Advance(t.Context(), r.Session, workflow.Reply{}); again.Status != workflow.StatusPrompt || again.Step != "rate" || len(c.calls) != 2 {
		t.Errorf("again: %s after %v", show(again), c.calls)
	}
	if r := engine(t, triage, nil).Start(t.Context(), json.RawMessage(`{"repo":"a"}`)); r.Status != workflow.StatusError || *r.Retry {
		t.Errorf("without tools: %s", show(r))
	}
}

func TestVisitsAreBounded(t *testing.T) {
	var c tools
	e := engine(t, triage, &workflow.Options{Call: c.call})
	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a"}`))
	for range 3 {
		r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: "rate", Answer: json.RawMessage(`{"level":0}`)})
	}
	if r.Status != workflow.StatusDone || len(c.calls) != 2 || !strings.HasPrefix(c.calls[1], "slack__post") {
		t.Errorf("after three visits: %s, %v", show(r), c.calls)
	}
	for what, definition := range map[string]string{
		"no bound of its own": `{"start": "a", "steps": {"a": {"prompt": "x", "next": "a"}}}`,
		"a bound that fails":  `{"start": "a", "steps": {"a": {"prompt": "x", "maxVisits": 2, "next": "a"}}}`,
		"no prompt at all":    `{"start": "a", "steps": {"a": {"maxVisits": 5000, "next": "b"}, "b": {"maxVisits": 5000, "next": "a"}}}`,
		"no branch that fits": `{"start": "a", "steps": {"a": {"prompt": "x", "next": [{"when": {"path": "answer.no", "exists": true}, "to": "done"}]}}}`,
	} {
		e := engine(t, definition, nil)
		r := e.Start(t.Context(), nil)
		n := 0
		for ; r.Status == workflow.StatusPrompt && n < 50; n++ {
			r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: r.Step, Answer: json.RawMessage(`{}`)})
		}
		if r.Status != workflow.StatusError || *r.Retry || n > 10 {
			t.Errorf("%s: %s after %d answers", what, show(r), n)
		}
	}
}

func TestAnswersAtTheSameTimeTakeTurns(t *testing.T) {
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x"}}}`, nil)
	r := e.Start(t.Context(), nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 20 {
		wg.Go(func() {
			if e.Advance(t.Context(), r.Session, workflow.Reply{Step: "a", Answer: json.RawMessage(`1`)}).Status == workflow.StatusDone {
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if done != 1 {
		t.Errorf("%d answers ended the session, want 1", done)
	}
}

func TestWrongDefinitionsSayEverything(t *testing.T) {
	_, err := workflow.Parse([]byte(`{"start": "x", "params": {"type": 1}, "steps": {
		"a": {"next": "nowhere", "maxVisits": -1, "answer": {"minimum": "x"}}, "b": {"next": "topic:x"}, "c/d": {}, "e.f": {}, "done": {},
		"e": {"action": {"tool": ""}, "onMaxVisits": "off", "next": [{"to": "a", "when": {"path": "x"}}]}, "f": null}}`))
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{`no step "x"`, "params:", `leads to "nowhere"`, "negative", `step "a": answer`, `leads to "topic:x", which does not exist`, `"c/d" cannot`, `"e.f" cannot`, `"done" cannot`, "names no tool", `leads to "off"`, "0 comparisons", `step "f" is null`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"steps": {}, "strat": "x"}`} {
		if _, err := workflow.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%s) works", bad)
		}
	}
}

func TestLint(t *testing.T) {
	w, err := workflow.Parse([]byte(`{"start": "a", "steps": {
		"a": {"prompt": "{{steps.zero.x}} {{args.x}} {{steps.b.x}}", "next": [{"when": {"path": "answer.x", "equals": 1}, "to": "b"}]},
		"b": {"prompt": "x", "maxVisits": 2, "next": [{"when": {"path": "params.n", "below": 1, "not": true}, "to": "b"}, {"to": "c"}]},
		"c": {"action": {"tool": "gone"}, "next": "c"},
		"lost": {"prompt": "x"}},
		"params": {"properties": {"n": {}}}, "result": "{{params.m}} {{params.n.x}} {{params}} {{all.b.0}} {{visits.zero}}"}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Lint(func(id string) bool { return id != "gone" }) {
		got = append(got, r.Step+" "+r.Code)
	}
	want := []string{"a no-end", "a branch-without-else", "a unknown-value", "a unknown-value", "b no-end", "c no-end", "c cycle-guard", "c unknown-tool", "lost unreachable-step", " unknown-value", " unknown-value"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, definition := range []string{triage, help, showcase, stores} {
		f.Add(definition)
	}
	f.Add(`{"start": "a", "steps": {"a": {"prompt": [{"ask-user": {"question": "?"}}], "next": "skill:x"}}}`)
	f.Fuzz(func(t *testing.T, definition string) {
		w, err := workflow.Parse([]byte(definition))
		if err != nil {
			return
		}
		w.Lint(nil)
		// Whatever it says, it comes to an end.
		e := workflow.NewEngine(w, &workflow.Options{Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{}`), nil
		}})
		r := e.Start(t.Context(), nil)
		for range 20 {
			if r.Status != workflow.StatusPrompt {
				break
			}
			r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: r.Step, Answer: json.RawMessage(`{}`)})
		}
	})
}
