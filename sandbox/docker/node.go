package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// NodeImage is the default image for Node.
const NodeImage = "mcpbroker/sandbox-node:latest"

// node runs JavaScript and TypeScript in Node, in an image that a user created.
type node struct{}

func (node) name() string                  { return KindNode }
func (node) languages() []sandbox.Language { return javaScript{}.languages() }
func (node) env() []string                 { return []string{"TZ=UTC", "NODE_NO_WARNINGS=1"} }
func (node) tmpfs() map[string]string      { return nil }
func (node) overhead() int64               { return 96 << 20 }

// library are the parts of the broker's own runtime that Node needs.
var library = []string{"builtins", "iterator", "promises", "revive", "plain", "retry"}

func (node) command(memory int64) []string {
	boot := runnerArgs("node", ".cjs", "wire", "json", "trace", "output", "globals", "nearest", "reads", "host", "races", "clock", "program")
	args := []string{"node", fmt.Sprintf("--max-old-space-size=%d", max(memory>>20, 16)), "-e", boot[0]}
	add := func(name, text string) { args = append(args, name, "module.exports =\n"+text) }
	for _, name := range library {
		add("lib/"+name, jsrun.Library(name))
	}
	add("lib/newer", runnerText("node", "newer.js"))
	add("names", "'"+strings.Join(nodeGlobals, " ")+"'.split(' ')")
	add("functions", script.FunctionsJSON())
	add("texts", script.TextsJSON())
	return append(args, boot[1:]...)
}

func (node) image(ctx context.Context, e *engine, o *Options) (string, error) {
	return e.imageOf(ctx, KindNode, o.Image)
}

// nodeGlobals are the globals of Node that a program may use: others are withheld with a hint.
var nodeGlobals = strings.Fields(`
	AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Blob Boolean Buffer Crypto CryptoKey
	CustomEvent DOMException DataView Date Error EvalError Event EventTarget FinalizationRegistry Float32Array Float64Array Function Infinity
	Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set
	SharedArrayBuffer String SubtleCrypto Symbol SyntaxError TextDecoder TextEncoder ToolError TypeError URIError URL URLSearchParams Uint16Array
	Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa callMCPTool clearImmediate clearInterval clearTimeout console crypto
	decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval global globalThis isFinite isNaN parseFloat parseInt performance
	queueMicrotask results retry setImmediate setInterval setTimeout skills store structuredClone tools undefined unescape`)

// maxBundle bounds a bundled program, in bytes.
const maxBundle = 64 << 20

// A nodeRunner checks and bundles programs in a process of the worker, and runs the result in a
// container.
type nodeRunner struct {
	*runner
	bundlerMu sync.Mutex
	bundler   sandbox.Runner // nil before it is needed
}

// NewNode is like New, for JavaScript and TypeScript programs in Node.
func NewNode(opts *Options) sandbox.Runner { return &nodeRunner{runner: newRunner(node{}, opts)} }

// bundlerRequires returns the required layers that the bundler must have: it parses hostile
// programs, and is in no container.
func bundlerRequires(required []string) []string {
	return slices.DeleteFunc(slices.Clone(required), func(layer string) bool { return layer == LayerContainer })
}

// bundlerOptions returns the options of the bundler: it has as many spares as there are
// containers.
func bundlerOptions(o *Options) *worker.Options {
	return &worker.Options{
		Prepare: true, Globals: nodeGlobals, Require: bundlerRequires(o.Require),
		Spares: o.Spares, MemoryBytes: o.MemoryBytes, Executable: o.Executable, Logger: o.Logger,
	}
}

// bundle bundles a program.
func (n *nodeRunner) bundle(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	ctx, leave, err := n.pool.Enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	n.bundlerMu.Lock()
	if n.bundler == nil {
		n.bundler = worker.New(bundlerOptions(&n.opts))
	}
	bundler := n.bundler
	n.bundlerMu.Unlock()
	return bundler.Run(ctx, req)
}

// Run implements sandbox.Runner.
func (n *nodeRunner) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	inside := req
	inside.Check = nil // the bundler checks the program
	p := &program{req: &inside, limits: req.Limits.WithDefaults(), started: time.Now()}
	if res, refused := host.Refuse(&req, p.limits, n.kind.languages()...); refused {
		res.Duration = time.Since(p.started)
		return res, nil
	}
	bundling := req
	bundling.Limits = p.limits
	bundling.Limits.ResultBytes = maxBundle
	bundling.Call = nil // a program makes no calls before it runs
	bundled, err := n.bundle(ctx, bundling)
	if err != nil || bundled.ExitCode != sandbox.ExitOK {
		return bundled, err
	}
	p.bundle = bundled.Value
	res, err := n.run(ctx, p)
	res.Notes = append(bundled.Notes, res.Notes...)
	return res, err
}

// Close implements sandbox.Runner.
func (n *nodeRunner) Close() error {
	err := n.runner.Close()
	n.bundlerMu.Lock()
	defer n.bundlerMu.Unlock()
	if n.bundler != nil {
		err = errors.Join(err, n.bundler.Close())
	}
	return err
}
