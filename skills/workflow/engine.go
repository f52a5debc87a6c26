package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Status says what a Result is.
type Status string

// The statuses.
const (
	StatusPrompt Status = "prompt" // the model is to do something and answer
	StatusDone   Status = "done"
	StatusError  Status = "error"
)

// A Result is the answer to start and advance, made for a model to read.
type Result struct {
	Session string `json:"session,omitempty"`
	Status  Status `json:"status"`
	Step    string `json:"step,omitempty"`
	// Preamble comes with the first prompt.
	Preamble string `json:"preamble,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
	// Schema is that of the answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Result is that of the workflow, when it is done.
	Result json.RawMessage `json:"result,omitempty"`
	// Message and Retry are for errors: with Retry, the same call may be made
	// again, with another answer or later.
	Message string `json:"message,omitempty"`
	Retry   *bool  `json:"retry,omitempty"`
}

func failed(session, step string, retry bool, format string, args ...any) Result {
	return Result{Session: session, Status: StatusError, Step: step, Message: fmt.Sprintf(format, args...), Retry: &retry}
}

// Options are what an engine needs of others. The zero value runs workflows
// without actions, whose sessions end with the process.
type Options struct {
	// Call does an action. It has to return soon after ctx is done.
	Call func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error)
	// Sessions keeps the events; nil keeps them in memory.
	Sessions Sessions
	// Observe is told of each event after it was kept. What it does cannot stop
	// the workflow.
	Observe func(session string, e Event)
}

// An Engine runs one workflow. It may be used by several goroutines; what is
// done in one session is done one after the other.
type Engine struct {
	w     *Workflow
	o     Options
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

// maxHops bounds the steps that are passed between two prompts.
const maxHops = 1000

// NewEngine returns an engine for a workflow.
func NewEngine(w *Workflow, o *Options) *Engine {
	e := &Engine{w: w, locks: map[string]*lock{}}
	if o != nil {
		e.o = *o
	}
	if e.o.Sessions == nil {
		e.o.Sessions = NewMemory()
	}
	return e
}

// hold makes a session one caller's until the function it returns is called.
func (e *Engine) hold(id string) (release func()) {
	e.mu.Lock()
	l := e.locks[id]
	if l == nil {
		l = &lock{}
		e.locks[id] = l
	}
	l.users++
	e.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		e.mu.Lock()
		if l.users--; l.users == 0 {
			delete(e.locks, id)
		}
		e.mu.Unlock()
	}
}

// Start begins a session. Params that do not have the right form are a result
// with Retry, and no session.
func (e *Engine) Start(ctx context.Context, params json.RawMessage) Result {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if problem := check(e.w.params, params); problem != "" {
		return failed("", "", true, "params: %s", problem)
	}
	id, err := e.o.Sessions.New()
	if err != nil {
		return failed("", "", true, "the session cannot be kept: %s", err)
	}
	defer e.hold(id)()
	r := &run{e: e, id: id, st: &state{steps: map[string]any{}, visits: map[string]int{}}}
	if err := r.add(Event{Started, "", params}); err != nil {
		return failed(id, "", true, "the session cannot be kept: %s", err)
	}
	res := r.come(ctx, e.w.def.Start)
	res.Preamble = e.w.def.Preamble
	return res
}

// Advance gives the answer of the step that waits for it. An answer that does
// not have the right form changes nothing and may be given again. Without an
// answer the step that waits is said again, and an action that failed is tried
// again.
func (e *Engine) Advance(ctx context.Context, id, step string, answer json.RawMessage) Result {
	defer e.hold(id)()
	events, err := e.o.Sessions.Load(id)
	if err != nil {
		return failed(id, step, false, "unknown session: start one")
	}
	st, err := replay(events)
	if err != nil {
		return failed(id, step, false, "%s", err)
	}
	r := &run{e: e, id: id, st: st}
	s, known := e.w.steps[st.at]
	switch {
	case st.over:
		return failed(id, step, false, "the session is over: start another one")
	case !known:
		return failed(id, step, false, "the workflow has changed: step %q is gone; start another session", st.at)
	case step != "" && step != st.at:
		return failed(id, st.at, true, "the session is at step %q, not at %q%s", st.at, step, e.hint(step))
	case !st.waiting:
		return r.proceed(ctx) // an action failed, or the process ended in between
	case len(answer) == 0:
		return r.prompt(s)
	}
	if problem := check(e.w.answers[st.at], answer); problem != "" {
		return failed(id, st.at, true, "%s", problem)
	}
	if err := r.add(Event{Answered, st.at, answer}); err != nil {
		return failed(id, st.at, true, "the answer cannot be kept: %s", err)
	}
	return r.leave(ctx, s)
}

func (e *Engine) hint(step string) string {
	var names []string
	for n := range e.w.steps {
		names = append(names, n)
	}
	if _, known := e.w.steps[step]; known {
		return ""
	}
	if near := nearest.Names(step, names, 1); len(near) > 0 {
		return ", which does not exist (did you mean " + near[0] + "?)"
	}
	return ", which does not exist"
}

// check says what is wrong with a value, or nothing.
func check(s *jsonschema.Resolved, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "it is no JSON: " + err.Error()
	}
	if s == nil {
		return ""
	}
	if err := s.Validate(v); err != nil {
		return strings.TrimPrefix(err.Error(), "validating root: ")
	}
	return ""
}

// A run is one call of Start or Advance.
type run struct {
	e    *Engine
	id   string
	st   *state
	hops int
}

// add keeps an event and applies it.
func (r *run) add(ev Event) error {
	if err := r.e.o.Sessions.Append(r.id, ev); err != nil {
		return err
	}
	if err := r.st.apply(ev); err != nil {
		return err
	}
	if r.e.o.Observe != nil {
		r.e.o.Observe(r.id, ev)
	}
	return nil
}

// come goes to a step.
func (r *run) come(ctx context.Context, name string) Result {
	if name == End {
		return r.end()
	}
	s := r.e.w.steps[name]
	limit := s.MaxVisits
	if limit == 0 {
		limit = DefaultVisits
	}
	if r.hops++; r.hops > maxHops {
		return r.stop("the workflow goes in a circle without asking anything")
	}
	if r.st.visits[name] >= limit {
		if s.OnMaxVisits != "" && s.OnMaxVisits != name {
			return r.come(ctx, s.OnMaxVisits)
		}
		return r.stop(fmt.Sprintf("step %q was come to %d times, which is the most that is allowed", name, limit))
	}
	if err := r.add(Event{Came, name, nil}); err != nil {
		return failed(r.id, name, true, "the session cannot be kept: %s", err)
	}
	return r.proceed(ctx)
}

// proceed does what is to be done at the step that was come to.
func (r *run) proceed(ctx context.Context) Result {
	s := r.e.w.steps[r.st.at]
	if s.Action != nil && !r.st.acted {
		if res := r.act(ctx, s.Action); res != nil {
			return *res
		}
	}
	if s.Prompt == "" && s.Answer == nil {
		return r.leave(ctx, s)
	}
	if err := r.add(Event{Prompted, r.st.at, nil}); err != nil {
		return failed(r.id, r.st.at, true, "the session cannot be kept: %s", err)
	}
	return r.prompt(s)
}

// act does an action once; its result is kept, so that it is never done again.
func (r *run) act(ctx context.Context, a *Action) *Result {
	fail := func(retry bool, format string, args ...any) *Result {
		res := failed(r.id, r.st.at, retry, format, args...)
		return &res
	}
	if r.e.o.Call == nil {
		return fail(false, "the step calls %s, and tools cannot be called here", a.Tool)
	}
	input := json.RawMessage("{}")
	if len(a.Input) > 0 {
		template, err := decode(a.Input)
		if err != nil {
			return fail(false, "the input of %s is no JSON: %s", a.Tool, err)
		}
		input = encode(r.st.value(template))
	}
	out, err := r.e.o.Call(ctx, a.Tool, input)
	if err != nil {
		return fail(true, "call %s: %s", a.Tool, err)
	}
	if !json.Valid(out) {
		out = encode(string(out))
	}
	if err := r.add(Event{Acted, r.st.at, out}); err != nil {
		return fail(true, "the result of %s cannot be kept: %s", a.Tool, err)
	}
	return nil
}

// leave takes the first branch whose condition holds.
func (r *run) leave(ctx context.Context, s *Step) Result {
	for _, b := range s.Next {
		if r.st.holds(b.When) {
			return r.come(ctx, b.To)
		}
	}
	return r.stop(fmt.Sprintf("no branch of step %q fits", r.st.at))
}

func (r *run) prompt(s *Step) Result {
	return Result{Session: r.id, Status: StatusPrompt, Step: r.st.at, Prompt: r.st.text(s.Prompt), Schema: s.Answer}
}

func (r *run) end() Result {
	result := r.st.answer
	if len(r.e.w.def.Result) > 0 {
		if template, err := decode(r.e.w.def.Result); err == nil {
			result = r.st.value(template)
		}
	}
	ev := Event{Ended, "", encode(result)}
	if err := r.add(ev); err != nil {
		return failed(r.id, r.st.at, true, "the session cannot be kept: %s", err)
	}
	return Result{Session: r.id, Status: StatusDone, Result: ev.Value}
}

func (r *run) stop(why string) Result {
	if err := r.add(Event{Stopped, r.st.at, encode(why)}); err != nil {
		return failed(r.id, r.st.at, true, "the session cannot be kept: %s", err)
	}
	return failed(r.id, r.st.at, false, "%s", why)
}
