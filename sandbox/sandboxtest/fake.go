package sandboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// A Program is a Go function that a Fake runs in place of a program's text. It
// must return soon after ctx is done. The value is the program's result; an
// error is what the program throws, an *Exit ends it with a code of its own.
type Program func(ctx context.Context, e *Env) (json.RawMessage, error)

// An Env is what a Program reaches. Its methods are safe for concurrent use.
type Env struct {
	// Request is the run's.
	Request sandbox.Request
	session *host.Session
}

// An Exit is an error that ends a Program with Code.
type Exit struct {
	Code   int
	Reason string
	Notes  []string
}

func (e *Exit) Error() string { return e.Reason }

// Fake returns a runner that runs program whatever text it is given, in this
// process, with all limits of a run but memory. It is for tests of what is
// above a runner, which then need no JavaScript and no process.
func Fake(program Program) sandbox.Runner { return &fake{program: program} }

type fake struct {
	program Program
	local   host.Local
}

// Run implements sandbox.Runner.
func (f *fake) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	languages := []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript, sandbox.Python}
	return f.local.Run(ctx, &req, languages, func(ctx context.Context, s *host.Session) host.End {
		value, err := f.program(ctx, &Env{Request: req, session: s})
		exit, isExit := errors.AsType[*Exit](err)
		switch {
		case err == nil:
			return host.End{Value: value}
		case isExit:
			return host.End{ExitCode: exit.Code, Error: exit.Reason, Notes: exit.Notes}
		case ctx.Err() == nil:
			return host.End{ExitCode: sandbox.ExitThrew, Error: err.Error()}
		case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return host.End{ExitCode: sandbox.ExitTimeout, Error: err.Error()}
		}
		return host.End{ExitCode: sandbox.ExitCanceled, Error: err.Error()}
	})
}

// Close implements sandbox.Runner.
func (f *fake) Close() error { return f.local.Close() }

// Call makes the host call fn of target and waits for its answer, or for the
// end of the run. args is JSON, or nil.
func (e *Env) Call(ctx context.Context, fn, target string, args json.RawMessage) (json.RawMessage, error) {
	type answer struct {
		value json.RawMessage
		err   error
	}
	ch := make(chan answer, 1)
	e.session.Calls.Start(sandbox.Call{Func: fn, Target: target, Args: args}, func(value json.RawMessage, err error) {
		ch <- answer{value, err}
	})
	select {
	case a := <-ch:
		return a.value, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Print formats as fmt.Sprintf does and prints to the program's stdout.
func (e *Env) Print(format string, args ...any) {
	e.session.Print(1, fmt.Appendf(nil, format, args...))
}

// PrintError formats as fmt.Sprintf does and prints to the program's stderr.
func (e *Env) PrintError(format string, args ...any) {
	e.session.Print(2, fmt.Appendf(nil, format, args...))
}
