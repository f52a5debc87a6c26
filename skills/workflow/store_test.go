package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

const stores = `{
  "start": "one",
  "stores": {"env": {"type": "object", "properties": {"api": {"type": "object", "properties": {"host": {"type": "string"}, "port": {"type": "integer"}}}}}},
  "steps": {
    "one": {"prompt": "Host?", "save": {"env": {"api": {"host": "{{answer.host}}", "tags": ["a", "b"]}}, "step": {"kept": "{{answer.host}}"}}, "next": "two"},
    "two": {"action": {"tool": "t__port"}, "save": {"env": {"api": {"port": "{{result.port}}", "tags": ["c"]}}}, "next": "three"},
    "three": {"prompt": "{{store.env}} {{steps.one}} {{steps.two.port}}"}
  },
  "result": "{{store.env.api}}"
}`

// What steps save is merged field by field, and lists are replaced as a whole.
func TestStoresAreMerged(t *testing.T) {
	files, err := workflow.OpenFiles(filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	port := `{"port": 8080}`
	o := &workflow.Options{Sessions: files, Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(port), nil
	}}
	run := func() workflow.Result {
		id := engine(t, stores, o).Start(t.Context(), nil).Session
		return engine(t, stores, o).Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"host":"h","secret":1}`)})
	}
	r := run()
	want(t, "saved", r, `{"status":"prompt","step":"three","prompt":"{\"api\":{\"host\":\"h\",\"port\":8080,\"tags\":[\"c\"]}} {\"kept\":\"h\"} 8080"}`)
	// The next process finds the same.
	want(t, "result", engine(t, stores, o).Advance(t.Context(), r.Session, workflow.Reply{Step: "three"}), `{"status":"done","result":{"host":"h","port":8080,"tags":["c"]}}`)
	port = `{"port": "none"}`
	if r := run(); r.Status != workflow.StatusError || *r.Retry || !strings.Contains(r.Message, `does not fit the store env: "api.port"`) {
		t.Errorf("what does not fit: %s", show(r))
	}
	for _, bad := range []string{
		`{"start": "a", "steps": {"a": {"save": {"nowhere": 1}}}}`, `{"start": "a", "stores": {"step": {}}, "steps": {"a": {}}}`, `{"start": "a", "stores": {"x": {"type": 1}}, "steps": {"a": {}}}`,
	} {
		if _, err := workflow.Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%s) works", bad)
		}
	}
}

// A workflow in Go has functions where one in a file has templates.
func TestAWorkflowInGo(t *testing.T) {
	type level struct {
		Level int `json:"level"`
	}
	var told []string
	d := &workflow.Definition{
		Name: "go", Start: "fetch", Stores: map[string]json.RawMessage{"seen": nil},
		Steps: map[string]*workflow.Step{
			"fetch": {
				Action: &workflow.Action{
					Tool: "count", OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`),
					InputFunc: func(v *workflow.View) (any, error) { return map[string]string{"repo": v.Text("params.repo")}, nil },
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
				Answer: json.RawMessage(`{"type":"object","properties":{"level":{"type":"integer"}},"required":["level"]}`),
				SaveFunc: func(v *workflow.View) (map[string]any, error) {
					var l level
					if err := v.Get("answer", &l); err != nil {
						return nil, err
					}
					var mine map[string]any
					if err := v.Get("answer", &mine); err != nil {
						return nil, err
					}
					mine["level"] = "changed" // a copy: nobody sees it
					return map[string]any{"seen": map[string]int{"top": l.Level}}, nil
				},
				Targets: []string{workflow.Self, workflow.End},
				NextFunc: func(v *workflow.View) (string, error) {
					var l level
					if err := v.Get("answer", &l); err != nil {
						return "", err
					}
					if l.Level < 0 {
						return "nowhere", nil
					}
					if l.Level == 0 && v.Visits() < 3 && v.Has("store.seen") && !v.Has("steps.none") && !v.HasTool("none") {
						return workflow.Self, nil
					}
					return workflow.End, nil
				},
				MaxVisits: 5,
			},
		},
		Result: json.RawMessage(`{"top":"{{store.seen.top}}","level":"{{steps.rate.level}}"}`),
		Observers: []workflow.Observer{func(_ context.Context, _ string, e workflow.Event) error {
			told = append(told, string(e.Kind))
			panic("never mind")
		}},
	}
	w, err := workflow.New(d)
	if err != nil {
		t.Fatal(err)
	}
	var failures int
	e := workflow.NewEngine(w, &workflow.Options{ObserverFailed: func(string, workflow.Event, error) { failures++ }})
	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a/b"}`))
	want(t, "start", r, `{"status":"prompt","step":"rate","prompt":"Rate 14 of {\"repo\":\"a/b\"}, visit 1",`+rateSchema+`}`)
	r = e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":0}`)})
	want(t, "self", r, `{"status":"prompt","step":"rate","prompt":"Rate 14 of {\"repo\":\"a/b\"}, visit 2",`+rateSchema+`}`)
	id := r.Session
	r = e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"level":4}`)})
	want(t, "end", r, `{"status":"done","result":{"level":4,"top":4}}`)
	if len(told) == 0 || told[0] != "started" || told[len(told)-1] != "ended" || failures != len(told) {
		t.Errorf("observers were told %v and failed %d times", told, failures)
	}
	r = e.Start(t.Context(), json.RawMessage(`{"repo":"a/b"}`))
	r = e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":-1}`)})
	want(t, "a target that was not declared", r, `{"status":"error","step":"rate","message":"step \"rate\" leads to \"nowhere\", which is not among its targets","retry":false}`)
	d.Steps["rate"].Targets = nil
	if _, err := workflow.New(d); err == nil || !strings.Contains(err.Error(), "without Targets") {
		t.Errorf("New without targets: %v", err)
	}
}

