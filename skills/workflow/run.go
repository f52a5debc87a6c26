package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A run is one call of Start or Advance.
type run struct {
	e        *Engine
	id       string
	st       *state
	hops     int
	again    bool // an action may be repeated of which it is not known whether it was done
	preamble string
	answered []Exchange
}

// add keeps an event, applies it and tells the observers.
func (r *run) add(ctx context.Context, ev Event) error {
	ev.At = time.Now().UTC()
	if err := r.st.room(&ev); err != nil {
		return err
	}
	if err := r.e.o.Sessions.Append(r.id, ev); err != nil {
		return err
	}
	if err := r.st.apply(ev, r.e.w); err != nil {
		return err
	}
	observers := slices.Concat(r.e.o.Observers, r.e.w.def.Observers)
	if a := r.e.w.areas[r.st.area]; a != nil && a.subskill != nil {
		observers = append(observers, a.def.Observers...)
	}
	for _, o := range observers {
		err := contain(func() error { return o(ctx, r.id, ev) })
		if err != nil && r.e.o.ObserverFailed != nil {
			r.e.o.ObserverFailed(r.id, ev, err)
		}
	}
	return nil
}

// clip cuts a text to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}

// contain makes a panic an error.
func contain(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	return f()
}

// result completes what goes to the model.
func (r *run) result(res Result) Result {
	res.Preamble, res.Answered = r.preamble, r.answered
	return res
}

func (r *run) fail(retry bool, format string, args ...any) *Result {
	res := r.result(failed(r.id, r.st.at, retry, format, args...))
	return &res
}

// unkept says why an event is not kept. One that a bound forbids ends the session.
func (r *run) unkept(ctx context.Context, err error) *Result {
	if bound, ok := errors.AsType[boundError](err); ok {
		return r.stop(ctx, "%s", bound)
	}
	return r.fail(true, "the session cannot be kept: %s", err)
}

// stop ends the session for good.
func (r *run) stop(ctx context.Context, format string, args ...any) *Result {
	why := clip(fmt.Sprintf(format, args...), maxReasonBytes)
	if err := r.add(ctx, Event{Kind: Stopped, Step: r.st.at, Value: encode(why)}); err != nil {
		return r.unkept(ctx, err)
	}
	return r.fail(false, "%s", why)
}

// scope is what can be named at the step come to.
func (r *run) scope() scope {
	s := r.areaScope()
	if n := r.e.w.steps[r.st.at]; n != nil {
		s.inside = n.inside
	}
	return s
}

// areaScope is what can be named outside of parts.
func (r *run) areaScope() scope { return scope{state: r.st, w: r.e.w, host: r.e.o.Host} }

func (r *run) view() *View { return &View{r.scope()} }

// proceed does what is to be done next until somebody has to answer. The state
// says what that is: so it goes on from wherever a process has ended.
func (r *run) proceed(ctx context.Context) Result {
	for {
		var res *Result
		n := r.e.w.steps[r.st.at]
		switch {
		case ctx.Err() != nil:
			res = r.fail(true, "it was interrupted: %s", context.Cause(ctx))
		case n == nil:
			a := r.e.w.areas[r.st.area]
			res = r.come(ctx, a.prefix+a.def.Start)
		case n.Action != nil && !r.st.acted && !r.st.waiting && !r.st.answered:
			res = r.act(ctx, n)
		case n.prompts() && !r.st.answered:
			res = r.ask(ctx, n)
		case (n.Save != nil || n.SaveFunc != nil) && !r.st.saved:
			res = r.save(ctx, n)
		default:
			res = r.leave(ctx, n)
		}
		if res != nil {
			return *res
		}
	}
}

