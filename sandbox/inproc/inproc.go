// Package inproc runs programs with the JavaScript runtime in the caller's own process.
// It is for tests, and for embedders that trust the code they run.
//
// Time, calls, output, code and result are limited as in every runner. Memory is not,
// and Limits.MemoryBytes is ignored: a program can use up all memory of the process, or
// overflow its stack, and either ends the whole process. A loop inside a built-in
// function, such as a regular expression that backtracks for hours, cannot be
// interrupted: Run returns when it is over. Run untrusted code with package worker.
package inproc

import (
	"context"
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
)

// New returns a runner of JavaScript and TypeScript programs in this process.
func New() sandbox.Runner { return new(runner) }

type runner struct{ local host.Local }

// Run implements sandbox.Runner, as far as the package comment says.
func (r *runner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	languages := []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript}
	return r.local.Run(ctx, &req, languages, func(ctx context.Context, s *host.Session) host.End {
		p := req
		p.Limits.Grace = min(s.Limits.Grace, s.Limits.Timeout)
		s.Calls.Journal = p.Journal
		return host.End(jsrun.Run(ctx, p, program{s, p.Journal}))
	})
}

// Close implements sandbox.Runner.
func (r *runner) Close() error { return r.local.Close() }

// program is a session as jsrun sees it.
type program struct {
	s *host.Session
	j *sandbox.Journal
}

func (p program) Call(c sandbox.Call, done func(json.RawMessage, error)) { p.s.Calls.Start(c, done) }
func (p program) Output(stream int, b []byte)                            { p.s.Print(stream, b) }
func (p program) Refuse(c sandbox.Call) error                            { return host.RefuseCall(c, p.s.Limits.ResultBytes) }
func (p program) Replayed(n int) {
	if p.j.Replayed != nil {
		p.j.Replayed(n)
	}
}