// An action's input and result have to be what the step declares; one that
// aborts is not tried again, one that panics or fails is.
func TestTypedActions(t *testing.T) {
	const definition = `{"start": "a", "steps": {"a": {"action": {"tool": "t", "input": {"n": "{{params.n}}"},
		"inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}, "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}}}`
	for _, c := range []struct {
		name, params string
		out          any
		want         string
		calls        int
	}{
		{"fine", `{"n":1}`, `{"ok":true}`, `{"status":"done","result":null}`, 1},
		{"a wrong input", `{"n":"x"}`, `{"ok":true}`, `{"status":"error","step":"a","message":"the input of t is not what the step declares: \"n\": takes an integer; got \"x\"","retry":false}`, 0},
		{"a wrong result", `{"n":1}`, `{"ok":1}`, `{"status":"error","step":"a","message":"the result of t is not what the step declares: \"ok\": takes a boolean; got 1","retry":false}`, 1},
		{"a text", `{"n":1}`, `no JSON`, `{"status":"error","step":"a","message":"the result of t is not what the step declares: takes an object; got \"no JSON\"","retry":false}`, 1},
		{"failed", `{"n":1}`, errors.New("offline"), `{"status":"error","step":"a","message":"call t: offline; try again with advance and this session","retry":true}`, 1},
		{"aborted", `{"n":1}`, errors.Join(errors.New("no such repo"), workflow.ErrAbort), `{"status":"error","step":"a","message":"call t: no such repo\naborted","retry":false}`, 1},
	} {
		calls := 0
		e := engine(t, definition, &workflow.Options{Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			calls++
			if err, failed := c.out.(error); failed {
				return nil, err
			}
			return json.RawMessage(c.out.(string)), nil
		}})
		want(t, c.name, e.Start(t.Context(), json.RawMessage(c.params)), c.want)
		if calls != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, calls, c.calls)
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
	o := &workflow.Options{Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		calls++
		return json.RawMessage(`{"port":1}`), nil
	}}
	e := engine(t, stores, o)
	id := e.Start(t.Context(), nil).Session
	e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"host":"h"}`)})
	e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`"fine"`)})
	history, err := e.History(id)
	if err != nil {
		t.Fatal(err)
	}
	wantHistory := []string{"started", "came", "prompted", "answered", "saved", "came", "acting", "acted", "saved", "came", "prompted", "answered", "ended"}
	var kinds []string
	for _, ev := range history {
		kinds = append(kinds, string(ev.Kind))
	}
	if diff := cmp.Diff(wantHistory, kinds); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for n := 1; n < len(history); n++ {
		before := calls
		id, err := e.Restore(history[:n])
		if err != nil {
			t.Fatal(err)
		}
		var r workflow.Result
		for range 5 { // as a model would: it asks where it is, and answers
			if r = e.Advance(t.Context(), id, workflow.Reply{Again: true}); r.Status != workflow.StatusPrompt {
				break
			}
			if r = e.Advance(t.Context(), id, workflow.Reply{Answer: json.RawMessage(`{"host":"h"}`)}); r.Status != workflow.StatusPrompt {
				break
			}
		}
		if r.Status != workflow.StatusDone || !strings.Contains(string(r.Result), `"port":1`) {
			t.Errorf("after %d events (%s): %s", n, kinds[n-1], show(r))
		}
		repeats := 0
		if n <= 7 { // the action had no result yet
			repeats = 1
		}
		if calls-before != repeats {
			t.Errorf("after %d events (%s): the action was done %d times, want %d", n, kinds[n-1], calls-before, repeats)
		}
	}
	if _, err := e.Restore(history[1:]); err == nil {
		t.Error("a history without a beginning is taken")
	}
}

// Reading a history says where it stands and does nothing.
func TestReplayDoesNothing(t *testing.T) {
	var c tools
	e := engine(t, triage, &workflow.Options{Call: c.call})
	r := e.Start(t.Context(), json.RawMessage(`{"repo":"a"}`))
	history, err := e.History(r.Session)
	if err != nil {
		t.Fatal(err)
	}
	n := len(c.calls)
	again, err := e.Workflow().Replay(history, workflow.Host{})
	if err != nil || again.Step != "rate" || again.Prompt != r.Prompt || len(c.calls) != n {
		t.Errorf("Replay = %s, %v after %d further calls, want the prompt of rate and none", show(again), err, len(c.calls)-n)
	}
	if r, err := e.Workflow().Replay(history[:2], workflow.Host{}); err != nil || !strings.Contains(r.Message, "interrupted") {
		t.Errorf("Replay of a part = %s, %v", show(r), err)
	}
	e.Advance(t.Context(), r.Session, workflow.Reply{Answer: json.RawMessage(`{"level":1}`)})
	history, _ = e.History(r.Session)
	if r, err := e.Workflow().Replay(history, workflow.Host{}); err != nil || r.Status != workflow.StatusDone {
		t.Errorf("Replay of all = %s, %v", show(r), err)
	}
	if _, err := e.Workflow().Replay(nil, workflow.Host{}); err == nil {
		t.Error("Replay of nothing works")
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
	if _, err := engine(t, strings.Replace(v1, "copies", "x", 1), o).Restore(func() []workflow.Event { h, _ := sessions.Load(id); return h }()); err == nil {
		t.Error("the history of another workflow is taken")
	}
}

func TestAnUnknownSessionHasANearestOne(t *testing.T) {
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x"}}}`, nil)
	id := e.Start(t.Context(), nil).Session
	if r := e.Advance(t.Context(), id[:30], workflow.Reply{}); !strings.Contains(r.Message, "did you mean "+id) || *r.Retry {
		t.Errorf("%s", show(r))
	}
	if r := e.Advance(t.Context(), "nothing like it", workflow.Reply{}); strings.Contains(r.Message, id) {
		t.Errorf("%s", show(r))
	}
}

