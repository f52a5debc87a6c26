package jsrun

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/amend"
)

// maxCallStack is the depth of calls at which a run ends, which programs cannot catch. Where
// built-ins call back at every level, unwinding 4,000 levels takes half a second, and 10,000
// several.
const maxCallStack = 4000

// toolErrorProgram defines the only class that every program needs and that is simpler in
// JavaScript. The engine's parser and compiler cost most of a start, so other definitions are in
// Go, or in lib for the programs that use them.
var toolErrorProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile("broker:errors", "(class ToolError extends Error {})", true)
})

// A runtime is one run: a goja runtime, its loop and the saved intrinsics. It belongs to the
// goroutine of Run.
type runtime struct {
	vm     *goja.Runtime
	host   Host
	prog   Program
	script *prepared
	hints  map[string]string // for undefined names
	start  time.Time
	loop   loop
	tape   tape

	main     *goja.Promise
	printed  bool            // the program wrote to stdout
	floating []*goja.Promise // of statements that do not await them
	racers   []racer         // promises that took part in a race while they were pending
	// lostTimers is the number of timers in races that something else has won.
	lostTimers int
	unhandled  []*goja.Promise         // rejected and not handled yet
	lateErrors map[*goja.Object]bool   // errors of calls that main did not await
	thrown     map[*goja.Object]bool   // errors of calls
	advice     map[*goja.Object]string // hints of errors, by error
	groups     int                     // open console.group calls
	counts     map[string]int          // console.count
	clocks     map[string]time.Time    // console.time
	libs       map[string]*goja.Object
	collators  map[string]*collator

	reads     reads
	toolError *goja.Object
	add       goja.Callable // implements +
	joins     [maxJoins]joined
	nextJoin  int
	ownKeys   goja.Callable // returns the enumerable keys of an object
	stringify goja.Callable // the engine's JSON.stringify

	classes           map[string]*goja.Object // of errors
	iteratorPrototype *goja.Object
	mapClass          *goja.Object
	setClass          *goja.Object
}

// newRuntime returns a runtime without a program; Run sets its fields.
func newRuntime() *runtime {
	r := &runtime{
		vm:         goja.New(),
		loop:       newLoop(),
		lateErrors: make(map[*goja.Object]bool),
		thrown:     make(map[*goja.Object]bool),
		counts:     make(map[string]int),
		clocks:     make(map[string]time.Time),
		libs:       make(map[string]*goja.Object),
		collators:  make(map[string]*collator),
		classes:    make(map[string]*goja.Object),
	}
	r.vm.SetMaxCallStackSize(maxCallStack)
	r.vm.SetTimeSource(r.tape.now)
	r.vm.SetRandSource(r.tape.float)
	// A comment about a source map in the text would make goja read that file.
	r.vm.SetParserOptions(parser.WithDisableSourceMaps)
	r.vm.SetPromiseRejectionTracker(r.trackRejection)
	return r
}

// run runs the program to its end.
func (r *runtime) run(ctx context.Context) Outcome {
	stop := context.AfterFunc(ctx, func() { r.vm.Interrupt(context.Cause(ctx)) })
	defer stop()
	defer r.loop.mailbox.close()
	if err := ctx.Err(); err != nil { // the interrupt comes slightly later
		return r.aborted(ctx, err)
	}
	if err := r.begin(); err != nil {
		return r.aborted(ctx, err)
	}
	for r.main != nil && r.main.State() == goja.PromiseStatePending {
		switch err := r.turn(ctx, nil); err {
		case nil:
		case errIdle:
			return r.stuck(ctx)
		case errWithheld:
			return Outcome{ExitCode: sandbox.ExitApproval}
		default:
			return r.aborted(ctx, err)
		}
	}
	return r.settled(ctx)
}

// begin starts the program; it returns when the program first awaits something.
func (r *runtime) begin() error {
	v, err := r.vm.RunProgram(r.script.program)
	if err != nil {
		return err
	}
	enter, _ := goja.AssertFunction(v)
	var main goja.Callable
	keep := r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		main, _ = goja.AssertFunction(c.Argument(0))
		return goja.Undefined()
	})
	if err := r.guard(r.defineNamed); err != nil {
		return err
	}
	queue := goja.Undefined()
	if r.script.needs.Queues {
		queue = r.load("queue").Get("queue")
	}
	if _, err := enter(goja.Undefined(), keep, r.vm.Get("callMCPTool"), r.toolError, r.vm.ToValue(r.absent), r.vm.ToValue(r.float), r.vm.ToValue(r.caught), queue, r.vm.ToValue(r.evaluated), r.vm.ToValue(r.join)); err != nil {
		return err
	}
	if v, err = main(goja.Undefined()); err != nil {
		return err
	}
	r.main, _ = v.Export().(*goja.Promise)
	return nil
}

