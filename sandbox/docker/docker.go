// Package docker runs each program in a container of its own, through the API
// of Docker (20.10 and newer) or Podman: JavaScript and TypeScript in an image
// that holds nothing but this program's own binary, or in one that has node,
// Python in one that has python3.
//
// A container has no network, no file that can be written but a small /tmp (for
// Python only), no capability, no way to new privileges, and limits on memory,
// processes and processor. No port is opened and nothing of the host is
// mounted: frames (package wire) go over the streams that the engine attaches,
// and the files of a request are copied into a volume that is mounted read-only.
// The program's runner is trusted with nothing: the host makes the calls, counts
// and caps, and ends the container when the time is up.
//
// Starting a container takes about a tenth of a second, so one that is ready
// waits as a spare. Containers are removed in the background. Those that a
// broker left behind which was killed are removed by the next one that starts
// any: labels say whose they are.
package docker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// ErrNoEngine means that no container engine answers.
var ErrNoEngine = errors.New("no container engine answers")

// ErrNoImage means that the image that programs run in does not exist yet.
var ErrNoImage = errors.New("there is no image for the sandbox")

// Options adjust a runner. The zero value works.
type Options struct {
	// Engine is the address of the engine's API, such as
	// "unix:///run/podman/podman.sock". Empty means $DOCKER_HOST, else the
	// usual sockets of Docker and Podman.
	Engine string
	// Spares is the number of containers that wait, started, once the first
	// program or Layers has asked for one; zero means one, a negative number
	// none.
	Spares int
	// MemoryBytes is the memory limit that the first spares are started for;
	// zero means the default of sandbox.Limits.
	MemoryBytes int64
	// Executable is the binary that JavaScript runs in: static, for Linux,
	// with a main that calls worker.Main if worker.IsChild. Empty means this
	// program's own. For Node it bundles programs, on this machine, and need not
	// be static.
	Executable string
	// Image is the image that Python or Node runs in; empty means PythonImage or
	// NodeImage. It must have a command python3, of version 3.9 or newer, or a
	// command node, of version 18 or newer.
	Image string
	// Require names the layers without which no program is run: Run fails with
	// a *sandbox.LayerError.
	Require []string
	// Logger is told of containers that crash or cannot be removed; nil means
	// nobody is.
	Logger *slog.Logger
}

// runner is the sandbox.Runner. It owns the containers that wait.
type runner struct {
	kind   kind
	opts   Options
	log    *slog.Logger
	closed context.Context // done when Close is called
	close  context.CancelCauseFunc

	shelving sync.Mutex // held while shelf is filled or used
	shelf    shelf

	connecting sync.Mutex // held while eng is made
	eng        *engine    // nil until it was needed
	image      string     // of eng, once it is known to be there

	mu     sync.Mutex
	want   fit // what spares are started for
	spares []*spare
	active sync.WaitGroup // runs, starts and removals; added to under mu, while not closed, or by one of them
}

// A spare is a container that has been started, or is being started.
type spare struct {
	fit
	ready chan struct{} // closed when c or err is set
	c     *container
	err   error
}

// A fit is what a container is started with, and which programs it therefore
// suits.
type fit struct {
	memory int64
	files  fileSet
}

func (f fit) suits(other fit) bool {
	return f.memory == other.memory && f.files.key == other.files.key
}

// New returns a runner of JavaScript and TypeScript programs. It starts nothing
// before it is used; what is wrong with the engine is reported by Run and
// Layers. Close must be called.
func New(opts *Options) sandbox.Runner { return newRunner(javaScript{}, opts) }

// NewPython returns a runner of Python programs, as New does.
func NewPython(opts *Options) sandbox.Runner { return newRunner(python{}, opts) }

