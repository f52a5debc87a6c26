package jsrun

import (
	"time"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// float records the value of a statement, which is the number of a timer if the second argument is
// true.
func (r *runtime) float(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if o, ok := v.(*goja.Object); ok {
		if o.ExportType() == promiseType {
			p := o.Export().(*goja.Promise)
			if c := r.loop.callOf(p); c != nil {
				c.isStatement = true
			} else if p.State() == goja.PromiseStatePending {
				r.floating = append(r.floating, p)
			}
		}
	} else if id, ok := v.Export().(int64); ok && c.Argument(1).ToBoolean() {
		if t := r.loop.byID[id]; t != nil {
			t.floating = true
		}
	}
	return v
}

// continues reports whether something that a statement started is still running and can continue,
// before the deadline if limited is set.
func (r *runtime) continues(deadline time.Time, limited bool) bool {
	for _, t := range r.loop.timers {
		if t.floating && t.every == 0 && (!limited || t.due.Before(deadline)) {
			return true
		}
	}
	if len(r.loop.calls) == 0 && len(r.loop.timers) == 0 {
		return false
	}
	for _, p := range r.floating {
		if p.State() == goja.PromiseStatePending {
			return true
		}
	}
	return false
}

// timerNotes returns notes on timers of statements that did not finish.
func (r *runtime) timerNotes() []string {
	var intervals, timeouts int
	for _, t := range r.loop.timers {
		switch {
		case t.floating && t.every > 0:
			intervals++
		case t.floating:
			timeouts++
		}
	}
	return script.TimerNotes(intervals, timeouts)
}
