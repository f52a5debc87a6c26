package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
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
	// Preamble comes with the first prompt, and when a prompt is said again.
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

// An Observer is told of an event after it was kept, and waited for. Its errors
// and panics do not stop the workflow.
type Observer func(ctx context.Context, session string, e Event) error

// Options are what an engine needs of others. The zero value runs workflows
// without tools, whose sessions end with the process.
type Options struct {
	// Call does an action. It has to return soon after ctx is done.
	Call func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error)
	// Ask puts forms to the user; nil leaves all questions to the model.
	Ask AskFunc
	// Read reads a file of the skill, for topics.
	Read func(ctx context.Context, path string) (string, error)
	// Host is what is known of the program that the model runs in.
	Host Host
	// Sessions keeps the events; nil keeps them in memory.
	Sessions Sessions
	// Observers are told of each event, one after the other, before those of the
	// definition.
	Observers []Observer
	// ObserverFailed is told of each error of an observer.
	ObserverFailed func(session string, e Event, err error)
}

// The tools under which a skill offers its workflow to a model. Each of its
// subskills can be begun with SUBSKILL/start.
const (
	ToolStart   = "start"
	ToolAdvance = "advance"
	ToolTopic   = "topic" // if it has topics
)

// ToolNames are the names of the tools of a workflow.
func ToolNames(w *Workflow) []string {
	names := []string{ToolStart, ToolAdvance}
	if len(w.Topics()) > 0 {
		names = append(names, ToolTopic)
	}
	for _, s := range w.Subskills() {
		names = append(names, s+"/"+ToolStart)
	}
	return names
}

// An Engine runs one workflow. It may be used by several goroutines; what is
// done in one session is done one after the other.
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
	c.o.Observers = slices.Clone(e.o.Observers)
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

// hold makes a session one caller's until the function it returns is called.
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

// hold makes a session one caller's until the function it returns is called,
// also among processes if they share the sessions.
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
	return e.start(ctx, "", params)
}

// StartSubskill begins a session in a subskill.
func (e *Engine) StartSubskill(ctx context.Context, name string, params json.RawMessage) Result {
	if a := e.w.areas[name]; a == nil || a.subskill == nil {
		return failed("", "", false, "there is no subskill %q%s", name, didYouMean(name, e.w.Subskills()))
	}
	return e.start(ctx, name, params)
}

func (e *Engine) start(ctx context.Context, name string, params json.RawMessage) Result {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	a := e.w.areas[name]
	err := fits(params)
	if err == nil {
		err = a.params.Check(params)
	}
	if err != nil {
		return failed("", "", true, "params: %s", err)
	}
	id, err := e.o.Sessions.New()
	if err != nil {
		return failed("", "", true, "the session cannot be kept: %s", err)
	}
	release, err := e.hold(ctx, id)
	if err != nil {
		return failed("", "", true, "the session cannot be kept: %s", err)
	}
	defer release()
	r := &run{e: e, id: id, st: newState(), preamble: e.w.preamble(a, e.o.Host, true)}
	if err := r.add(ctx, Event{Kind: Started, Step: name, Value: params, Digest: e.w.digest}); err != nil {
		return *r.unkept(ctx, err)
	}
	return r.proceed(ctx)
}

// A Reply is what the model says at a step.
type Reply struct {
	// Step is the one that it means; empty means the one that waits.
	Step string
	// Answer is empty for none: then the step that waits is said again, or, if it
	// is named and asks for no answer, passed.
	Answer json.RawMessage
	// Again does an action once more of which it is not known whether it was done.
	Again bool
}

// Advance gives the answer of the step that waits for it. An answer that does
// not have the right form changes nothing and may be given again. Without an
// answer the step that waits is said again, and an action that failed is tried
// again. A session that was begun with another definition is refused.
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
		return failed(id, reply.Step, false, "the session cannot be read: %s", err)
	case err != nil:
		return failed(id, reply.Step, false, "unknown session%s: start one", e.near(id))
	}
	st, err := e.w.replay(events)
	if err != nil {
		return failed(id, reply.Step, false, "%s", err)
	}
	r := &run{e: e, id: id, st: st, again: reply.Again}
	n := e.w.steps[st.at]
	switch {
	case st.over:
		return failed(id, reply.Step, false, "the session is over: start another one")
	case st.digest != e.w.digest:
		return failed(id, st.at, false, "the workflow has been changed since this session began, and what was answered may mean something else now: start another session")
	case reply.Step != "" && st.at != "" && reply.Step != st.at:
		return failed(id, st.at, true, "the session is at step %q, not at %q%s", st.at, reply.Step, e.hint(reply.Step))
	case !st.waiting: // an action failed, or the process ended in between
		return r.proceed(ctx)
	case len(reply.Answer) == 0 && (reply.Step == "" || n.schema != nil):
		return r.sayAgain(ctx)
	}
	if len(reply.Answer) > 0 {
		if err := n.takes(reply.Answer); err != nil {
			return failed(id, st.at, true, "%s", err)
		}
	}
	if err := r.add(ctx, Event{Kind: Answered, Step: st.at, Value: reply.Answer}); err != nil {
		return *r.unkept(ctx, err)
	}
	return r.proceed(ctx)
}

