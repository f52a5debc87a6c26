// Package docker runs each program in its own container, through the API of Docker (20.10 and
// newer) or Podman: JavaScript and TypeScript in an image that contains only this program's own
// binary, or in one with node, and Python in one with python3.
//
// A container has no network, no writable files except a small /tmp (for Python only), no
// capabilities, no way to gain privileges, and limits on memory, processes and processor. No port
// is opened and nothing of the host is mounted: frames (package wire) use the streams that the
// engine attaches, and the files of a request are copied into a volume that is mounted read-only.
// The program's runner is not trusted: the host makes and counts the calls, enforces the limits,
// and ends the container when the time is up.
//
// Starting a container takes about a tenth of a second, so a ready container waits as a spare.
// Containers are removed in the background. Those of a killed broker are removed by the next
// broker that starts one: labels identify their owner.
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

// ErrNoImage means that the image for programs does not exist.
var ErrNoImage = errors.New("there is no image for the sandbox")

// Options adjust a runner. The zero value works.
type Options struct {
	// Engine is the address of the engine.
	Engine Address
	// Spares is the number of started containers that wait after the first program or call of
	// Layers; zero means one, a negative number none.
	Spares int
	// MemoryBytes is the memory limit of the first spares; zero means the default of
	// sandbox.Limits.
	MemoryBytes int64
	// Executable is the binary that runs JavaScript: static, for Linux, with a main that calls
	// worker.Main if worker.IsChild. Empty means that of worker.Program. For Node it bundles
	// programs, on this machine, and need not be static.
	Executable string
	// Image is the image that runs Python or Node; empty means PythonImage or NodeImage. It must
	// contain a command python3, of version 3.9 or newer, or a command node, of version 18 or
	// newer.
	Image string
	// Require names the layers that must be active: otherwise Run returns a *sandbox.LayerError.
	Require []string
	// Logger receives crashes of containers and failures to remove them; nil discards
	// them.
	Logger *slog.Logger
}

// A runner implements sandbox.Runner.
type runner struct {
	kind kind
	opts Options
	log  *slog.Logger
	pool *host.Pool[startOptions, *container]

	shelfMu sync.Mutex // held while shelf is filled or used
	shelf   shelf

	engineMu sync.Mutex // held while eng is set
	eng      *engine    // nil until it is needed
	image    string     // of eng, once it is known to exist
}

// startOptions are the options of a container, which determine the programs that it can run.
type startOptions struct {
	memory int64
	files  fileSet
}

func (o startOptions) matches(other startOptions) bool {
	return o.memory == other.memory && o.files.key == other.files.key
}

// New returns a runner of JavaScript and TypeScript programs. It starts nothing before its first
// use; Run and Layers report problems with the engine. Close must be called.
func New(opts *Options) sandbox.Runner { return newRunner(javaScript{}, opts) }

// NewPython is like New, for Python programs.
func NewPython(opts *Options) sandbox.Runner { return newRunner(python{}, opts) }

func newRunner(k kind, opts *Options) *runner {
	r := &runner{kind: k, log: slog.New(slog.DiscardHandler)}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.Logger != nil {
		r.log = r.opts.Logger
	}
	r.pool = host.NewPool(host.Maker[startOptions, *container]{
		Start: func(ctx context.Context, want startOptions, _ bool) (*container, error) {
			return r.startContainer(ctx, want)
		},
		Suits: startOptions.matches, End: (*container).remove,
	}, host.PoolSize(r.opts.Spares), startOptions{memory: sandbox.Limits{MemoryBytes: r.opts.MemoryBytes}.WithDefaults().MemoryBytes})
	return r
}

// refillAfter is the delay before the spare that a run took is replaced, so that the run has the
// machine to itself at first.
const refillAfter = 100 * time.Millisecond

// Run implements sandbox.Runner. It returns when the program has ended and all calls have
// returned. The container is removed soon after; Close waits for that.
func (r *runner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	return r.run(ctx, &program{req: &req, limits: req.Limits.WithDefaults(), started: time.Now()})
}

// A program is a running request.
type program struct {
	req     *sandbox.Request
	limits  sandbox.Limits // with defaults
	started time.Time
	// bundle replaces the request's code for the runner; it may be nil.
	bundle json.RawMessage
}

// left returns the rest of the time limit.
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
	ctx, leave, err := r.pool.Enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()

	refill := time.AfterFunc(refillAfter, r.pool.Fill)
	defer r.pool.Fill()
	defer refill.Stop()
	want := startOptions{p.limits.MemoryBytes, r.filesOf(p.req.Files)}
	for fresh := false; ; fresh = true {
		c, own, err := r.pool.Take(ctx, want, fresh)
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
			continue // the spare died while it waited; nothing has been done
		}
		res.Duration = time.Since(p.started)
		return res, nil
	}
}

// Layers implements sandbox.Layered: it asks the container that the next run will use.
func (r *runner) Layers(ctx context.Context) (layers []sandbox.Layer, err error) {
	ctx, leave, err := r.pool.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	err = r.pool.Look(ctx, func(c *container) { layers = c.layers })
	return layers, err
}

// Close implements sandbox.Runner.
func (r *runner) Close() error {
	r.pool.Close()
	r.shelfMu.Lock()
	r.clearShelf(func(remove func(context.Context)) { remove(context.Background()) })
	r.shelfMu.Unlock()
	r.engineMu.Lock()
	defer r.engineMu.Unlock()
	if r.eng != nil {
		return r.eng.api.Close()
	}
	return nil
}
