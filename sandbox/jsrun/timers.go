package jsrun

import (
	"math"
	"time"

	"github.com/dop251/goja"
)

// maxDelay is the longest delay of a timer; no run lasts as long.
const maxDelay = 24 * time.Hour

// defineTimers defines setTimeout, its relatives and queueMicrotask.
func (r *runtime) defineTimers() {
	r.define("setTimeout", r.setTimer("setTimeout", false, 2))
	r.define("setInterval", r.setTimer("setInterval", true, 2))
	r.define("setImmediate", r.setTimer("setImmediate", false, 1))
	clear := func(c goja.FunctionCall) goja.Value {
		if id := c.Argument(0); !goja.IsUndefined(id) && !goja.IsNull(id) {
			r.loop.removeTimer(id.ToInteger())
		}
		return goja.Undefined()
	}
	for _, name := range []string{"clearTimeout", "clearInterval", "clearImmediate"} {
		r.define(name, clear)
	}
	resolved, resolve, _ := r.vm.NewPromise()
	_ = resolve(goja.Undefined())
	then, _ := goja.AssertFunction(r.vm.ToValue(resolved).(*goja.Object).Get("then"))
	r.defineMethod(r.vm.GlobalObject(), "queueMicrotask", 1, func(c goja.FunctionCall) goja.Value {
		f, ok := goja.AssertFunction(c.Argument(0))
		if !ok {
			panic(r.vm.NewTypeError("queueMicrotask: the argument must be a function"))
		}
		r.callMethod(r.vm.ToValue(resolved), then, r.vm.ToValue(func(goja.FunctionCall) goja.Value {
			r.callOrThrow(f)
			return goja.Undefined()
		}))
		return goja.Undefined()
	})
}

// setTimer returns the function for a kind of timer; extra is the index of the first argument for
// the callback.
func (r *runtime) setTimer(name string, repeat bool, extra int) func(goja.FunctionCall) goja.Value {
	return func(c goja.FunctionCall) goja.Value {
		f, ok := goja.AssertFunction(c.Argument(0))
		if !ok {
			panic(r.vm.NewTypeError("%s: the first argument must be a function", name))
		}
		t := &timer{f: f}
		if len(c.Arguments) > extra {
			t.args = append(t.args, c.Arguments[extra:]...)
		}
		var delay time.Duration
		if extra == 2 {
			delay = milliseconds(c.Argument(1))
		}
		if repeat {
			t.every = max(delay, time.Millisecond)
		}
		r.loop.addTimer(t, delay)
		return r.vm.ToValue(t.id)
	}
}

// milliseconds reads a delay like browsers: values other than numbers are 0.
func milliseconds(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if math.IsNaN(ms) || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, float64(maxDelay/time.Millisecond)) * float64(time.Millisecond))
}
