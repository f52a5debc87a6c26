package jsrun

import (
	"context"
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// maxCallStack is the depth of calls at which a run ends: goja lets no program
// catch that. Where built-ins call back at every level, going back from 4,000
// takes half a second, and from 10,000 several.
const maxCallStack = 4000

//go:embed prelude.js
var preludeSource string

// preludeFile is the name that traces give to it. Its frames are cut.
const preludeFile = "broker:prelude"

var preludeProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile(preludeFile, preludeSource, true)
})

// A runtime is one run: a goja runtime, its loop and what it keeps of the
// intrinsics. It belongs to the goroutine of Run.
type runtime struct {
	vm     *goja.Runtime
	host   Host
	prog   Program
	script *script
	hints  map[string]string // for names that are not defined
	start  time.Time
	loop   loop

	main      *goja.Promise
	printed   bool                  // something went to stdout
	floating  []*goja.Promise       // of statements that nobody awaits
	unhandled []*goja.Promise       // rejected, and nobody has looked yet
	late      map[*goja.Object]bool // errors of calls that main had left behind
	thrown    map[*goja.Object]bool // errors of calls
	groups    int                   // open console.group calls
	counts    map[string]int        // console.count
	clocks    map[string]time.Time  // console.time
	libs      map[string]*goja.Object
	also      map[string]bool // globals of the engine that the program will run in
	collators map[string]*collator
	regexps   regexps

	reads     reads
	toolError *goja.Object
	add       goja.Callable // +
	joins     [maxJoins]joined
	nextJoin  int
	member    memberFuncs
	inFront   roomInFront
	toList    goja.Callable // [...value]
	newError  goja.Callable // name, message, fields, trace
	ownKeys   goja.Callable // own, of the prelude
	stringify goja.Callable

	classes           *goja.Object // of errors, by name
	iteratorPrototype *goja.Object
	arraySteps        *goja.Object // the prototype of what goes through an array
	arrayIterator     goja.Value   // what an array has to be gone through, and
	arrayNext         goja.Value   // what those have to go on
	mapClass          *goja.Object
	setClass          *goja.Object
}

// newRuntime returns a runtime without its program, whose fields Run fills in.
func newRuntime() *runtime {
	r := &runtime{
		vm:        goja.New(),
		loop:      newLoop(),
		late:      make(map[*goja.Object]bool),
		thrown:    make(map[*goja.Object]bool),
		counts:    make(map[string]int),
		clocks:    make(map[string]time.Time),
		libs:      make(map[string]*goja.Object),
		collators: make(map[string]*collator),
	}
	r.vm.SetMaxCallStackSize(maxCallStack)
	// Source text that names a source map would make goja read that file.
	r.vm.SetParserOptions(parser.WithDisableSourceMaps)
	r.vm.SetPromiseRejectionTracker(r.trackRejection)
	return r
}

// run runs the program to its end.
func (r *runtime) run(ctx context.Context) Outcome {
	stop := context.AfterFunc(ctx, func() { r.vm.Interrupt(context.Cause(ctx)) })
	defer stop()
	defer r.loop.mailbox.close()
	if err := ctx.Err(); err != nil { // the interrupt comes a moment later
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
		default:
			return r.aborted(ctx, err)
		}
	}
	return r.settled(ctx)
}

// begin starts the program; it returns when the program awaits something for
// the first time.
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
	if _, err := enter(goja.Undefined(), keep, r.vm.Get("callMCPTool"), r.toolError, r.vm.ToValue(r.join), r.vm.ToValue(r.absent), r.vm.ToValue(r.float), r.vm.ToValue(r.mended(r.mendMessage)), r.vm.ToValue(r.mended(r.mendStack)), r.vm.ToValue(r.spread), r.vm.ToValue(r.list), r.vm.ToValue(r.at), r.vm.ToValue(r.put), r.vm.ToValue(r.fill), r.vm.ToValue(r.concat)); err != nil {
		return err
	}
	if v, err = main(goja.Undefined()); err != nil {
		return err
	}
	r.main, _ = v.Export().(*goja.Promise)
	return nil
}