func newRunner(k kind, opts *Options) *runner {
	r := &runner{kind: k, log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Logger != nil {
		r.log = r.opts.Logger
	}
	switch {
	case r.opts.Spares == 0:
		r.opts.Spares = 1
	case r.opts.Spares < 0:
		r.opts.Spares = 0
	}
	r.want.memory = sandbox.Limits{MemoryBytes: r.opts.MemoryBytes}.WithDefaults().MemoryBytes
	r.closed, r.close = context.WithCancelCause(context.Background())
	return r
}

// refillAfter is how long a run may have the machine to itself before the spare
// that it took is replaced.
const refillAfter = 100 * time.Millisecond

// Run implements sandbox.Runner. It returns when the program has ended and all
// calls have returned; its container is gone a moment later, which Close waits
// for.
func (r *runner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	return r.run(ctx, &program{req: &req, limits: req.Limits.WithDefaults(), started: time.Now()})
}

// A program is a request under way.
type program struct {
	req     *sandbox.Request
	limits  sandbox.Limits // with defaults
	started time.Time
	// bundle is what the runner gets instead of the request's code; nil for none.
	bundle json.RawMessage
}

// left is what is left of the time limit.
func (p *program) left() time.Duration {
	if p.bundle == nil {
		return p.limits.Timeout
	}
	return max(p.limits.Timeout-time.Since(p.started), time.Millisecond)
}

// run runs a program in a container.
func (r *runner) run(ctx context.Context, p *program) (sandbox.Result, error) {
	if res, refused := host.Refuse(p.req, p.limits, r.kind.languages()...); refused {
		res.Duration = time.Since(p.started)
		return res, nil
	}
	if err := r.enter(); err != nil {
		return sandbox.Result{}, err
	}
	defer r.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closed, func() { cancel(host.ErrClosed) })()

	refill := time.AfterFunc(refillAfter, r.fill)
	defer r.fill()
	defer refill.Stop()
	want := fit{p.limits.MemoryBytes, r.filesOf(p.req.Files)}
	for fresh := false; ; fresh = true {
		c, own, err := r.take(ctx, want, fresh)
		if err != nil {
			if ctx.Err() == nil {
				return sandbox.Result{}, err
			}
			var res sandbox.Result
			res.ExitCode, res.Error = host.Canceled(context.Cause(ctx))
			res.Duration = time.Since(p.started)
			return res, nil
		}
		x := &execution{program: p, r: r, c: c}
		res, stillborn := x.run(ctx)
		if stillborn && !own && ctx.Err() == nil {
			continue // the spare had died while it waited: nothing has been done
		}
		res.Duration = time.Since(p.started)
		return res, nil
	}
}

// enter registers a run.
func (r *runner) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return host.ErrClosed
	}
	r.active.Add(1)
	return nil
}

// Layers implements sandbox.Layered: it asks the container that the next run
// will take.
func (r *runner) Layers(ctx context.Context) ([]sandbox.Layer, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.active.Done()
	r.mu.Lock()
	want := r.want
	r.mu.Unlock()
	s, _ := r.next(want, false)
	select {
	case <-s.ready:
	case <-ctx.Done():
		r.giveBack(s)
		return nil, context.Cause(ctx)
	}
	if s.err != nil {
		return nil, s.err
	}
	layers := s.c.layers
	r.giveBack(s)
	return layers, nil
}

// Close implements sandbox.Runner.
func (r *runner) Close() error {
	r.mu.Lock()
	r.close(host.ErrClosed)
	spares := r.spares
	r.spares = nil
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range spares {
		wg.Go(func() { r.discard(s) })
	}
	wg.Wait()
	r.active.Wait()
	r.shelving.Lock()
	r.clearShelf(func(remove func()) { remove() })
	r.shelving.Unlock()
	r.connecting.Lock()
	defer r.connecting.Unlock()
	if r.eng != nil {
		return r.eng.api.Close()
	}
	return nil
}

// take returns a container that is ready for one program: a spare, one that is
// being started, or one of the run's own, which it is in any case if fresh is
// set.
func (r *runner) take(ctx context.Context, want fit, fresh bool) (c *container, own bool, err error) {
	for {
		s, own := r.next(want, fresh)
		select {
		case <-s.ready:
		case <-ctx.Done():
			r.giveBack(s)
			return nil, own, context.Cause(ctx)
		}
		if s.err == nil {
			return s.c, own, nil
		}
		if own {
			return nil, own, s.err
		}
		// A spare that could not start says nothing about the next one.
	}
}

// next removes the best spare from those that wait, or starts a container: own
// says which.
func (r *runner) next(want fit, fresh bool) (s *spare, own bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = want
	best := -1
	for i, s := range r.spares {
		if s.suits(want) && !fresh && (best < 0 || s.started() && !r.spares[best].started()) {
			best = i
		}
	}
	if best < 0 {
		return r.start(want), true
	}
	s = r.spares[best]
	r.spares = append(r.spares[:best:best], r.spares[best+1:]...)
	return s, false
}

// giveBack returns a spare that was not used.
func (r *runner) giveBack(s *spare) {
	r.mu.Lock()
	if r.closed.Err() == nil && len(r.spares) < r.opts.Spares {
		r.spares = append(r.spares, s)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.active.Go(func() { r.discard(s) }) // its caller is one of the active
}

// fill starts as many spares as are missing, and ends those that suit other
// programs.
func (r *runner) fill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		return
	}
	var kept []*spare
	for _, s := range r.spares {
		if s.suits(r.want) && len(kept) < r.opts.Spares && !s.failed() {
			kept = append(kept, s)
		} else {
			r.active.Go(func() { r.discard(s) })
		}
	}
	for len(kept) < r.opts.Spares {
		kept = append(kept, r.start(r.want))
	}
	r.spares = kept
}

// start begins to start a container; r.mu is held. The caller is an active run,
// or r is not closed.
func (r *runner) start(want fit) *spare {
	s := &spare{fit: want, ready: make(chan struct{})}
	r.active.Go(func() {
		defer close(s.ready)
		s.c, s.err = r.startContainer(r.closed, want)
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

func (s *spare) failed() bool { return s.started() && s.err != nil }

// discard removes the container once it has started.
func (r *runner) discard(s *spare) {
	<-s.ready
	if s.c != nil {
		s.c.remove()
	}
}