// Two processes share the sessions: what one of them does in a session, the other
// one waits for.
func TestProcessesTakeTurnsInASession(t *testing.T) {
	dir := t.TempDir()
	var calls atomic.Int32
	process := func() (*workflow.Engine, *workflow.Files) {
		files, err := workflow.OpenFiles(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return engine(t, `{"start": "a", "steps": {"a": {"prompt": "x", "next": "b"}, "b": {"action": {"tool": "pay"}, "prompt": "y"}}}`, &workflow.Options{Sessions: files,
			Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				calls.Add(1)
				return json.RawMessage(`1`), nil
			}}), files
	}
	first, files := process()
	defer files.Close()
	id := first.Start(t.Context(), nil).Session
	unlock, err := files.Lock(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	second, others := process()
	defer others.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if r := second.Advance(ctx, id, workflow.Reply{Step: "a"}); r.Status != workflow.StatusError || !*r.Retry ||
		!strings.Contains(r.Message, "the session is in use: wait for another broker") || strings.Contains(r.Message, dir) {
		t.Errorf("a session that is in use: %s", show(r))
	}
	unlock()
	var wg sync.WaitGroup
	for _, e := range []*workflow.Engine{first, second} {
		wg.Go(func() { e.Advance(t.Context(), id, workflow.Reply{Step: "a"}) })
	}
	wg.Wait()
	if n := calls.Load(); n != 1 {
		t.Errorf("the action was done %d times, want once", n)
	}
	if _, err := files.Lock(t.Context(), strings.Repeat("a", 32)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock of an unknown session: %v", err)
	}
}

// Sessions do not pile up.
func TestOldSessionsAreForgotten(t *testing.T) {
	files, err := workflow.OpenFiles(t.TempDir(), &workflow.FilesOptions{MaxSessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	e := engine(t, `{"start": "a", "steps": {"a": {"prompt": "x"}}}`, &workflow.Options{Sessions: files})
	var last workflow.Result
	for range 10 {
		last = e.Start(t.Context(), nil)
	}
	ids, err := files.List()
	if err != nil || len(ids) != 3 {
		t.Errorf("%d sessions are kept, want 3 (%v)", len(ids), err)
	}
	if r := e.Advance(t.Context(), last.Session, workflow.Reply{Step: "a"}); r.Status != workflow.StatusDone {
		t.Errorf("the latest: %s", show(r))
	}
	sized, err := workflow.OpenFiles(t.TempDir(), &workflow.FilesOptions{MaxBytes: 5000})
	if err != nil {
		t.Fatal(err)
	}
	defer sized.Close()
	e = engine(t, `{"start": "a", "steps": {"a": {"prompt": "x"}}}`, &workflow.Options{Sessions: sized})
	for range 4 {
		last = e.Start(t.Context(), json.RawMessage(`{"x":"`+strings.Repeat("x", 2000)+`"}`))
	}
	if ids, err := sized.List(); err != nil || len(ids) != 3 { // the last one comes on top
		t.Errorf("%d sessions are kept, want as many as take 5,000 bytes and the latest (%v)", len(ids), err)
	}
	if r := e.Advance(t.Context(), last.Session, workflow.Reply{Step: "a"}); r.Status != workflow.StatusDone {
		t.Errorf("the latest: %s", show(r))
	}
	aged, err := workflow.OpenFiles(t.TempDir(), &workflow.FilesOptions{MaxAge: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer aged.Close()
	e = engine(t, `{"start": "a", "steps": {"a": {"prompt": "x"}}}`, &workflow.Options{Sessions: aged})
	e.Start(t.Context(), nil)
	e.Start(t.Context(), nil)
	if ids, err := aged.List(); err != nil || len(ids) != 1 {
		t.Errorf("%d sessions are kept, want the latest (%v)", len(ids), err)
	}
}