// defineNamed makes better built-ins where the program names them: they would
// cost every run that does not.
func (r *runtime) defineNamed() {
	if r.script.regexes || r.script.source.searchesEmpty() {
		r.defineRegExp()
	}
	text := r.script.source.text
	if strings.Contains(text, "getOwnProperty") || strings.Contains(text, "ownKeys") {
		r.load("reflect")
	}
	if r.script.source.names["Date"] {
		r.load("dates")
	}
	if r.script.source.names["Number"] {
		r.defineValue(r.vm.GlobalObject(), "Number", r.load("number").Get("Number"))
	}
	if strings.Contains(text, "ocale") {
		r.defineLocale()
	}
	if strings.Contains(text, "Array.from") && typedFrom().MatchString(text) {
		r.load("typed")
	}
}

// setUp makes everything that is there before the program is.
func (r *runtime) setUp() error {
	var kept *goja.Object
	if err := r.runPart(preludeProgram(), r.vm.ToValue(r.mendedAll), &kept); err != nil {
		return err
	}
	r.toolError = kept.Get("ToolError").(*goja.Object)
	r.add, _ = goja.AssertFunction(kept.Get("add"))
	for name, f := range map[string]*goja.Callable{"fill": &r.member.fill, "concat": &r.member.concat, "key": &r.member.key, "get": &r.member.get, "set": &r.member.set} {
		*f, _ = goja.AssertFunction(kept.Get(name))
	}
	r.toList, _ = goja.AssertFunction(kept.Get("toList"))
	r.arraySteps = kept.Get("steps").(*goja.Object)
	r.newError, _ = goja.AssertFunction(kept.Get("newError"))
	r.ownKeys, _ = goja.AssertFunction(kept.Get("own"))
	r.stringify, _ = goja.AssertFunction(kept.Get("stringify"))
	r.classes = kept.Get("classes").(*goja.Object)
	r.iteratorPrototype = kept.Get("iterator").(*goja.Object)
	r.mapClass, r.setClass = kept.Get("Map").(*goja.Object), kept.Get("Set").(*goja.Object)
	r.defineParse()
	r.defineErrors()
	r.defineArrays()
	r.defineTimers()
	r.defineConsole()
	r.defineLibs()
	r.defineHost()
	return nil
}

// runPart runs one of our own scripts, which is a function, and keeps what it
// returns.
func (r *runtime) runPart(p *goja.Program, arg goja.Value, result **goja.Object) error {
	v, err := r.vm.RunProgram(p)
	if err != nil {
		return err
	}
	f, _ := goja.AssertFunction(v)
	if v, err = f(goja.Undefined(), arg); err != nil {
		return err
	}
	if result != nil {
		*result = v.(*goja.Object)
	}
	return nil
}

// define makes f a global that a program may replace but does not enumerate.
func (r *runtime) define(name string, f func(goja.FunctionCall) goja.Value) {
	r.defineValue(r.vm.GlobalObject(), name, r.vm.ToValue(f))
}

func (r *runtime) defineValue(o *goja.Object, name string, v goja.Value) {
	// A fresh global object takes every property.
	_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// guard calls f where exceptions, and the end of the run, come back as errors.
// f may touch values of the program, whose getters and proxies run code.
func (r *runtime) guard(f func()) error {
	g, _ := goja.AssertFunction(r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		f()
		return goja.Undefined()
	}))
	_, err := g(goja.Undefined())
	return err
}

// trackRejection keeps the rejected promises that nobody handles. Whether one
// of them counts is decided at the end: a promise may well be awaited later
// than it is rejected.
func (r *runtime) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		r.unhandled = append(r.unhandled, p)
		return
	}
	for i, q := range r.unhandled {
		if p == q {
			r.unhandled = append(r.unhandled[:i], r.unhandled[i+1:]...)
			return
		}
	}
}

// typedFrom finds uses of Uint8Array.from and its like.
var typedFrom = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:Uint|Int|Float|BigInt|BigUint)\d+(?:Clamped)?Array\.from\b`)
})
