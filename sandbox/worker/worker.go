// Package worker runs each program in a child process of its own: the
// program's own binary once more, contained, for one execution, then killed.
//
// A binary that uses New must let its children in, before anything else:
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
	"slices"
	"sync"
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

// errStillborn is the error of a process that was ready and then ended, before
// it was told anything.
var errStillborn = errors.New("the sandbox process ended before it had the program")

// Options adjust a runner. The zero value works.
type Options struct {
	// Spares is the number of processes that wait, started and warm; zero
	// means one, a negative number none.
	Spares int
	// MemoryBytes is the memory limit that the first spares are started for;
	// zero means the default of sandbox.Limits. A run with another limit
	// starts a process of its own, and later spares are for that limit.
	MemoryBytes int64
	// Executable is the binary that children run; empty means this one. Its
	// main must call Main if IsChild.
	Executable string
	// Args are further arguments of children, for tests.
	Args []string
	// Require names the layers, by the Layer constants of package sandbox,
	// without which no program is run: Run fails with a *sandbox.LayerError.
	Require []string
	// Prepare makes programs ready for another engine instead of running them:
	// the value of a Result is the JSON of a jsrun.Bundle. Globals are what that
	// engine has more than the one of package jsrun.
	Prepare bool
	Globals []string
	// Logger is told of children that crash; nil means nobody is.
	Logger *slog.Logger
}

// refillAfter is how long a run may have its processor to itself before the
// spare that it took is replaced.
const refillAfter = 25 * time.Millisecond

// runner is the sandbox.Runner. It owns the processes that wait.
type runner struct {
	opts   Options
	log    *slog.Logger
	closed context.Context // done when Close is called
	close  context.CancelCauseFunc

	mu     sync.Mutex
	memory int64 // what spares are started for
	spares []*spare
	active sync.WaitGroup // runs and starts; added to under mu, while not closed
}

// A spare is a process that has been started, or is being started.
type spare struct {
	memory int64
	ready  chan struct{} // closed when p or err is set
	p      *process
	err    error
}

// New returns a runner of JavaScript and TypeScript programs, and starts its
// spares in the background. It reports no error: what is wrong with starting
// processes is reported by Run. Close must be called.
func New(opts *Options) sandbox.Runner {
	r := &runner{log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Logger != nil {
		r.log = r.opts.Logger
	}
	switch {
	case r.opts.Spares == 0:
		r.opts.Spares = 1
	case r.opts.Spares < 0 || IsChild():
		r.opts.Spares = 0
	}
	r.memory = sandbox.Limits{MemoryBytes: r.opts.MemoryBytes}.WithDefaults().MemoryBytes
	r.closed, r.close = context.WithCancelCause(context.Background())
	r.fill()
	return r
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
	if err := r.enter(); err != nil {
		return sandbox.Result{}, err
	}
	defer r.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closed, func() { cancel(ErrClosed) })()

	p, err := r.take(ctx, limits.MemoryBytes)
	if err != nil {
		if ctx.Err() == nil {
			return sandbox.Result{}, err
		}
		var res sandbox.Result
		res.ExitCode, res.Error = host.Canceled(context.Cause(ctx))
		res.Duration = time.Since(start)
		return res, nil
	}
	refill := time.AfterFunc(refillAfter, r.fill)
	x := &execution{req: &req, limits: limits, p: p, log: r.log, background: r.active.Go}
	res := x.run(ctx)
	if !r.opts.Prepare { // else what was prepared runs now, and the timer is left to fill
		refill.Stop()
		r.fill()
	}
	res.Duration = time.Since(start)
	return res, nil
}

// enter registers a run.
func (r *runner) enter() error {
	if IsChild() {
		return errNested
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return ErrClosed
	}
	r.active.Add(1)
	return nil
}

// Layers implements sandbox.Layered: it asks the process that the next run will
// take.
func (r *runner) Layers(ctx context.Context) ([]sandbox.Layer, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.active.Done()
	s, _, err := r.next(0)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		r.giveBack(s)
		return nil, context.Cause(ctx)
	}
	if s.err != nil {
		return nil, s.err
	}
	layers := s.p.layers
	r.giveBack(s)
	return layers, nil
}

// Close implements sandbox.Runner.
func (r *runner) Close() error {
	r.mu.Lock()
	r.close(ErrClosed)
	spares := r.spares
	r.spares = nil
	r.mu.Unlock()
	for _, s := range spares {
		s.discard()
	}
	r.active.Wait()
	return nil
}

// take returns a process that is ready for one program: a spare, one that is
// being started, or one of its own.
func (r *runner) take(ctx context.Context, memory int64) (*process, error) {
	for {
		s, own, err := r.next(memory)
		if err != nil {
			return nil, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			r.giveBack(s)
			return nil, context.Cause(ctx)
		}
		p, again, err := s.settle(own)
		if !again {
			return p, err
		}
	}
}

// settle says what becomes of a spare that a run waited for: its process, an
// error, or that another spare is to be tried. own says that it was started for
// the run.
func (s *spare) settle(own bool) (p *process, again bool, err error) {
	if s.err == nil && s.p.alive() {
		return s.p, false, nil
	}
	s.discard()
	switch {
	case !own: // says nothing about the next one
		return nil, true, nil
	case s.err != nil:
		return nil, false, s.err
	default: // the next one would go the same way
		return nil, false, errStillborn
	}
}

// next removes the best spare from those that wait: one that is ready, else
// one that is being started, which will be ready before a new one is. own says
// that there was none and s was started for this run. No memory means the limit
// of the last run.
func (r *runner) next(memory int64) (s *spare, own bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return nil, false, ErrClosed
	}
	if memory == 0 {
		memory = r.memory
	}
	r.memory = memory
	best := -1
	for i, s := range r.spares {
		if s.memory != memory {
			continue
		}
		if s.started() {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return r.start(memory, false), true, nil
	}
	s = r.spares[best]
	r.spares = slices.Delete(r.spares, best, best+1)
	return s, false, nil
}

// giveBack returns a spare that was not used.
func (r *runner) giveBack(s *spare) {
	r.mu.Lock()
	if r.closed.Err() == nil {
		r.spares = append(r.spares, s)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	s.discard()
}

// fill starts as many spares as are missing, and ends those that are for
// another memory limit or too many.
func (r *runner) fill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return
	}
	kept := r.spares[:0]
	for _, s := range r.spares {
		if s.memory == r.memory && len(kept) < r.opts.Spares {
			kept = append(kept, s)
		} else {
			r.active.Go(s.discard)
		}
	}
	clear(r.spares[len(kept):])
	r.spares = kept
	for len(r.spares) < r.opts.Spares {
		r.spares = append(r.spares, r.start(r.memory, true))
	}
}

// start begins to start a process, one that waits if warm is set; r.mu is held
// and r is not closed.
func (r *runner) start(memory int64, warm bool) *spare {
	s := &spare{memory: memory, ready: make(chan struct{})}
	r.active.Go(func() {
		defer close(s.ready)
		s.p, s.err = startProcess(r.closed, &r.opts, wire.Hello{
			Version: wire.Version, MemoryBytes: memory, Warm: warm, Prepare: r.opts.Prepare, Globals: r.opts.Globals,
		})
	})
	return s
}

func (s *spare) started() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// discard ends the process once it has started.
func (s *spare) discard() {
	<-s.ready
	if s.p != nil {
		s.p.end()
	}
}
