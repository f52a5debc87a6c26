// Package remote runs each program in a process of another machine, or of another
// pod: Server starts contained processes (package worker) for the runners of New.
//
// Each program has one TLS stream (TLS 1.3, certificates on both sides), over which
// the frames of package wire go as they go to a process of this machine. The host
// stays here: it makes the calls, counts, caps and records. A Server copies frames
// and ends the process when the stream ends, when its time is up, or at limits of
// its own. Before a runner may say hello, the server says how many programs it
// runs; it answers with ready, or with an error frame if it has no place.
//
// A program of which the process, the server or the network is lost ends with
// code 137. It is never run again by itself, because calls may have been made.
package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// Options say where programs run. Addresses and Files are required.
type Options struct {
	// Addresses are of servers, "host:port". A name with several addresses stands
	// for as many servers.
	Addresses []string
	Files     Files
	// Require names the layers, by the Layer constants of package sandbox,
	// without which no program is run: Run fails with a *sandbox.LayerError.
	Require []string
	// Spares is how many streams to each server wait, open; zero means one, a
	// negative number none.
	Spares int
	// Build is the program's version.
	Build string
	// Resolve finds the addresses of a name; nil asks the system's resolver.
	Resolve func(ctx context.Context, name string) ([]string, error)
	// Logger receives failures of servers to answer; nil discards them.
	Logger *slog.Logger
}

// runner is the sandbox.Runner.
type runner struct {
	opts  Options
	log   *slog.Logger
	certs *certificates

	closed context.Context
	close  context.CancelCauseFunc
	active sync.WaitGroup // added to under mu, while not closed

	mu       sync.Mutex
	backends map[string]*backend // by address
	looked   time.Time           // when names were looked up
	looking  bool
}

// New returns a runner of JavaScript and TypeScript programs. It connects to the
// servers in the background; what is wrong with them is reported by Run. Close
// must be called.
func New(opts Options) sandbox.Runner {
	r := &runner{opts: opts, log: opts.Logger, certs: &certificates{files: opts.Files}, backends: make(map[string]*backend)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.closed, r.close = context.WithCancelCause(context.Background())
	if opts.Spares >= 0 {
		r.active.Go(func() { r.lookUp(r.closed) })
	}
	return r
}

// register registers a run. Its context is done when r is closed.
func (r *runner) register(ctx context.Context) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return nil, nil, host.ErrClosed
	}
	r.active.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.closed, func() { cancel(host.ErrClosed) })
	return ctx, func() { stop(); cancel(nil); r.active.Done() }, nil
}

// Run implements sandbox.Runner.
func (r *runner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	start := time.Now()
	limits := req.Limits.WithDefaults()
	if res, refused := host.Refuse(&req, limits, sandbox.TypeScript, sandbox.JavaScript); refused {
		res.Duration = time.Since(start)
		return res, nil
	}
	ctx, leave, err := r.register(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	var res sandbox.Result
	st, err := r.connect(ctx, hello(limits))
	opened := time.Since(start)
	switch busy, ok := errors.AsType[*busyError](err); {
	case err == nil:
		res = st.run(ctx, &req, limits)
	case ctx.Err() != nil:
		res.ExitCode, res.Error = host.Canceled(context.Cause(ctx))
	case ok:
		res.ExitCode, res.Error = sandbox.ExitRefused, busy.Error()+": try again in a moment; 0 tools called"
	default:
		return sandbox.Result{}, err
	}
	res.Duration, res.Opened = time.Since(start), opened
	return res, nil
}

// Layers implements sandbox.Layered: they are those of the server that the next
// program could go to.
func (r *runner) Layers(ctx context.Context) ([]sandbox.Layer, error) {
	ctx, leave, err := r.register(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	st, err := r.connect(ctx, hello(sandbox.Limits{}.WithDefaults()))
	if err != nil {
		return nil, err
	}
	st.end()
	return st.layers, nil
}

// Close implements sandbox.Runner.
func (r *runner) Close() error {
	r.mu.Lock()
	r.close(host.ErrClosed)
	backends := r.backends
	r.backends = make(map[string]*backend)
	r.mu.Unlock()
	for _, b := range backends {
		b.close()
	}
	r.active.Wait()
	return nil
}

// patience is how long a program waits for a server that answers and has a place.
const patience = 5 * time.Second

// retryAfter is how long it waits until all servers are asked again.
const retryAfter = 100 * time.Millisecond

// connect returns a stream to a process that waits for its program. Nothing of the
// program has been sent, so servers are tried until one takes it.
func (r *runner) connect(ctx context.Context, h helloFrame) (*stream, error) {
	give := time.NewTimer(patience)
	defer give.Stop()
	r.refresh(ctx)
	for {
		tried := make(map[*backend]error)
		for b := r.pick(tried); b != nil; b = r.pick(tried) {
			st, err := b.take(ctx, h)
			if err == nil {
				return st, nil
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			tried[b] = err
		}
		err, hopeless := r.refusal(tried)
		if hopeless {
			return nil, err
		}
		again := time.NewTimer(retryAfter)
		select {
		case <-again.C:
		case <-give.C:
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		r.refresh(ctx)
	}
}

// refusal says why no server takes a program, and whether it is of no use to wait.
func (r *runner) refusal(tried map[*backend]error) (err error, hopeless bool) {
	if len(tried) == 0 {
		return fmt.Errorf("no sandboxd was found at %s", strings.Join(r.opts.Addresses, ", ")), false
	}
	hopeless = true
	var all []string
	var first error
	busy := 0
	for b, err := range tried {
		all = append(all, b.address+": "+err.Error())
		if first == nil {
			first = err
		}
		if _, ok := errors.AsType[*busyError](err); ok {
			busy++
		}
		if _, ok := errors.AsType[*sandbox.LayerError](err); ok {
			return err, true
		}
		hopeless = hopeless && isHopeless(err)
	}
	if busy > 0 {
		return &busyError{fmt.Sprintf("%d of %d sandboxd are busy", busy, len(tried))}, false
	}
	return fmt.Errorf("no sandboxd takes the program: %s", strings.Join(sorted(all), "; ")), hopeless
}