// come goes to a step, or to where it leads that was come to too often.
func (r *run) come(ctx context.Context, name string) *Result {
	for {
		if r.hops++; r.hops > maxHops {
			return r.stop(ctx, "the workflow has passed %d steps without asking anything, which is the most at one time", maxHops)
		}
		if name == End || isElsewhere(name) {
			return r.goTo(ctx, Branch{To: name})
		}
		n := r.e.w.steps[name]
		limit := n.MaxVisits
		if limit == 0 {
			limit = DefaultVisits
		}
		if r.st.visits[name] < limit {
			break
		}
		if n.OnMaxVisits == "" || n.OnMaxVisits == name {
			return r.stop(ctx, "step %q was come to %d times, which is the most that is allowed", name, limit)
		}
		name = n.OnMaxVisits
	}
	if err := r.add(ctx, Event{Kind: Came, Step: name}); err != nil {
		return r.unkept(ctx, err)
	}
	return nil
}

// act does an action once; its result is kept, so that it is never done again.
func (r *run) act(ctx context.Context, n *node) *Result {
	a := n.Action
	switch {
	case a.Run == nil && r.e.o.Call == nil:
		return r.fail(false, "the step calls %s, and tools cannot be called here", a.Tool)
	case r.st.acting && !a.Repeatable && !r.again:
		return r.fail(true, "%s was begun and then interrupted: it may have been done. Find out, or do it again with advance and \"again\": true", a.Tool)
	}
	r.again = false
	input, err := r.input(a)
	if err != nil {
		return r.stop(ctx, "the input of %s: %s", a.Tool, err)
	}
	if err := n.input.Check(input); err != nil {
		return r.stop(ctx, "the input of %s is not what the step declares: %s", a.Tool, err)
	}
	if err := r.add(ctx, Event{Kind: Acting, Step: r.st.at, Value: input}); err != nil {
		return r.unkept(ctx, err)
	}
	out, err := r.call(ctx, a, input)
	switch {
	case err != nil && errors.Is(err, ErrUnsure) && !a.Repeatable:
		return r.fail(true, "call %s: %s. Find out, or do it again with advance and \"again\": true", a.Tool, err)
	case err != nil && ctx.Err() != nil && !errors.Is(err, ErrAbort):
		return r.fail(true, "%s was interrupted: it may have been done. Find out, or do it again with advance and \"again\": true", a.Tool)
	case err != nil:
		if e := r.add(ctx, Event{Kind: Failed, Step: r.st.at, Value: encode(err.Error())}); e != nil {
			return r.unkept(ctx, e)
		}
		if errors.Is(err, ErrAbort) {
			return r.stop(ctx, "call %s: %s", a.Tool, err)
		}
		return r.fail(true, "call %s: %s; try again with advance and this session", a.Tool, err)
	}
	if err := n.output.Check(out); err != nil {
		return r.stop(ctx, "the result of %s is not what the step declares: %s", a.Tool, err)
	}
	if err := r.add(ctx, Event{Kind: Acted, Step: r.st.at, Value: out}); err != nil {
		return r.unkept(ctx, fmt.Errorf("the result of %s: %w", a.Tool, err))
	}
	return nil
}

// input makes that of an action.
func (r *run) input(a *Action) (json.RawMessage, error) {
	if a.InputFunc != nil {
		return made(func() (any, error) { return a.InputFunc(r.view()) })
	}
	if len(a.Input) == 0 {
		return json.RawMessage("{}"), nil
	}
	return r.fill(a.Input)
}

// fill makes the value of a template.
func (r *run) fill(template json.RawMessage) (json.RawMessage, error) {
	return r.scope().filler().fill(template)
}

// made is what a function of the definition gives, as JSON.
func made(f func() (any, error)) (raw json.RawMessage, err error) {
	err = contain(func() error {
		v, err := f()
		if err != nil {
			return err
		}
		if m, ok := v.(json.RawMessage); ok && len(m) > 0 {
			raw = m
			return nil
		}
		raw, err = json.Marshal(v)
		return err
	})
	return raw, err
}

