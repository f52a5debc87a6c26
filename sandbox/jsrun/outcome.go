package jsrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// settled ends a run after its main function: it takes the current result, then gives calls in
// progress time to finish.
func (r *runtime) settled(ctx context.Context) Outcome {
	for r.tape.replay != nil {
		if err := r.turn(ctx, nil); err != nil {
			return r.aborted(ctx, err)
		}
	}
	var out Outcome
	if r.script.idle != "" {
		out.Notes = append(out.Notes, r.script.idle)
	}
	switch {
	case r.main == nil:
	case r.main.State() == goja.PromiseStateRejected:
		text, err := r.describe(r.main.Result())
		if err != nil {
			return r.aborted(ctx, err)
		}
		out.ExitCode, out.Error = sandbox.ExitThrew, text
	default:
		value, err := r.resultJSON(r.main.Result())
		switch {
		case err != nil && isEnd(err):
			return r.aborted(ctx, err)
		case err == nil:
			out.Value = value
			if m := r.reads.unawaited; m != nil {
				r.reads.notes = append(r.reads.notes, fmt.Sprintf("line %d: %s", m.at.Line, m.advice))
			}
			if r.reads.inCalls && (value == nil && !r.printed || r.reads.last != nil && isHollow(value)) {
				what := "undefined"
				if value != nil {
					what = "a list of nothing"
				}
				if err := r.guard(func() { r.noteUndefined(what) }); isEnd(err) { // it may run a getter of the program
					return r.aborted(ctx, err)
				}
			}
			if note := returned(r.main.Result()); note != "" && !(r.script.implicit && r.printed) {
				out.Notes = append(out.Notes, note)
			}
		case !r.script.implicit: // a last expression without a JSON form is not a result
			out.ExitCode = sandbox.ExitThrew
			out.Error = script.Texts.Unwritable + r.message(err) + script.Texts.PlainData
		}
	}
	out, aborted := r.drain(ctx, out)
	if aborted {
		return out
	}
	if r.script.implicit && r.printed {
		out.Value = nil
	}
	return r.withRejections(ctx, out)
}

// hollow matches results that consist of null and of empty objects.
var hollow = lazyregexp.New(`^\[(?:(?:null|\{\}),)*(?:null|\{\})\]$`)

// isHollow reports whether a result is a list of nothing, as if each read of an element had
// failed.
func isHollow(value json.RawMessage) bool {
	return len(value) >= len("[{}]") && len(value) < maxHollow && (value[1] == 'n' || value[1] == '{' && value[2] == '}') && hollow.MatchString(string(value))
}

// maxHollow bounds the examined results, in bytes.
const maxHollow = 64 << 10

// returned describes a result without a JSON form, or returns "".
func returned(v goja.Value) string {
	switch v := v.(type) {
	case *goja.Symbol:
		return script.Texts.Symbol
	case *goja.Object:
		if _, ok := goja.AssertFunction(v); ok {
			return script.Texts.Function
		}
		if v.ClassName() == "Date" && v.Export() == nil {
			return script.Texts.Date
		}
		return ""
	}
	if v != nil && (goja.IsNaN(v) || goja.IsInfinity(v)) {
		return v.String() + script.Texts.Number
	}
	return ""
}

// drain waits for what statements of the program started and, at most for the grace period, for
// other calls in progress, except those that have lost a race, and for timers.
func (r *runtime) drain(ctx context.Context, out Outcome) (_ Outcome, aborted bool) {
	var late []*hostCall
	r.noteLost()
	for c := range r.loop.calls {
		c.outlivedMain = true
		late = append(late, c)
	}
	end := time.Now().Add(r.prog.Limits.Grace)
	over := time.NewTimer(r.prog.Limits.Grace)
	defer over.Stop()
	grace := over.C // nil once it has fired
wait:
	for r.prog.Limits.Grace > 0 && (r.continues(ctx.Deadline()) || grace != nil && (r.awaitsCalls() || len(r.loop.timers) > r.lostTimers && r.loop.timerBefore(end))) {
		switch err := r.turn(ctx, grace); {
		case err == nil:
		case isEnd(err), r.tape.diverged != "":
			return r.aborted(ctx, err), true
		case errors.Is(err, errWithheld):
			return Outcome{ExitCode: sandbox.ExitApproval}, true
		case errors.Is(err, errOver):
			grace = nil
		case errors.Is(err, errIdle), err == ctx.Err():
			break wait
		default: // a timer's callback threw
			if out.ExitCode == sandbox.ExitOK {
				out = r.threw(ctx, err)
			}
			break wait
		}
	}
	if ctx.Err() != nil && (!timedOut(ctx) || out.ExitCode == sandbox.ExitOK && out.Value == nil && r.continues(time.Time{}, false)) {
		return r.aborted(ctx, ctx.Err()), true
	}
	for c := range r.loop.calls {
		if !c.outlivedMain { // a floating function made it later
			late = append(late, c)
		}
	}
	if !r.failedByCall() { // the other errors of a Promise.all add nothing
		out.Notes = append(out.Notes, slices.Concat(r.lateNotes(late), r.droppedNotes(late), r.timerNotes())...)
	}
	return out, false
}

