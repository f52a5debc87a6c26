package jsrun

import "github.com/dop251/goja"

// A racer is a promise that was passed to Promise.race or Promise.any, and the promise from which
// then, catch or finally created it, or the promise itself.
type racer struct{ promise, origin *goja.Promise }

// raced records a racer.
func (r *runtime) raced(c goja.FunctionCall) goja.Value {
	p, ok := c.Argument(0).Export().(*goja.Promise)
	origin, made := c.Argument(1).Export().(*goja.Promise)
	if ok && made && p.State() == goja.PromiseStatePending {
		r.racers = append(r.racers, racer{p, origin})
	}
	return goja.Undefined()
}

// noteLost finds the calls in progress that no code waits for any more because they have lost a
// race. A promise of an async function, or of Promise.all, may have lost too, and does not reveal
// its calls; then all calls count except those that are statements. It assumes that as many of
// these promises as there are timers wait for a timer.
func (r *runtime) noteLost() {
	unknown := 0
	for _, x := range r.racers {
		if x.promise.State() != goja.PromiseStatePending {
			continue
		}
		if c := r.loop.callOf(x.origin); c != nil {
			c.lostRace = true
		} else {
			unknown++
		}
	}
	r.lostTimers = min(unknown, len(r.loop.timers))
	for c := range r.loop.calls {
		c.lostRace = c.lostRace || unknown > r.lostTimers && !c.isStatement
	}
}

// awaitsCalls reports whether a call is in progress that has not lost a race.
func (r *runtime) awaitsCalls() bool {
	for c := range r.loop.calls {
		if !c.lostRace {
			return true
		}
	}
	return false
}