// evaluated returns the text that eval or Function was given, which goja parses itself, and throws
// if goja would parse it differently.
func (r *runtime) evaluated(c goja.FunctionCall) goja.Value {
	if amend.Chained(c.Argument(0).String()) {
		panic(r.failure("SyntaxError", "a < b < c compares the result of a comparison, which is not supported in eval and Function: write a < b && b < c"))
	}
	return c.Argument(0)
}

// defineNamed defines improved built-ins if the program names them: they would slow down every
// other run.
func (r *runtime) defineNamed() {
	need := r.script.needs
	if need.RegExp {
		r.defineValue(r.vm.GlobalObject(), "RegExp", r.load("regexp").Get("RegExp"))
	}
	if need.Message || need.Stack || need.Races {
		r.load("promises")
	}
	if r.script.Names["Date"] {
		r.load("dates")
	}
	if r.script.Names["Number"] {
		r.defineValue(r.vm.GlobalObject(), "Number", r.load("number").Get("Number"))
	}
	if strings.Contains(r.script.Code, "ocale") {
		r.defineLocale()
	}
	if strings.Contains(r.script.Code, "Array.from") && r.namesTyped() {
		r.load("typed")
	}
}

// namesTyped reports whether the program names Uint8Array or another typed array.
func (r *runtime) namesTyped() bool {
	for name := range r.script.Names {
		if strings.HasSuffix(name, "Array") && name != "Array" {
			return true
		}
	}
	return false
}

// setUp defines everything that exists before the program.
func (r *runtime) setUp() error {
	global := r.vm.GlobalObject()
	for _, name := range []string{"Error", "TypeError", "RangeError", "SyntaxError"} {
		r.classes[name] = global.Get(name).(*goja.Object)
	}
	r.mapClass, r.setClass = global.Get("Map").(*goja.Object), global.Get("Set").(*goja.Object)
	class, err := r.vm.RunProgram(toolErrorProgram())
	if err != nil {
		return err
	}
	r.toolError = class.(*goja.Object)
	r.defineValue(r.toolError.Get("prototype").(*goja.Object), "name", r.vm.ToValue("ToolError"))
	r.defineValue(global, "ToolError", r.toolError)
	list := r.vm.NewArray()
	iterate, _ := goja.AssertFunction(list.GetSymbol(goja.SymIterator))
	steps, err := iterate(list)
	if err != nil {
		return err
	}
	r.iteratorPrototype = steps.(*goja.Object).Prototype().Prototype()
	r.ownKeys, r.add = r.core("own"), r.core("add")
	r.defineStringify()
	r.defineShift()
	r.defineParse()
	r.defineErrors()
	r.defineTimers()
	r.defineConsole()
	r.defineLibs()
	r.defineHost()
	return nil
}

// core returns a function of the file "core" of lib, which is loaded on the first call.
func (r *runtime) core(name string) goja.Callable {
	var f goja.Callable
	return func(this goja.Value, args ...goja.Value) (goja.Value, error) {
		if f == nil {
			if err := r.guard(func() { f, _ = goja.AssertFunction(r.load("core").Get(name)) }); err != nil {
				return nil, err
			}
		}
		return f(this, args...)
	}
}

// define defines f as a global that programs may replace and that is not enumerable.
func (r *runtime) define(name string, f func(goja.FunctionCall) goja.Value) {
	r.defineValue(r.vm.GlobalObject(), name, r.vm.ToValue(f))
}

// defineMethod defines a method of o with the name and the length of other engines.
func (r *runtime) defineMethod(o *goja.Object, name string, length int, f func(goja.FunctionCall) goja.Value) {
	method := r.vm.ToValue(f).(*goja.Object)
	_ = method.DefineDataProperty("name", r.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = method.DefineDataProperty("length", r.vm.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	r.defineValue(o, name, method)
}

func (r *runtime) defineValue(o *goja.Object, name string, v goja.Value) {
	// A fresh global object accepts every property.
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// callOrThrow calls a function, and throws its exception.
func (r *runtime) callOrThrow(f goja.Callable, args ...goja.Value) goja.Value {
	return r.callMethod(goja.Undefined(), f, args...)
}

// callMethod calls a method, and throws its exception.
func (r *runtime) callMethod(this goja.Value, f goja.Callable, args ...goja.Value) goja.Value {
	v, err := f(this, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// guard calls f and returns exceptions and the end of the run as errors. f may touch
// values of the program, which may have getters and proxies that run code.
func (r *runtime) guard(f func()) error {
	g, _ := goja.AssertFunction(r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		f()
		return goja.Undefined()
	}))
	_, err := g(goja.Undefined())
	return err
}

// trackRejection records unhandled rejected promises. The end of the run decides
// whether one counts, since a promise may be awaited after its rejection.
func (r *runtime) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		r.unhandled = append(r.unhandled, p)
		return
	}
	r.unhandled = slices.DeleteFunc(r.unhandled, func(q *goja.Promise) bool { return p == q })
}