// failedByCall reports whether main ended with the error of a call.
func (r *runtime) failedByCall() bool {
	if r.main == nil || r.main.State() != goja.PromiseStateRejected {
		return false
	}
	o, ok := r.main.Result().(*goja.Object)
	return ok && r.thrown[o]
}

// lateNotes returns notes on calls that were still running when main ended, one for calls with the
// same outcome.
func (r *runtime) lateNotes(late []*hostCall) []string {
	type fate struct{ name, end string }
	counts := make(map[fate]int)
	for _, c := range late {
		end := "ended"
		if _, open := r.loop.calls[c]; open {
			end = "cancelled"
		} else if c.err != nil {
			end = "failed: " + c.err.Error()
		} else if script.OnlyActs(c.call.Func) {
			continue // the call took effect
		}
		counts[fate{c.name(), end}]++
	}
	var notes []string
	for f, n := range counts {
		notes = append(notes, script.LateNote(n, f.name, f.end))
	}
	slices.Sort(notes)
	return notes
}

// withRejections adds the unhandled rejections: the first becomes the program's error unless it
// has one. Failures of abandoned calls are in the notes already and change nothing.
func (r *runtime) withRejections(ctx context.Context, out Outcome) Outcome {
	for _, p := range r.unhandled {
		reason := p.Result()
		if o, ok := reason.(*goja.Object); p == r.main || ok && r.lateErrors[o] {
			continue
		}
		text, err := r.describe(reason)
		if err != nil {
			return r.aborted(ctx, err)
		}
		if out.ExitCode != sandbox.ExitOK {
			first, _, _ := strings.Cut(text, "\n")
			if !strings.Contains(out.Error, first) {
				out.Notes = append(out.Notes, script.Texts.AlsoUncaught+first)
			}
			continue
		}
		out.ExitCode, out.Value = sandbox.ExitThrew, nil
		out.Error = text + script.Texts.Uncaught
	}
	return out
}

// stuck ends a run in which nothing can happen any more.
func (r *runtime) stuck(ctx context.Context) Outcome {
	out := r.withRejections(ctx, Outcome{})
	if out.ExitCode != sandbox.ExitOK {
		return out
	}
	return Outcome{ExitCode: sandbox.ExitStuck, Error: script.Texts.Stuck}
}

// threw ends a run with an exception outside any promise.
func (r *runtime) threw(ctx context.Context, err error) Outcome {
	if overflow, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		text := "RangeError: maximum call stack size exceeded" + r.frames(overflow.Stack(), 3, shortIndent)
		return Outcome{
			ExitCode: sandbox.ExitThrew,
			Error:    text + "\nhint: a function calls itself without end, or too deeply (try cannot catch this): use a loop",
		}
	}
	text := err.Error()
	if ex, ok := errors.AsType[*goja.Exception](err); ok {
		described, err := r.describe(ex.Value())
		if err != nil {
			return r.aborted(ctx, err)
		}
		text = described
	}
	return Outcome{ExitCode: sandbox.ExitThrew, Error: text}
}

// aborted ends a run after err: the end of its context, or an exception outside any promise.
func (r *runtime) aborted(ctx context.Context, err error) Outcome {
	if why := r.tape.diverged; why != "" {
		return Outcome{ExitCode: sandbox.ExitThrew, Error: why, Diverged: true}
	}
	if ctx.Err() == nil {
		return r.threw(ctx, err)
	}
	if !timedOut(ctx) {
		return Outcome{ExitCode: sandbox.ExitCanceled, Error: "the execution was cancelled" + r.whereabouts(err)}
	}
	limit := "the time limit"
	if deadline, ok := ctx.Deadline(); ok && deadline.After(r.start) {
		limit = "time limit of " + seconds(deadline.Sub(r.start))
	}
	return Outcome{
		ExitCode: sandbox.ExitTimeout,
		Error: limit + " reached" + r.whereabouts(err) +
			"\nhint: give a longer timeout, make calls at the same time with Promise.all, or do less in one run",
	}
}

// whereabouts describes what the program was doing when it was aborted.
func (r *runtime) whereabouts(err error) string {
	if stopped, ok := errors.AsType[*goja.InterruptedError](err); ok {
		if frames := r.frames(stopped.Stack(), 1, shortIndent); frames != "" {
			return " " + strings.TrimSpace(frames)
		}
	}
	names := make(map[string]bool)
	for c := range r.loop.calls {
		names[c.name()] = true
	}
	if list := slices.Sorted(maps.Keys(names)); len(list) > 0 {
		more := ""
		if len(list) > 3 {
			list, more = list[:3], fmt.Sprintf(" and %d more", len(list)-3)
		}
		return " while waiting for " + strings.Join(list, ", ") + more
	}
	if len(r.loop.timers) > 0 {
		return " while waiting for a timer"
	}
	return ""
}

func timedOut(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// seconds formats a limit as it was given, although it began shortly before the run.
func seconds(d time.Duration) string {
	unit := time.Second
	if d < 2*time.Second {
		unit = 10 * time.Millisecond
	}
	s := fmt.Sprintf("%.2f", d.Round(unit).Seconds())
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + " s"
}
