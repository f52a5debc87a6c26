package docker

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A kind defines the containers of one language.
type kind interface {
	name() string // for labels and images
	languages() []sandbox.Language
	command(memory int64) []string
	env() []string
	tmpfs() map[string]string
	overhead() int64 // memory of the runner besides the program's
	// image returns the image for containers, which exists.
	image(ctx context.Context, e *engine, o *Options) (string, error)
}

// The kinds of containers and images.
const (
	KindGoja   = "goja"   // JavaScript and TypeScript in this program's runtime
	KindNode   = "node"   // JavaScript and TypeScript in Node
	KindPython = "python" // Python
)

// javaScript runs JavaScript and TypeScript in this program's own binary.
type javaScript struct{}

func (javaScript) name() string { return KindGoja }
func (javaScript) languages() []sandbox.Language {
	return []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript}
}
func (javaScript) command(int64) []string   { return worker.Command() }
func (javaScript) env() []string            { return []string{"PATH=/"} }
func (javaScript) tmpfs() map[string]string { return nil }
func (javaScript) overhead() int64          { return 64 << 20 }

func (javaScript) image(ctx context.Context, e *engine, o *Options) (string, error) {
	return e.gojaImage(ctx, o.Executable)
}

// prepare returns the engine and the image for containers. It connects once, and then removes the
// containers of dead brokers.
func (r *runner) prepare(ctx context.Context) (*engine, string, error) {
	r.engineMu.Lock()
	defer r.engineMu.Unlock()
	if r.eng == nil {
		e, err := connect(ctx, r.opts.Engine)
		if err != nil {
			return nil, "", err
		}
		if err := e.describe(ctx); err != nil {
			e.api.Close()
			return nil, "", err
		}
		r.eng = e
		r.pool.Go(func(closed context.Context) { e.sweep(closed, r.log) }) // the caller is a start, which is active
	}
	if r.image == "" {
		image, err := r.kind.image(ctx, r.eng, &r.opts)
		if err != nil {
			return nil, "", err
		}
		r.image = image
	}
	return r.eng, r.image, nil
}

// forgetImage makes the next start look up the image again.
func (r *runner) forgetImage() {
	r.engineMu.Lock()
	defer r.engineMu.Unlock()
	r.image = ""
}

// engineLayers returns the layers of containment that the engine provides.
func (r *runner) engineLayers(e *engine, memory int64) []sandbox.Layer {
	limits := fmt.Sprintf("at most %d processes and %s of memory", maxProcesses, host.Size(memory+r.kind.overhead()))
	memoryLayer := sandbox.Layer{Name: sandbox.LayerMemory, Active: true, Detail: "limited by the kernel"}
	if k := e.enforced.Load(); !k.all() {
		limits = limitNotEnforced
		if !k.memory {
			memoryLayer.Active, memoryLayer.Detail = false, limitNotEnforced
		}
	}
	layers := []sandbox.Layer{
		{Name: LayerContainer, Active: true, Detail: fmt.Sprintf("%s at %s: one for each run, removed after it; no network, nothing of the host is mounted, files are read-only, no capabilities, no new privileges, user %s, %s", e.name, e.address, user, limits)},
	}
	if r.kind.name() != KindGoja { // the goja runner reports its own layers
		seccomp := sandbox.Layer{Name: sandbox.LayerSeccomp, Active: e.seccomp, Detail: "the engine's filter of system calls"}
		if !e.seccomp {
			seccomp.Detail = "the engine filters no system calls"
		}
		layers = append(layers, seccomp,
			sandbox.Layer{Name: sandbox.LayerProcess, Active: true, Detail: "one for each run, killed with its container"},
			memoryLayer)
	}
	return layers
}

// LayerContainer is the layer of the container itself: namespaces, without capabilities, removed
// after the run.
const LayerContainer = "container"
