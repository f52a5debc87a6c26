// Package skillstest tests skills: it plays workflows through with a model that
// answers from a table, calls the tools of skills that are defined in Go, and
// checks the folders of others.
//
//	func TestTriage(t *testing.T) {
//		k := skillstest.Load(t, "skills/triage")
//		p := skillstest.Play(t, skillstest.Workflow(t, k), skillstest.Script{
//			Params:  map[string]any{"repo": "o/r"},
//			Tools:   map[string]skillstest.Tool{"github__list_issues": skillstest.Gives([]any{})},
//			Answers: map[string]any{"rate": map[string]int{"level": 3}},
//		})
//		p.WantPath("rate")
//		p.WantResult(map[string]int{"level": 3})
//	}
package skillstest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// maxAnswers bounds the answers of one play.
const maxAnswers = 1000

// A Tool stands for one that actions call.
type Tool func(ctx context.Context, input json.RawMessage) (any, error)

// Gives is a tool that always gives v.
func Gives(v any) Tool { return func(context.Context, json.RawMessage) (any, error) { return v, nil } }

// Each are the answers of a step that is come to several times, in their order.
type Each []any

// A Script is how a workflow is played.
type Script struct {
	// Params are what it is started with; nil means {}.
	Params any
	// Answers are those of the model, by the full name of the step: a value, Each,
	// or a func(prompt string) any. A step without one is passed if it asks for
	// none, and fails the test otherwise.
	Answers map[string]any
	// Forms are the answers of the user to questions that are put to him, by the
	// message of the form; nil asks the model.
	Forms map[string]any
	// Tools are those that actions call, by id. One that is missing fails the
	// action.
	Tools map[string]Tool
}

// A Made is a call that an action made.
type Made struct {
	Tool  string
	Input json.RawMessage
}

// A Played is what came of it.
type Played struct {
	// Path are the steps that asked, in their order, and Prompts what they said.
	Path    []string
	Prompts []string
	// Answered are the steps that the user answered in forms.
	Answered []string
	// Calls are those of actions with tools.
	Calls []Made
	// Last is the answer at the end: done, a redirect or an error.
	Last workflow.Result

	t      testing.TB
	failed bool
}

// A player plays one script.
type player struct {
	*Played
	s     Script
	given map[string]int
}

// Play plays a workflow until it ends or says what cannot be answered again. An
// answer that does not have the right form, or that is missing, fails the test.
func Play(t testing.TB, w *workflow.Workflow, s Script) *Played {
	t.Helper()
	p := &player{Played: &Played{t: t}, s: s, given: map[string]int{}}
	o := &workflow.Options{Call: p.call}
	if s.Forms != nil {
		o.Ask = p.ask
	}
	e := workflow.NewEngine(w, o)
	params := json.RawMessage("{}")
	if s.Params != nil {
		params = p.json("the params", s.Params)
	}
	r := e.Start(t.Context(), params)
	if r.Status == workflow.StatusError && r.Retry != nil && *r.Retry {
		p.failf("start: %s", r.Message)
	}
	for range maxAnswers {
		for _, a := range r.Answered {
			p.Answered = append(p.Answered, a.Step)
		}
		if r.Status != workflow.StatusPrompt {
			break
		}
		p.Path = append(p.Path, r.Step)
		p.Prompts = append(p.Prompts, r.Prompt)
		answer, ok := p.answer(r)
		if !ok {
			p.failf("step %q asks, and the script has no answer: %s", r.Step, r.Prompt)
			break
		}
		r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: r.Step, Answer: answer})
		if r.Status == workflow.StatusError && r.Retry != nil && *r.Retry {
			p.failf("step %q: %s", r.Step, r.Message)
			break
		}
	}
	p.Last = r
	p.unused()
	return p.Played
}

// failf fails the test once.
func (p *Played) failf(format string, args ...any) {
	p.t.Helper()
	p.failed = true
	p.t.Errorf(format, args...)
}

func (p *player) json(what string, v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		p.failf("%s have no JSON form: %v", what, err)
		return json.RawMessage("null")
	}
	return data
}

