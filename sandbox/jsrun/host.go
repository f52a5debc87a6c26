package jsrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// read converts the arguments of a host function to a call and its argument, which may be
// undefined.
func (r *runtime) read(f script.Function, args []goja.Value) (c sandbox.Call, arg goja.Value, err error) {
	text := func(i int) string {
		if v := argument(args, i); goja.IsString(v) {
			return v.String()
		}
		return ""
	}
	c = sandbox.Call{Func: f.Call, Target: text(0)}
	switch f.Takes {
	case script.TakesTool:
		if c.Target == "" {
			return c, nil, errors.New("callMCPTool: the first argument must be a tool id, as in " + f.Example)
		}
		args = args[1:]
		if len(args) > 0 && goja.IsString(args[0]) { // (server, tool, args)
			c.Target, args = sandbox.JoinTarget(c.Target, text(0)), args[1:]
		}
		if o, ok := argument(args, 1).(*goja.Object); ok && o.Get("again") != nil && o.Get("again").ToBoolean() {
			c.Func = sandbox.FuncAgain
		}
		err = fmt.Errorf("callMCPTool: the arguments of %s must be an object", sandbox.ShownTarget(c.Target))
	case script.TakesKey:
		if c.Target == "" {
			return c, nil, fmt.Errorf("the key must be a text that is not empty, as in %s", f.Example)
		}
		return c, argument(args, 1), nil
	case script.TakesTexts:
		if c.Target == "" || text(1) == "" {
			return c, nil, errors.New("use it as in " + f.Example)
		}
		list := make([]any, len(args)-1)
		for i, v := range args[1:] {
			list[i] = v
		}
		return c, r.vm.NewArray(list...), nil
	case script.TakesNothing:
		return sandbox.Call{Func: f.Call}, goja.Undefined(), nil
	case script.TakesText:
		if len(args) > 0 && goja.IsString(args[0]) {
			args = args[1:]
		}
		err = errors.New("use it as in " + f.Example)
	}
	if arg = argument(args, 0); goja.IsNull(arg) || goja.IsUndefined(arg) {
		return c, goja.Undefined(), nil
	}
	if _, ok := arg.(*goja.Object); ok {
		err = nil
	}
	return c, arg, err
}

// maxCallFrames bounds the stored frames of a call, including those of this package and of
// wrappers.
const maxCallFrames = 16

// A hostCall is a host call in progress.
type hostCall struct {
	call         sandbox.Call
	promise      *goja.Promise
	resolve      func(any) error
	reject       func(any) error
	stack        []goja.StackFrame // of the call in the program
	outlivedMain bool              // main ended before it did
	isStatement  bool              // it is a statement of the program by itself
	lostRace     bool              // it has lost a race

	withheld bool  // it gets no answer in this run
	err      error // its result, if it failed
}

// name returns the name of the call in notes.
func (c *hostCall) name() string {
	if c.call.CallsTool() && c.call.Target != "" {
		return sandbox.ShownTarget(c.call.Target)
	}
	return c.call.Func
}

func (r *runtime) defineHost() {
	for _, f := range script.Functions {
		on := r.vm.GlobalObject()
		if f.Object != "" {
			if o, ok := on.Get(f.Object).(*goja.Object); ok {
				on = o
			} else {
				o := r.vm.NewObject()
				r.defineValue(on, f.Object, o)
				on = o
			}
		}
		r.defineValue(on, f.Name, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			return r.startCall(f, c.Arguments)
		}))
	}
}

// startCall starts a host call and returns its promise. Wrong arguments reject it, like any other
// error.
func (r *runtime) startCall(f script.Function, args []goja.Value) goja.Value {
	promise, resolve, reject := r.vm.NewPromise()
	c := &hostCall{promise: promise, resolve: resolve, reject: reject, stack: r.vm.CaptureCallStack(maxCallFrames, nil)}
	call, arg, err := r.read(f, args)
	if c.call = call; err == nil {
		c.call.Args, err = r.toJSON(arg)
	}
	if err != nil {
		if isEnd(err) {
			panic(err)
		}
		r.rejectCall(c, err)
		return r.vm.ToValue(promise)
	}
	if call.CallsTool() {
		c.call.Line = r.lineOf(c.stack)
		r.watchCalls()
	}
	if h, ok := r.host.(refuser); ok && r.tape.journal != nil {
		if err := h.Refuse(c.call); err != nil {
			r.rejectCall(c, err)
			return r.vm.ToValue(promise)
		}
	}
	r.loop.calls[c] = struct{}{}
	if r.number(c) {
		r.send(c)
	}
	return r.vm.ToValue(promise)
}

// lineOf returns the line of the innermost frame in the program, or 0.
func (r *runtime) lineOf(stack []goja.StackFrame) int {
	for _, f := range stack {
		if p := f.Position(); p.Filename == r.script.File {
			return p.Line
		}
	}
	return 0
}

// A refuser is a Host that can refuse calls immediately.
type refuser interface {
	Refuse(sandbox.Call) error
}

