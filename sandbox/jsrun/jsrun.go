// Package jsrun runs one TypeScript or JavaScript program with goja, after package
// script has read it. The same code runs in the worker's child process and, for trusted
// programs, in the caller's own.
//
// A program goes through three steps. Preparation (prepare.go, and package amend)
// adapts its syntax tree to differences of goja from other engines, and compiles it.
// The run (runtime.go, loop.go, host.go) is a fresh goja runtime with an event loop in
// the caller's goroutine. The end (outcome.go, errors.go) waits for calls in progress
// and describes what happened.
//
// jsrun does not bound memory, and built-ins of goja that loop natively cannot be
// interrupted: run untrusted code in a process that can be killed.
package jsrun

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// A Host is what a running program reaches. Its methods are called from the
// goroutine that called Run and must not block for long.
type Host interface {
	// Call starts one host call. done takes its answer (nil is undefined) or
	// the error to throw; it may be called from any goroutine, counts once,
	// and does nothing after Run has returned.
	Call(c sandbox.Call, done func(value json.RawMessage, err error))
	// Output takes what the program prints: stream 1 is stdout, 2 stderr. p
	// must not be kept.
	Output(stream int, p []byte)
}

// A Program is what Run runs. Of its limits Run looks at Grace, and zero does not
// wait; of its functions Run calls Check.
type Program = sandbox.Request

// An Outcome is how a program ended; its fields mean what they mean in
// sandbox.Result.
type Outcome struct {
	ExitCode int
	Value    json.RawMessage
	Error    string
	Notes    []string
	Reads    []string
	Absent   []string
	Diverged bool
}

// Run runs p to its end. It returns soon after ctx is done, except from a loop
// inside a built-in function, which only the end of the process ends; the
// cause of ctx decides between ExitTimeout (context.DeadlineExceeded) and
// ExitCanceled. Host calls that have no answer when Run returns are the
// caller's to cancel. Run may be called from many goroutines at once.
func Run(ctx context.Context, p Program, h Host) Outcome {
	return runIn(ctx, nil, p, h)
}

// A Spare is a runtime that was set up before its program is known. It serves
// for one program, in any goroutine.
type Spare struct{ r *runtime }

// NewSpare sets a runtime up, which is the larger part of what a small program
// costs. It returns nil if that fails, which a Spare method takes as well.
func NewSpare() *Spare {
	r := newRuntime()
	if r.setUp() != nil {
		return nil // Run will say why
	}
	return &Spare{r}
}

// Run is as the function Run. It must be called at most once.
func (s *Spare) Run(ctx context.Context, p Program, h Host) Outcome {
	if s == nil {
		return Run(ctx, p, h)
	}
	return runIn(ctx, s.r, p, h)
}

// runIn runs p in r, which is set up, or in a new runtime if it is nil.
func runIn(ctx context.Context, r *runtime, p Program, h Host) (out Outcome) {
	defer func() {
		// A fault in the engine must not take the host down with it.
		if x := recover(); x != nil {
			out = Outcome{
				ExitCode: sandbox.ExitThrew,
				Error:    fmt.Sprintf("internal error of the JavaScript engine: %v\nhint: write the program in another way", x),
			}
		}
	}()
	start := time.Now()
	ready, err := prepare(p)
	refusal := err
	if r == nil {
		r = newRuntime()
		err = r.setUp()
	}
	if refusal != nil {
		return Outcome{ExitCode: sandbox.ExitRefused, Error: r.withRest(ctx, p, refusal).Error()}
	}
	r.host, r.prog, r.script, r.start = h, p, ready, start
	r.tape.insert(p.Journal, start)
	if err != nil {
		return r.aborted(ctx, err)
	}
	verdict, err := ready.Ask(ctx, r.knows)
	if err != nil {
		return Outcome{ExitCode: sandbox.ExitRefused, Error: err.Error(), Notes: verdict.Notes}
	}
	r.hints, r.reads.shapes, r.reads.sites = verdict.Hints, verdict.Shapes, ready.reads
	out = r.run(ctx)
	out.Notes, out.Reads, out.Absent = append(verdict.Notes, out.Notes...), r.reads.notes, r.reads.absent
	return out
}

// withRest adds the other mistakes of a program to the error that refuses its imports.
func (r *runtime) withRest(ctx context.Context, p Program, err error) error {
	return script.WithRest(p, err, func(rest Program) error {
		ready, err := prepare(rest)
		if err == nil {
			_, err = ready.Ask(ctx, r.knows)
		}
		return err
	})
}

// Warm makes the first Run fast: esbuild and goja build tables when they are
// first used. It takes a few milliseconds.
func Warm() {
	Run(context.Background(), script.Warm, warmHost{})
}

// A warmHost answers every call at once and prints nothing.
type warmHost struct{}

func (warmHost) Call(c sandbox.Call, done func(json.RawMessage, error)) { done(c.Args, nil) }
func (warmHost) Output(int, []byte)                                     {}