// Topic looks a topic up.
func (e *Engine) Topic(ctx context.Context, name string) Result {
	if e.w.def.Topics[name] == nil {
		return failed("", "", false, "there is no topic %q%s", name, didYouMean(name, e.w.Topics()))
	}
	value, err := e.topic(ctx, name)
	if err != nil {
		return failed("", "", true, "%s", err)
	}
	return Result{Status: StatusDone, Result: value}
}

func (e *Engine) topic(ctx context.Context, name string) (json.RawMessage, error) {
	t := e.w.def.Topics[name]
	text := t.Text
	if t.File != "" {
		if e.o.Read == nil {
			return nil, fmt.Errorf("topic %q is in the file %s, and files cannot be read here", name, t.File)
		}
		var err error
		if text, err = e.o.Read(ctx, t.File); err != nil {
			return nil, fmt.Errorf("topic %q: %w", name, err)
		}
	}
	return encode(map[string]string{"topic": name, "content": text}), nil
}

// near names the session that an unknown id may mean.
func (e *Engine) near(id string) string {
	ids, err := e.o.Sessions.List()
	if err != nil {
		return ""
	}
	return near(id, ids)
}

// near names the one that was meant of those that there are, if it is near. To
// one letter all are.
func near(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 && len(name) > 1 {
		return " (did you mean " + near[0] + "?)"
	}
	return ""
}

func (e *Engine) hint(step string) string {
	if _, known := e.w.steps[step]; known {
		return ""
	}
	return ", which does not exist" + near(step, slices.Collect(maps.Keys(e.w.steps)))
}

// didYouMean names the nearest of what there is, or all.
func didYouMean(name string, known []string) string {
	switch near := nearest.Names(name, known, 3); {
	case len(near) > 0:
		return ": did you mean " + strings.Join(near, ", ") + "?"
	case len(known) > 0:
		return "; there are: " + strings.Join(known[:min(len(known), 20)], ", ")
	}
	return ": there are none"
}

// History are the events of a session: all that there is to know of it.
func (e *Engine) History(id string) ([]Event, error) { return e.o.Sessions.Load(id) }

// Restore begins a session with a history, such as that of another engine. It
// does nothing; Advance goes on from there.
func (e *Engine) Restore(history []Event) (id string, err error) {
	st, err := e.w.replay(history)
	if err != nil {
		return "", err
	}
	if st.digest != e.w.digest {
		return "", fmt.Errorf("the history is that of another workflow")
	}
	if id, err = e.o.Sessions.New(); err != nil {
		return "", err
	}
	for _, ev := range history {
		if err := e.o.Sessions.Append(id, ev); err != nil {
			return "", err
		}
	}
	return id, nil
}

// Replay says where a session with this history stands, without a session: no
// action is done, nobody is asked and nothing is kept. Result.Session is empty.
func (w *Workflow) Replay(history []Event, h Host) (Result, error) {
	st, err := w.replay(history)
	if err != nil {
		return Result{}, err
	}
	last := history[len(history)-1]
	switch last.Kind {
	case Ended:
		return Result{Status: StatusDone, Result: last.Value}, nil
	case Redirected:
		return redirection("", last.Value)
	case Stopped:
		var why string
		err := json.Unmarshal(last.Value, &why)
		return failed("", st.at, false, "%s", why), err
	}
	if st.digest != w.digest {
		return Result{}, fmt.Errorf("the history is that of another workflow")
	}
	if !st.waiting {
		return failed("", st.at, true, "the session was interrupted at step %q", st.at), nil
	}
	r := &run{e: &Engine{w: w, o: Options{Host: h}}, st: st}
	return r.prompt(context.Background()), nil
}