// call does an action; a result that is no JSON is a text.
func (r *run) call(ctx context.Context, a *Action, input json.RawMessage) (json.RawMessage, error) {
	if a.Run != nil {
		return made(func() (any, error) { return a.Run(ctx, input) })
	}
	out, err := r.e.o.Call(ctx, a.Tool, input)
	if err == nil && !json.Valid(out) {
		out = encode(string(out))
	}
	return out, err
}

// ask gives the prompt of a step, or puts its question to the user by itself.
func (r *run) ask(ctx context.Context, n *node) *Result {
	if !r.st.waiting {
		if err := r.add(ctx, Event{Kind: Prompted, Step: r.st.at}); err != nil {
			return r.unkept(ctx, err)
		}
	}
	if answer, ok := r.askUser(ctx, n); ok {
		at := r.st.at
		if err := r.add(ctx, Event{Kind: Answered, Step: at, Value: answer}); err != nil {
			return r.unkept(ctx, err)
		}
		r.answered = append(r.answered, Exchange{at, answer})
		return nil
	}
	res := r.prompt(ctx)
	return &res
}

// askUser puts the question that a step is to the user. What the user does not
// answer, or not in the right form, is the model's.
func (r *run) askUser(ctx context.Context, n *node) (json.RawMessage, bool) {
	if r.e.o.Ask == nil {
		return nil, false
	}
	filler := r.scope().filler()
	f, ok := n.form(filler.text)
	if !ok || filler.err() != nil {
		return nil, false
	}
	action, answer, err := r.e.o.Ask(ctx, f)
	switch {
	case err != nil:
		return nil, false
	case action == FormAccept:
		return answer, n.takes(answer) == nil
	case action == FormDecline && f.Confirm:
		return n.no()
	}
	return nil, false
}

// prompt is what the model is to do at the step that waits.
func (r *run) prompt(ctx context.Context) Result {
	n := r.e.w.steps[r.st.at]
	p := n.Prompt
	if n.PromptFunc != nil {
		err := contain(func() (err error) {
			p, err = n.PromptFunc(r.view())
			return err
		})
		if problems := p.check(); err == nil && len(problems) > 0 {
			err = errors.New(strings.Join(problems, "; "))
		}
		if err != nil {
			return *r.fail(true, "the prompt of step %q: %s", r.st.at, err)
		}
		r.explain(n, p)
	}
	f := r.scope().filler()
	text := p.render(f.text, r.e.w.def.Name)
	if err := f.err(); err != nil {
		return *r.fail(false, "the prompt of step %q: %s", r.st.at, err)
	}
	return r.result(Result{Session: r.id, Status: StatusPrompt, Step: r.st.at, Prompt: text, Schema: n.schema})
}

// explain tells the elements of a prompt that a function made and that are in no
// other.
func (r *run) explain(n *node, p Prompt) {
	used := map[string]bool{}
	p.mark(used)
	for tag := range r.e.w.elements(n.area) {
		delete(used, tag)
	}
	r.preamble = strings.TrimSpace(r.preamble + "\n\n" + table(used, r.e.o.Host))
}

// sayAgain repeats the prompt for a model that has lost it.
func (r *run) sayAgain(ctx context.Context) Result {
	r.preamble = r.e.w.preamble(r.e.w.areas[r.st.area], r.e.o.Host, true)
	return r.prompt(ctx)
}

// leave goes to where a step that is done leads.
func (r *run) leave(ctx context.Context, n *node) *Result {
	if n.NextFunc != nil {
		var to string
		err := contain(func() (err error) {
			to, err = n.NextFunc(r.view())
			return err
		})
		switch {
		case err != nil:
			return r.stop(ctx, "where step %q leads: %s", r.st.at, err)
		case !slices.Contains(n.Targets, to):
			return r.stop(ctx, "step %q leads to %q, which is not among its targets", r.st.at, to)
		}
		return r.goTo(ctx, Branch{To: to})
	}
	for _, b := range n.Next {
		if r.scope().holds(b.When) {
			return r.goTo(ctx, b)
		}
	}
	return r.stop(ctx, "no branch of step %q fits", r.st.at)
}