// answer is that of the script to a prompt; none where none is asked for.
func (p *player) answer(r workflow.Result) (json.RawMessage, bool) {
	v, ok := p.s.Answers[r.Step]
	n := p.given[r.Step]
	p.given[r.Step]++
	switch v := v.(type) {
	case Each:
		if n >= len(v) {
			return nil, false
		}
		return p.json("the answers", v[n]), true
	case func(string) any:
		return p.json("the answers", v(r.Prompt)), true
	}
	if !ok {
		return nil, r.Schema == nil
	}
	return p.json("the answers", v), true
}

// unused fails the test for answers that nobody asked for.
func (p *player) unused() {
	var names []string
	for name, v := range p.s.Answers {
		if list, several := v.(Each); p.given[name] == 0 || several && p.given[name] < len(list) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 && !p.failed {
		p.failf("nobody asked for (all of) the answers of %s; the path was %v, the end %s %s", strings.Join(names, ", "), p.Path, p.Last.Status, p.Last.Message)
	}
}

func (p *player) call(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	p.Calls = append(p.Calls, Made{tool, input})
	f := p.s.Tools[tool]
	if f == nil {
		return nil, fmt.Errorf("the script has no tool %s", tool)
	}
	v, err := f(ctx, input)
	if err != nil {
		return nil, err
	}
	return p.json("the result of "+tool, v), nil
}

func (p *player) ask(_ context.Context, f workflow.Form) (workflow.FormAction, json.RawMessage, error) {
	v, ok := p.s.Forms[f.Message]
	if !ok {
		return workflow.FormCancel, nil, nil
	}
	return workflow.FormAccept, p.json("the forms", v), nil
}

// WantPath fails the test unless these steps asked the model, in this order.
func (p *Played) WantPath(steps ...string) {
	p.t.Helper()
	if !slices.Equal(p.Path, steps) {
		p.failf("the path is %v, want %v", p.Path, steps)
	}
}

// WantCalls fails the test unless actions called these tools, in this order.
func (p *Played) WantCalls(tools ...string) {
	p.t.Helper()
	var got []string
	for _, c := range p.Calls {
		got = append(got, c.Tool)
	}
	if !slices.Equal(got, tools) {
		p.failf("the actions called %v, want %v", got, tools)
	}
}

// WantResult fails the test unless the workflow is done, with this result.
func (p *Played) WantResult(want any) {
	p.t.Helper()
	if p.Last.Status != workflow.StatusDone {
		p.failf("the end is %s: %s, want it done", p.Last.Status, p.Last.Message)
		return
	}
	if data, err := json.Marshal(want); err != nil || !sameJSON(p.Last.Result, data) {
		p.failf("the result is %s, want %s", p.Last.Result, data)
	}
}

// WantRedirect fails the test unless the workflow sends the model to a skill.
func (p *Played) WantRedirect(skill string) {
	p.t.Helper()
	if p.Last.Status != workflow.StatusRedirect || p.Last.Skill != skill {
		p.failf("the end is %s %s %s, want a redirect to %s", p.Last.Status, p.Last.Skill, p.Last.Message, skill)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Load loads the skill in a folder, and fails the test if it is not what the
// standard says, or if Lint finds an error.
func Load(t testing.TB, dir string) *skills.Skill {
	t.Helper()
	k, err := skills.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	remarks, err := skills.Lint(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range remarks {
		if d.Severity == skills.Error {
			t.Errorf("%s: %s", dir, d)
		} else {
			t.Logf("%s: %s", dir, d)
		}
	}
	return k
}

// Register makes a skill of one that is defined in Go, and fails the test if it
// is wrong.
func Register(t testing.TB, v skills.Virtual) *skills.Skill {
	t.Helper()
	k, err := v.Skill()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Workflow is that of a skill, which has to have one.
func Workflow(t testing.TB, k *skills.Skill) *workflow.Workflow {
	t.Helper()
	w, err := k.Workflow()
	if err != nil {
		t.Fatal(err)
	}
	if w == nil {
		t.Fatalf("skill %s has no workflow", k.Ref)
	}
	return w
}

// Call calls a tool that is defined in Go like a model would, and reads its
// answer into to, which may be nil. The error is what the model reads.
func Call(t testing.TB, k *skills.Skill, tool string, input, to any) error {
	t.Helper()
	var raw json.RawMessage
	if input != nil {
		var err error
		if raw, err = json.Marshal(input); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := k.Call(t.Context(), tool, raw)
	if err != nil || to == nil {
		return err
	}
	return json.Unmarshal(answer, to)
}