// send passes a call to the host.
func (r *runtime) send(c *hostCall) {
	var once sync.Once
	r.host.Call(c.call, func(value json.RawMessage, err error) {
		if err == sandbox.ErrWithheld {
			r.loop.mailbox.put(answer{c, nil, err})
			return
		}
		once.Do(func() { r.loop.mailbox.put(answer{c, value, err}) })
	})
}

// deliver settles the promise of a call. An error ends the run.
func (r *runtime) deliver(a answer) error {
	if a.err == sandbox.ErrWithheld {
		r.withhold(a.call)
		return nil
	}
	r.tape.step(int64(a.call.call.Seq))
	delete(r.loop.calls, a.call)
	a.call.err = a.err
	if a.err != nil {
		return r.rejectCall(a.call, a.err)
	}
	if a.value == nil {
		return a.call.resolve(goja.Undefined())
	}
	v, err := fromJSON(r.vm, string(a.value))
	if err != nil {
		a.call.err = fmt.Errorf("%s answered with invalid JSON: %w", a.call.name(), err)
		return r.rejectCall(a.call, a.call.err)
	}
	if shape := r.shapeOf(a.call.call.Target, len(a.value)); shape != nil {
		r.watch(v, shape, a.call.call.Target)
	} else if a.call.call.Func == "call" {
		r.glimpse(v, a.call.call.Target, len(a.value))
	}
	if a.call.call.Func == "call" {
		r.watchWhole(v, a.call.call.Target, len(a.value))
	}
	if len(a.value) <= maxShaped && bytes.Contains(a.value, []byte(mediaMark)) {
		r.watchMedia(v, a.call.call.Target)
	}
	return a.call.resolve(v)
}

// rejectCall throws err in the program.
func (r *runtime) rejectCall(c *hostCall, err error) error {
	if thrown, ok := errors.AsType[*goja.Exception](err); ok { // of the program itself, for example from a getter
		return c.reject(thrown.Value())
	}
	name, message, fields := "", err.Error(), r.vm.NewObject()
	if callErr, ok := errors.AsType[*sandbox.CallError](err); ok {
		name, message = callErr.Name, callErr.Message
		if v, err := fromJSON(r.vm, string(callErr.Fields)); err == nil {
			if o, ok := v.(*goja.Object); ok {
				fields = o
			}
		}
	}
	v, failed := r.newError(name, message, fields, r.frames(c.stack, maxTrace, traceIndent))
	if failed != nil {
		return failed
	}
	r.thrown[v] = true
	if c.outlivedMain {
		r.lateErrors[v] = true
	}
	return c.reject(v)
}

// newError returns the error of a failed call.
func (r *runtime) newError(name, message string, fields *goja.Object, trace string) (*goja.Object, error) {
	class := r.classes["Error"]
	if name == "ToolError" {
		class = r.toolError
	}
	o, err := r.vm.New(class, r.vm.ToValue(message))
	if err != nil {
		return nil, err
	}
	if name != "" && name != "ToolError" {
		r.defineValue(o, "name", r.vm.ToValue(name))
	}
	for _, key := range fields.Keys() {
		_ = o.DefineDataProperty(key, fields.Get(key), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	r.defineValue(o, "stack", r.vm.ToValue(stringOr(o.Get("name"), "Error")+": "+message+trace))
	return o, nil
}

// toJSON returns a value of the program as JSON, or nil for undefined and values without a JSON
// form.
func (r *runtime) toJSON(v goja.Value) (json.RawMessage, error) {
	if v == nil || goja.IsUndefined(v) {
		return nil, nil
	}
	s, err := r.stringify(goja.Undefined(), v)
	if err != nil || goja.IsUndefined(s) {
		return nil, err
	}
	return json.RawMessage(s.String()), nil
}

// resultJSON is like toJSON, for a result: it includes the content of a Map, a Set, an Error and
// the like.
func (r *runtime) resultJSON(v goja.Value) (json.RawMessage, error) {
	if _, ok := v.(*goja.Object); !ok || len(r.loop.calls) == 0 && !r.script.MakesObjects() {
		return r.toJSON(v)
	}
	var write goja.Callable
	if err := r.guard(func() { write, _ = goja.AssertFunction(r.load("plain")) }); err != nil {
		if isEnd(err) {
			return nil, err
		}
		return r.toJSON(v) // the program replaced globals that resultJSON uses
	}
	var text goja.Value
	err := r.guard(func() {
		stringify := r.vm.ToValue(func(c goja.FunctionCall) goja.Value { return r.callOrThrow(r.stringify, c.Argument(0)) })
		text = r.callOrThrow(write, stringify, v, r.vm.ToValue(r.script.HasGetters()))
	})
	if err != nil || goja.IsUndefined(text) {
		return nil, err
	}
	return json.RawMessage(text.String()), nil
}

// isEnd reports whether err ends the run: an interrupt or a stack overflow, which programs cannot
// catch.
func isEnd(err error) bool {
	_, interrupted := errors.AsType[*goja.InterruptedError](err)
	_, overflow := errors.AsType[*goja.StackOverflowError](err)
	return interrupted || overflow
}
