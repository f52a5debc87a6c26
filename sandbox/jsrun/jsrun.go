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

// A Host implements the environment of a running program. Its methods are called in the goroutine
// that called Run and must not block for long.
type Host interface {
	// Call starts one host call. done takes its answer (nil is undefined) or the error to throw;
	// it may be called in any goroutine, only its first call counts, and it does nothing after Run
	// has returned.
	Call(c sandbox.Call, done func(value json.RawMessage, err error))
	// Output receives the output of the program: stream 1 is stdout, 2 stderr. p must not be
	// retained.
	Output(stream int, p []byte)
}

// A Program is a program for Run. Of its limits Run uses only Grace, of which zero does not wait;
// of its functions it calls only Check.
type Program = sandbox.Request

// An Outcome is the result of a program; its fields are those of sandbox.Result.
type Outcome struct {
	ExitCode int
	Value    json.RawMessage
	Error    string
	Notes    []string
	Reads    []string
	Absent   []string
	Diverged bool
}

// Run runs p. It returns soon after ctx is done, except from a loop inside a built-in function,
// which only the end of the process stops; the cause of ctx decides between ExitTimeout
// (context.DeadlineExceeded) and ExitCanceled. The caller must cancel host calls without an answer
// when Run returns. Run is safe for concurrent use.
func Run(ctx context.Context, p Program, h Host) Outcome {
	return runIn(ctx, nil, p, h)
}

// A Spare is a runtime that is set up in advance. It runs one program, in any goroutine.
type Spare struct{ r *runtime }

// NewSpare sets up a runtime, which is most of the cost of a small program. It returns nil if that
// fails; the methods of Spare accept nil.
func NewSpare() *Spare {
	r := newRuntime()
	if r.setUp() != nil {
		return nil // Run reports the error
	}
	return &Spare{r}
}

// Run is like the function Run. It must be called at most once.
func (s *Spare) Run(ctx context.Context, p Program, h Host) Outcome {
	if s == nil {
		return Run(ctx, p, h)
	}
	return runIn(ctx, s.r, p, h)
}

// runIn runs p in r, or in a new runtime if r is nil.
func runIn(ctx context.Context, r *runtime, p Program, h Host) (out Outcome) {
	defer func() {
		// A fault in the engine must not crash the host.
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

// withRest adds the other mistakes of a program to the error about its imports.
func (r *runtime) withRest(ctx context.Context, p Program, err error) error {
	return script.WithRest(p, err, func(rest Program) error {
		ready, err := prepare(rest)
		if err == nil {
			_, err = ready.Ask(ctx, r.knows)
		}
		return err
	})
}

// Warm makes the first Run fast: esbuild and goja build tables on first use. It takes a few
// milliseconds.
func Warm() {
	Run(context.Background(), script.Warm, warmHost{})
}

// A warmHost answers every call immediately and prints nothing.
type warmHost struct{}

func (warmHost) Call(c sandbox.Call, done func(json.RawMessage, error)) { done(c.Args, nil) }
func (warmHost) Output(int, []byte)                                     {}