// goTo goes where a branch leads.
func (r *run) goTo(ctx context.Context, b Branch) *Result {
	switch kind, name, _ := strings.Cut(b.To, ":"); {
	case b.To == End:
		return r.end(ctx)
	case !isElsewhere(b.To):
		return r.come(ctx, b.To)
	case kind+":" == toTopic:
		value, err := r.e.topic(ctx, name)
		if err != nil {
			return r.fail(true, "%s", err)
		}
		return r.done(ctx, value)
	case kind+":" == toSubskill:
		return r.enter(ctx, name, b.With)
	default:
		return r.redirect(ctx, name, b.With)
	}
}

// enter goes on in a subskill, which the model does not notice but for the
// names of the steps.
func (r *run) enter(ctx context.Context, name string, with json.RawMessage) *Result {
	a := r.e.w.areas[name]
	var params json.RawMessage
	var err error
	switch {
	case len(with) > 0:
		params, err = r.fill(with)
	case a.subskill.ParamsFunc != nil:
		params, err = made(func() (any, error) { return a.subskill.ParamsFunc(&View{r.areaScope()}) })
	case len(a.subskill.Params) > 0:
		params, err = r.areaScope().filler().fill(a.subskill.Params)
	default:
		params = json.RawMessage("{}")
	}
	if err == nil {
		err = a.params.Check(params)
	}
	if err != nil {
		return r.stop(ctx, "the params of subskill %q: %s", name, err)
	}
	if err := r.add(ctx, Event{Kind: Entered, Step: name, Value: params}); err != nil {
		return r.unkept(ctx, err)
	}
	if p := r.e.w.preamble(a, r.e.o.Host, false); p != "" {
		r.preamble = strings.TrimSpace(r.preamble + "\n\n" + p)
	}
	return nil
}

// A redirect is the value of Redirected.
type redirect struct {
	Skill string          `json:"skill"`
	Input json.RawMessage `json:"input,omitempty"`
}

// redirect sends the model to another skill.
func (r *run) redirect(ctx context.Context, skill string, with json.RawMessage) *Result {
	to := redirect{Skill: skill}
	if len(with) > 0 {
		var err error
		if to.Input, err = r.fill(with); err != nil {
			return r.stop(ctx, "the input of skill %q: %s", skill, err)
		}
	}
	ev := Event{Kind: Redirected, Step: r.st.at, Value: encode(to)}
	if err := r.add(ctx, ev); err != nil {
		return r.unkept(ctx, err)
	}
	res, err := redirection(r.id, ev.Value)
	if err != nil {
		return r.fail(false, "%s", err)
	}
	res = r.result(res)
	return &res
}

func redirection(session string, value json.RawMessage) (Result, error) {
	var to redirect
	err := json.Unmarshal(value, &to)
	return Result{Session: session, Status: StatusRedirect, Skill: to.Skill, Input: to.Input}, err
}

func (r *run) end(ctx context.Context) *Result {
	a := r.e.w.areas[r.st.area]
	value := encode(r.st.answer)
	if len(a.def.Result) > 0 {
		var err error
		if value, err = r.areaScope().filler().fill(a.def.Result); err != nil {
			return r.stop(ctx, "the result: %s", err)
		}
	}
	if err := a.result.Check(value); err != nil {
		return r.stop(ctx, "the result is not what the workflow declares: %s", err)
	}
	return r.done(ctx, value)
}

func (r *run) done(ctx context.Context, value json.RawMessage) *Result {
	if err := r.add(ctx, Event{Kind: Ended, Value: value}); err != nil {
		return r.unkept(ctx, err)
	}
	res := r.result(Result{Session: r.id, Status: StatusDone, Result: value})
	return &res
}
