package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Status says what a Result is.
type Status string

// The statuses.
const (
	StatusPrompt   Status = "prompt" // the model is to do something and answer
	StatusDone     Status = "done"
	StatusRedirect Status = "redirect" // the model is to go on with another skill
	StatusError    Status = "error"
)

// A Result is the answer to start and advance, made for a model to read.
type Result struct {
	Session string `json:"session,omitempty"`
	Status  Status `json:"status"`
	Step    string `json:"step,omitempty"`
	// Preamble comes with the first prompt, and when a prompt is repeated.
	Preamble string `json:"preamble,omitempty"`
	// Answered are the steps since the last call that the user answered in forms.
	Answered []Exchange `json:"answered,omitempty"`
	Prompt   string     `json:"prompt,omitempty"`
	// Schema is that of the answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Result is that of the workflow, when it is done.
	Result json.RawMessage `json:"result,omitempty"`
	// Skill is where to go on after StatusRedirect, with Input.
	Skill string          `json:"skill,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Message and Retry are for errors: with Retry, the same call may be made
	// again, with another answer or later.
	Message string `json:"message,omitempty"`
	Retry   *bool  `json:"retry,omitempty"`
}

func failed(session, step string, retry bool, format string, args ...any) Result {
	return Result{Session: session, Status: StatusError, Step: step, Message: fmt.Sprintf(format, args...), Retry: &retry}
}

// Options are what an engine needs of others. The zero value runs workflows
// without tools, with sessions that end with the process.
type Options struct {
	// Call runs an action. It must return soon after ctx is done.
	Call func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error)
	// Ask puts forms to the user; nil leaves all questions to the model.
	Ask AskFunc
	// Skill is what the model calls the skill, for subagents that must not use it;
	// empty means Definition.Name.
	Skill string
	// Host is what is known of the program that the model runs in.
	Host Host
	// Read reads a file of the skill, for topics.
	Read func(ctx context.Context, path string) (string, error)
	// Sessions keeps the events; nil keeps them in memory.
	Sessions Sessions
	// Observe is called with each event after it was kept, and waited for.
	Observe func(session string, e Event)
}

// The tools under which a skill offers its workflow to a model; SUBSKILL/start
// starts a subskill.
const (
	ToolStart   = "start"
	ToolAdvance = "advance"
	ToolTopic   = "topic" // if there are topics
)

// An Engine runs one workflow. It may be used by several goroutines; calls for one
// session wait for each other.
type Engine struct {
	w     *Workflow
	o     Options
	locks *locks
}

// NewEngine returns an engine for a workflow.
func NewEngine(w *Workflow, o *Options) *Engine {
	e := &Engine{w: w, locks: &locks{byID: map[string]*lock{}}}
	if o != nil {
		e.o = *o
	}
	if e.o.Sessions == nil {
		e.o.Sessions = NewMemory()
	}
	return e
}

// With returns an engine for the same sessions with other options. Its Sessions
// must not be changed.
func (e *Engine) With(change func(*Options)) *Engine {
	c := *e
	change(&c.o)
	return &c
}

// Workflow is what the engine runs.
func (e *Engine) Workflow() *Workflow { return e.w }

// locks make calls for one session wait for each other.
type locks struct {
	mu   sync.Mutex
	byID map[string]*lock
}

type lock struct {
	held  chan struct{} // of one
	users int
}

// hold reserves a session until the function it returns is called.
func (k *locks) hold(ctx context.Context, id string) (release func(), err error) {
	k.mu.Lock()
	l := k.byID[id]
	if l == nil {
		l = &lock{held: make(chan struct{}, 1)}
		k.byID[id] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		if l.users--; l.users == 0 {
			delete(k.byID, id)
		}
		k.mu.Unlock()
	}
	select {
	case l.held <- struct{}{}:
		if ctx.Err() == nil {
			return func() { <-l.held; leave() }, nil
		}
		<-l.held
	case <-ctx.Done():
	}
	leave()
	return nil, context.Cause(ctx)
}

// hold reserves a session until the function it returns is called, also among
// processes if they share the sessions.
func (e *Engine) hold(ctx context.Context, id string) (release func(), err error) {
	free, err := e.locks.hold(ctx, id)
	if err != nil {
		return nil, err
	}
	l, shared := e.o.Sessions.(Locker)
	if !shared {
		return free, nil
	}
	unlock, err := l.Lock(ctx, id)
	if err != nil {
		free()
		return nil, err
	}
	return func() { unlock(); free() }, nil
}

// Start begins a session. Params that do not have the right form are a result
// with Retry, and no session.
func (e *Engine) Start(ctx context.Context, params json.RawMessage) Result {
	return e.start(ctx, e.w.areas[""], params)
}

func (e *Engine) start(ctx context.Context, a *area, params json.RawMessage) Result {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	err := fits(params)
	if err == nil {
		err = a.params.Check(params)
	}
	if err != nil {
		return failed("", "", true, "params: %s", err)
	}
	id, err := e.o.Sessions.New()
	if err != nil {
		return failed("", "", true, "cannot keep the session: %s", err)
	}
	release, err := e.hold(ctx, id)
	if err != nil {
		return failed("", "", true, "cannot keep the session: %s", err)
	}
	defer release()
	r := &run{e: e, id: id, st: newState(), preamble: e.w.preamble(a, e.o.Host)}
	r.st.host = e.o.Host
	if err := r.add(Event{Kind: Started, Step: a.name, Value: params, Digest: e.w.digest}); err != nil {
		return *r.unkept(err)
	}
	return r.proceed(ctx)
}

// A Reply is what the model says at a step.
type Reply struct {
	// Step is the one that it means; empty means the one that waits.
	Step string
	// Answer may be empty: then the prompt of the step that waits is repeated,
	// or, if the step is named and asks for no answer, passed.
	Answer json.RawMessage
	// Again runs an action again that may or may not have been done.
	Again bool
}

// Advance gives the answer of the step that waits for it. An answer that does
// not have the right form changes nothing and may be given again. Without an
// answer the prompt is repeated, and an action that failed is tried again. A
// session that was begun with another definition is refused.
func (e *Engine) Advance(ctx context.Context, id string, reply Reply) Result {
	var events []Event
	release, err := e.hold(ctx, id)
	if err == nil {
		defer release()
		events, err = e.o.Sessions.Load(id)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return failed(id, reply.Step, true, "the session is in use: %s", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failed(id, reply.Step, false, "cannot read the session: %s", err)
	case err != nil:
		return failed(id, reply.Step, false, "unknown session: start one")
	}
	st, err := replay(events)
	if err != nil {
		return failed(id, reply.Step, false, "%s", err)
	}
	st.host = e.o.Host
	r := &run{e: e, id: id, st: st, repeat: reply.Again}
	n := e.w.steps[st.at]
	switch {
	case st.over:
		return failed(id, reply.Step, false, "the session is over: start another one")
	case st.digest != e.w.digest:
		return failed(id, st.at, false, "the workflow has been changed since this session began, and what was answered may mean something else now: start another session")
	case e.w.areas[st.area] == nil || st.at != "" && n == nil:
		return failed(id, st.at, false, "the session is damaged: start another one")
	case reply.Step != "" && st.at != "" && reply.Step != st.at:
		return failed(id, st.at, true, "the session is at step %q, not at %q%s", st.at, reply.Step, e.hint(reply.Step))
	case !st.waiting: // an action failed, or the process ended in between
		return r.proceed(ctx)
	case len(reply.Answer) == 0 && (reply.Step == "" || n.schema != nil):
		r.preamble = e.w.preamble(e.w.areas[st.area], e.o.Host) // the model may have lost it
		return r.prompt()
	}
	if len(reply.Answer) > 0 {
		if err := n.takes(reply.Answer); err != nil {
			return failed(id, st.at, true, "%s", err)
		}
	}
	if err := r.add(Event{Kind: Answered, Step: st.at, Value: reply.Answer}); err != nil {
		return *r.unkept(err)
	}
	return r.proceed(ctx)
}

// didYouMean returns a suggestion that names the known name closest to name, or "" if none is
// close, or if name is a single byte, to which every name would be close.
func didYouMean(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 && len(name) > 1 {
		return " (did you mean " + near[0] + "?)"
	}
	return ""
}

func (e *Engine) hint(step string) string {
	if _, known := e.w.steps[step]; known {
		return ""
	}
	return ", which does not exist" + didYouMean(step, slices.Collect(maps.Keys(e.w.steps)))
}
