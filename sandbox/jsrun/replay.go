package jsrun

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A replay repeats the recorded part of a run. Calls get the recorded answers, in the recorded
// order, and timers fire at their recorded positions; no call is sent before all recorded calls
// were made.
type replay struct {
	calls []sandbox.Recorded
	steps []int64
	moves []int64
	made  map[int]*hostCall // without an answer yet
}

func newReplay(j *sandbox.Journal) *replay {
	p := &replay{calls: j.Calls, made: make(map[int]*hostCall)}
	for _, c := range j.Calls {
		steps, moves := readSteps(c.Steps)
		p.steps, p.moves = append(p.steps, steps...), append(p.moves, moves...)
	}
	return p
}

// errDiverged ends a program that behaves differently from its record.
var errDiverged = errors.New("the program diverged")

// number assigns a call its number in the journal, and reports whether the call is to be sent.
func (r *runtime) number(c *hostCall) bool {
	t := &r.tape
	if t.journal == nil {
		return true
	}
	n := t.calls + 1
	if t.replay != nil {
		switch why := t.replay.differs(n, c.call); {
		case why == "":
			c.call.Seq, t.calls = n, n
			t.steps, t.moves = t.steps[:0], t.moves[:0] // they are recorded already
			t.replay.made[n] = c
			return false
		case !t.journal.Lenient && (n <= len(t.replay.calls) || len(t.replay.steps) > 0):
			r.diverge(why)
			return false
		}
		r.endReplay()
	}
	t.calls = n
	c.call.Seq, c.call.Steps = n, t.takeRecord()
	return true
}

// differs describes how a call differs from the recorded one.
func (p *replay) differs(n int, c sandbox.Call) string {
	if n > len(p.calls) {
		return fmt.Sprintf("call %d, of %s, is made earlier than it was", n, callName(c.Func, c.Target))
	}
	was := p.calls[n-1]
	switch {
	case was.Func != c.Func || was.Target != c.Target && was.Target != sandbox.ShownTarget(c.Target): // older journals have the shown target
		return fmt.Sprintf("call %d was %s, and is %s now", n, callName(was.Func, was.Target), callName(c.Func, c.Target))
	case was.Args != sandbox.HashArgs(c.Args):
		return fmt.Sprintf("call %d, of %s, has other arguments than it had: %s", n, callName(c.Func, c.Target), gate.Cut(string(c.Args), maxQuoted))
	}
	return ""
}

// maxQuoted bounds a text in a message.
const maxQuoted = 300

func callName(f, target string) string {
	c := hostCall{call: sandbox.Call{Func: f, Target: target}}
	return gate.Cut(c.name(), maxQuoted)
}

// diverge ends the program.
func (r *runtime) diverge(why string) {
	if r.tape.diverged == "" {
		r.tape.diverged = "the script does not do what it did before: " + why + "\nhint: nothing new was called; resume with the code as it was, or give the new code with resume to go on from its writes"
		r.vm.Interrupt(errDiverged)
	}
}

// repeat is a turn of the loop during a replay: it performs the next recorded step.
func (r *runtime) repeat() error {
	t, p := &r.tape, r.tape.replay
	if t.diverged != "" {
		return errDiverged
	}
	why := ""
	if len(p.steps) == 0 {
		if t.calls == len(p.calls) || t.journal.Lenient {
			r.endReplay()
			return nil
		}
		was := p.calls[t.calls]
		why = fmt.Sprintf("call %d, of %s, is not made any more", t.calls+1, callName(was.Func, was.Target))
	} else if id := p.steps[0]; id > 0 {
		if c := p.made[int(id)]; c != nil && p.calls[id-1].Answered > 0 {
			p.steps = p.steps[1:]
			return r.deliver(p.answer(c))
		}
		why = fmt.Sprintf("call %d is not made any more by the time of its answer", id)
	} else if timer := r.loop.byID[-id]; timer != nil {
		p.steps = p.steps[1:]
		return r.fire(r.loop.takeTimer(timer, time.Now()))
	} else {
		why = fmt.Sprintf("its timer %d is not set any more", -id)
	}
	if t.journal.Lenient {
		r.endReplay()
		return nil
	}
	r.diverge(why)
	return errDiverged
}

// answer returns the recorded answer of a call.
func (p *replay) answer(c *hostCall) answer {
	n := c.call.Seq
	delete(p.made, n)
	was := p.calls[n-1]
	if was.Error == nil {
		return answer{c, was.Value, nil}
	}
	if was.Error.Name == "" {
		return answer{c, nil, errors.New(was.Error.Message)}
	}
	return answer{c, nil, was.Error}
}

// endReplay ends a replay: remaining answers are delivered in their order, and calls without one are
// sent.
func (r *runtime) endReplay() {
	t, p := &r.tape, r.tape.replay
	t.replay = nil
	if h, ok := r.host.(interface{ Replayed(int) }); ok {
		h.Replayed(t.calls)
	}
	var answered, open []*hostCall
	for n, c := range p.made {
		if p.calls[n-1].Answered > 0 {
			answered = append(answered, c)
		} else {
			open = append(open, c)
		}
	}
	slices.SortFunc(answered, func(a, b *hostCall) int {
		return p.calls[a.call.Seq-1].Answered - p.calls[b.call.Seq-1].Answered
	})
	for _, c := range answered {
		r.loop.mailbox.put(p.answer(c))
	}
	slices.SortFunc(open, func(a, b *hostCall) int { return a.call.Seq - b.call.Seq })
	for _, c := range open {
		r.send(c)
	}
}

const (
	// nearTimer is the longest wait for a timer that may make a call which can be decided about
	// together with the withheld ones, and nearTimers the longest wait for all such timers.
	nearTimer  = time.Second
	nearTimers = 2 * time.Second
)

func (r *runtime) withhold(c *hostCall) {
	c.withheld = true
	if r.tape.withheld.IsZero() {
		r.tape.withheld = time.Now()
	}
}

// onlyWithheld reports whether the program waits only for withheld calls, and timers that may
// wait.
func (r *runtime) onlyWithheld() bool {
	if r.tape.withheld.IsZero() || len(r.loop.calls) == 0 {
		return false
	}
	for c := range r.loop.calls {
		if !c.withheld {
			return false
		}
	}
	return time.Since(r.tape.withheld) > nearTimers || len(r.loop.timers) == 0 || time.Until(r.loop.timers[0].due) > nearTimer
}
