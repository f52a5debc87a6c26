// Package worker runs each program in a child process of its own, contained,
// for one execution, then killed. Its binary is the small broker-worker if that
// is beside the host's, and else the host's own once more.
//
// A binary that uses New must therefore let its children in, before anything else:
//
//	func main() {
//		if worker.IsChild() {
//			worker.Main()
//		}
//		…
//	}
//
// and so must a test that uses New, in TestMain.
//
// Both the JavaScript engine and esbuild run in the child, because text alone
// can make either of them use up memory or the stack, which no Go program
// survives. The host reads frames (package wire), makes the calls, and trusts
// nothing that it reads. Time is bounded by a kill, memory by a limit on the
// child's writable memory where the system has one, by a watchdog on what it
// really uses, and by the child's own garbage collector, in that order of
// hardness.
//
// Starting a child takes milliseconds, so one that has started and is warm
// waits as a spare for the next program; it is replaced in the background when
// the run that took it is over, or has gone on for a while.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// ErrClosed is the error of Run after Close, and the cause with which Close
// ends the runs in progress.
var ErrClosed = host.ErrClosed

// errNested is the error of a runner in a process that is itself a child: its
// main went on where it should have called Main.
var errNested = errors.New("a sandbox process tried to run programs itself: call worker.Main first thing in main when worker.IsChild")

// Options adjust a runner. The zero value works.
type Options struct {
	// Spares is the number of processes that wait, started and warm; zero
	// means one, a negative number none. While programs come faster than
	// processes start there are more, up to the number of processors and two.
	Spares int
	// MemoryBytes is the memory limit that the first spares are started for;
	// zero means the default of sandbox.Limits. A run with another limit
	// starts a process of its own, and later spares are for that limit.
	MemoryBytes int64
	// Executable is the binary that children run; empty means that of Program.
	// Its main must call Main if IsChild.
	Executable string
	// Args are further arguments of children, for tests.
	Args []string
	// Require names the layers, by the Layer constants of package sandbox,
	// without which no program is run: Run fails with a *sandbox.LayerError.
	Require []string
	// Prepare makes programs ready for another engine instead of running them:
	// the value of a Result is the JSON of a nodejs.Bundle. Globals are the
	// global names of that engine.
	Prepare bool
	Globals []string
	// Logger receives crashes of children; nil discards them.
	Logger *slog.Logger
}

// refillAfter is how long a run may have its processor to itself before the
// spare that it took is replaced.
const refillAfter = 25 * time.Millisecond

// runner is the sandbox.Runner.
type runner struct {
	opts Options
	log  *slog.Logger
	pool *host.Pool[int64, *process] // each started for a limit of memory, in bytes
}

// New returns a runner of JavaScript and TypeScript programs, and starts its
// spares in the background. It reports no error: what is wrong with starting
// processes is reported by Run. Close must be called.
func New(opts *Options) sandbox.Runner { return newRunner(opts) }

func newRunner(opts *Options) *runner {
	r := &runner{log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Logger != nil {
		r.log = r.opts.Logger
	}
	spares := host.PoolSize(r.opts.Spares)
	if IsChild() {
		spares = 0
	}
	memory := sandbox.Limits{MemoryBytes: r.opts.MemoryBytes}.WithDefaults().MemoryBytes
	r.pool = host.NewPool(host.Maker[int64, *process]{
		Start: r.start, Alive: (*process).alive, End: (*process).end,
		Suits: func(fit, want int64) bool { return fit == want },
		Most:  runtime.GOMAXPROCS(0) + 2,
	}, spares, memory)
	r.pool.Fill()
	return r
}

// start starts a process, one that waits for its program if warm is set.
func (r *runner) start(ctx context.Context, memory int64, warm bool) (*process, error) {
	hello := wire.Hello{
		Version: wire.Version, MemoryBytes: memory, Warm: warm, Prepare: r.opts.Prepare, Globals: r.opts.Globals,
	}
	p, err := startProcess(ctx, &r.opts, hello)
	if _, lacks := errors.AsType[*sandbox.LayerError](err); err == nil || lacks || ctx.Err() != nil || r.opts.Executable != "" || !beside().used() {
		return p, err
	}
	// What this program does instead shows whether it was the other one's fault.
	own := r.opts
	own.Executable = ownPath()
	p, failed := startProcess(ctx, &own, hello)
	if failed != nil {
		return nil, err
	}
	if beside().reject(err) {
		r.log.Warn("broker-worker does not start: scripts run in this program instead", "err", err)
	}
	return p, nil
}

// Run implements sandbox.Runner. It returns when the child is killed and all
// calls have returned; what is left of a killed child is gone a moment later,
// which Close waits for. A CallFunc that goes on after its context is done keeps
// Run from returning, and so does a writer that blocks.
func (r *runner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	start := time.Now()
	limits := req.Limits.WithDefaults()
	if res, refused := host.Refuse(&req, limits, sandbox.TypeScript, sandbox.JavaScript); refused {
		res.Duration = time.Since(start)
		return res, nil
	}
	var res sandbox.Result
	loan, err := r.lend(ctx, limits.MemoryBytes)
	opened := time.Since(start)
	switch {
	case err == nil:
		res = loan.run(&req, limits)
	case ctx.Err() != nil:
		res.ExitCode, res.Error = host.Canceled(context.Cause(ctx))
	default:
		return sandbox.Result{}, err
	}
	res.Duration, res.Opened = time.Since(start), opened
	return res, nil
}

// register registers a run.
func (r *runner) register(ctx context.Context) (context.Context, func(), error) {
	if IsChild() {
		return nil, nil, errNested
	}
	return r.pool.Enter(ctx)
}

// Layers implements sandbox.Layered: it asks the process that the next run will
// take.
func (r *runner) Layers(ctx context.Context) (layers []sandbox.Layer, err error) {
	ctx, leave, err := r.register(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	err = r.pool.Look(ctx, func(p *process) { layers = p.layers })
	return layers, err
}

// Close implements sandbox.Runner.
func (r *runner) Close() error {
	r.pool.Close()
	return nil
}
