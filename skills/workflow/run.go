package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A run is one call of Start or Advance.
type run struct {
	e        *Engine
	id       string
	st       *state
	hops     int
	repeat   bool // repeat an action that may or may not have been done
	preamble string
	answered []Exchange
}

// add keeps an event, applies it and reports it.
func (r *run) add(ev Event) error {
	ev.At = time.Now().UTC()
	if err := r.st.checkSpace(&ev); err != nil {
		return err
	}
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

// contain makes a panic an error.
func contain(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
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
func (r *run) unkept(err error) *Result {
	if bound, ok := errors.AsType[boundError](err); ok {
		return r.stop("%s", bound)
	}
	return r.fail(true, "cannot keep the session: %s", err)
}

// stop ends the session for good.
func (r *run) stop(format string, args ...any) *Result {
	why := gate.Cut(fmt.Sprintf(format, args...), maxReasonBytes)
	if err := r.add(Event{Kind: Stopped, Step: r.st.at, Value: encode(why)}); err != nil {
		return r.unkept(err)
	}
	return r.fail(false, "%s", why)
}

// proceed does what comes next until somebody has to answer. The state says what
// that is, so that it continues wherever a process has ended.
func (r *run) proceed(ctx context.Context) Result {
	for {
		var res *Result
		n := r.e.w.steps[r.st.at]
		switch {
		case ctx.Err() != nil:
			res = r.fail(true, "interrupted: %s", context.Cause(ctx))
		case n == nil:
			a := r.e.w.areas[r.st.area]
			res = r.come(ctx, a.prefix()+a.def.Start)
		case n.Action != nil && !r.st.acted && !r.st.waiting && !r.st.answered:
			res = r.act(ctx, n)
		case n.prompts() && !r.st.answered:
			res = r.ask(ctx, n)
		case (n.Save != nil || n.SaveFunc != nil) && !r.st.saved:
			res = r.save(n)
		default:
			res = r.leave(ctx, n)
		}
		if res != nil {
			return *res
		}
	}
}

// come goes to a step, or to where it leads if it has been visited too often.
func (r *run) come(ctx context.Context, name string) *Result {
	for {
		if r.hops++; r.hops > maxHops {
			return r.stop("the workflow has passed %d steps without asking anything, which is the most at one time", maxHops)
		}
		n := r.e.w.steps[name]
		if n == nil { // End, or not a step
			return r.goTo(ctx, Branch{To: name})
		}
		limit := n.MaxVisits
		if limit == 0 {
			limit = DefaultVisits
		}
		if r.st.visits[name] < limit {
			break
		}
		if n.OnMaxVisits == "" || n.OnMaxVisits == name {
			return r.stop("step %q has been visited %d times, which is the most that is allowed", name, limit)
		}
		name = n.OnMaxVisits
	}
	if err := r.add(Event{Kind: Came, Step: name}); err != nil {
		return r.unkept(err)
	}
	return nil
}

// mayHaveBeenDone says what to do about an action with an unknown outcome.
const mayHaveBeenDone = "it may have been done. Find out, or do it again with advance and \"again\": true"

// act runs an action once; its result is kept, so that it never runs again.
func (r *run) act(ctx context.Context, n *node) *Result {
	a := n.Action
	switch {
	case a.Run == nil && r.e.o.Call == nil:
		return r.fail(false, "the step calls %s, and tools cannot be called here", a.Tool)
	case r.st.acting && !a.Repeatable && !r.repeat:
		return r.fail(true, "%s was begun and then interrupted: %s", a.Tool, mayHaveBeenDone)
	}
	r.repeat = false
	input := json.RawMessage("{}")
	if len(a.Input) > 0 {
		var err error
		if input, err = r.st.fill(a.Input); err != nil {
			return r.stop("the input of %s: %s", a.Tool, err)
		}
	}
	if err := n.input.Check(input); err != nil {
		return r.stop("the input of %s does not match its inputSchema: %s", a.Tool, err)
	}
	if err := r.add(Event{Kind: Acting, Step: r.st.at, Value: input}); err != nil {
		return r.unkept(err)
	}
	out, err := r.call(ctx, a, input)
	switch {
	case err != nil && errors.Is(err, ErrUnsure) && !a.Repeatable:
		return r.fail(true, "call %s: %s. Find out, or do it again with advance and \"again\": true", a.Tool, err)
	case err != nil && ctx.Err() != nil:
		return r.fail(true, "%s was interrupted: %s", a.Tool, mayHaveBeenDone)
	case err != nil:
		if e := r.add(Event{Kind: Failed, Step: r.st.at, Value: encode(err.Error())}); e != nil {
			return r.unkept(e)
		}
		return r.fail(true, "call %s: %s; try again with advance and this session", a.Tool, err)
	}
	if err := n.output.Check(out); err != nil {
		return r.stop("the result of %s does not match its outputSchema: %s", a.Tool, err)
	}
	if err := r.add(Event{Kind: Acted, Step: r.st.at, Value: out}); err != nil {
		return r.unkept(fmt.Errorf("the result of %s: %w", a.Tool, err))
	}
	return nil
}

// call runs an action; a result that is not JSON is a string.
func (r *run) call(ctx context.Context, a *Action, input json.RawMessage) (out json.RawMessage, err error) {
	if a.Run != nil {
		err = contain(func() error {
			v, err := a.Run(ctx, input)
			if err != nil {
				return err
			}
			out, err = json.Marshal(v)
			return err
		})
		return out, err
	}
	out, err = r.e.o.Call(ctx, a.Tool, input)
	if err == nil && !json.Valid(out) {
		out = encode(string(out))
	}
	return out, err
}

// ask gives the prompt of a step, or puts its question to the user by itself.
func (r *run) ask(ctx context.Context, n *node) *Result {
	if !r.st.waiting {
		if err := r.add(Event{Kind: Prompted, Step: r.st.at}); err != nil {
			return r.unkept(err)
		}
	}
	if answer, ok := r.askUser(ctx, n); ok {
		at := r.st.at
		if err := r.add(Event{Kind: Answered, Step: at, Value: answer}); err != nil {
			return r.unkept(err)
		}
		r.answered = append(r.answered, Exchange{at, answer})
		return nil
	}
	res := r.prompt()
	return &res
}

// askUser puts the question of a step to the user. What the user does not answer,
// or not in the right form, is left to the model.
func (r *run) askUser(ctx context.Context, n *node) (json.RawMessage, bool) {
	if r.e.o.Ask == nil {
		return nil, false
	}
	filler := r.st.filler()
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
func (r *run) prompt() Result {
	n := r.e.w.steps[r.st.at]
	p := n.Prompt
	if n.PromptFunc != nil {
		err := contain(func() (err error) {
			p, err = n.PromptFunc(&View{r.st})
			return err
		})
		if problems := p.check(); err == nil && len(problems) > 0 {
			err = errors.New(strings.Join(problems, "; "))
		}
		if err != nil {
			return *r.fail(true, "the prompt of step %q: %s", r.st.at, err)
		}
	}
	f := r.st.filler()
	f.inert = p.plain()
	text := p.render(f.text, cmp.Or(r.e.o.Skill, r.e.w.def.Name))
	if err := f.err(); err != nil {
		return *r.fail(false, "the prompt of step %q: %s", r.st.at, err)
	}
	return r.result(Result{Session: r.id, Status: StatusPrompt, Step: r.st.at, Prompt: text, Schema: n.schema})
}

// leave goes where a finished step leads.
func (r *run) leave(ctx context.Context, n *node) *Result {
	if n.NextFunc != nil {
		var to string
		err := contain(func() (err error) {
			to, err = n.NextFunc(&View{r.st})
			to = n.target(to)
			return err
		})
		switch {
		case err != nil:
			return r.stop("where step %q leads: %s", r.st.at, err)
		case !slices.Contains(n.Targets, to):
			return r.stop("step %q leads to %q, which is not one of its targets", r.st.at, to)
		}
		return r.goTo(ctx, Branch{To: to})
	}
	for _, b := range n.Next {
		if r.st.holds(b.When) {
			return r.goTo(ctx, b)
		}
	}
	return r.stop("no branch of step %q fits", r.st.at)
}

// goTo goes where a branch leads.
func (r *run) goTo(ctx context.Context, b Branch) *Result {
	if b.To == End {
		return r.end()
	}
	switch kind, name, _ := strings.Cut(b.To, ":"); kind + ":" {
	case toSubskill:
		return r.enterSubskill(name, b.With)
	case toTopic:
		return r.topic(ctx, name)
	case toSkill:
		return r.redirect(name, b.With)
	}
	return r.come(ctx, b.To)
}

// redirect sends the model to another skill.
func (r *run) redirect(skill string, with json.RawMessage) *Result {
	res := Result{Session: r.id, Status: StatusRedirect, Skill: skill}
	if len(with) > 0 {
		var err error
		if res.Input, err = r.st.fill(with); err != nil {
			return r.stop("the input of skill %q: %s", skill, err)
		}
	}
	if err := r.add(Event{Kind: Redirected, Step: r.st.at, Value: encode(map[string]any{"skill": skill, "input": res.Input})}); err != nil {
		return r.unkept(err)
	}
	res = r.result(res)
	return &res
}

func (r *run) end() *Result {
	value := encode(r.st.answer)
	if def := r.e.w.areas[r.st.area].def; len(def.Result) > 0 {
		var err error
		if value, err = r.st.fill(def.Result); err != nil {
			return r.stop("the result: %s", err)
		}
	}
	return r.done(value)
}

func (r *run) done(value json.RawMessage) *Result {
	if err := r.add(Event{Kind: Ended, Value: value}); err != nil {
		return r.unkept(err)
	}
	res := r.result(Result{Session: r.id, Status: StatusDone, Result: value})
	return &res
}
