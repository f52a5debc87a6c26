// Package contain tries hostile programs on the sandboxes that a config describes.
package contain

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A Target is one of the sandboxes that scripts can run in.
type Target struct {
	Name      string
	isolation string // "worker" or "container"
	kind      attack.Kind
	open      func(config.Sandbox, Options) sandbox.Runner
	// probes lets processes try things that contain themselves as those of scripts do; nil
	// if nothing contains a process but the target itself.
	probes func(context.Context) ([]worker.Probe, error)
	// used reports whether scripts run here under a config.
	used func(config.Sandbox) bool
}

// targets are all sandboxes.
var targets = []*Target{
	{
		Name: "worker", isolation: "worker", kind: attack.JavaScript,
		open:   func(s config.Sandbox, o Options) sandbox.Runner { return app.NewWorker(s, o.Build, 0, o.Logger) },
		probes: func(ctx context.Context) ([]worker.Probe, error) { return worker.ProbeAll(ctx, nil) },
		used:   func(s config.Sandbox) bool { return uses(s, "worker") },
	},
	{
		Name: "container goja", isolation: "container", kind: attack.JavaScript,
		open: func(s config.Sandbox, o Options) sandbox.Runner { return docker.New(containerOptions(s, o.Logger)) },
		used: func(s config.Sandbox) bool { return s.Runner != "node" && uses(s, "container") },
	},
	{
		Name: "container node", isolation: "container", kind: attack.JavaScript,
		open: func(s config.Sandbox, o Options) sandbox.Runner { return docker.NewNode(containerOptions(s, o.Logger)) },
		used: func(s config.Sandbox) bool { return s.Runner == "node" && uses(s, "container") },
	},
	{
		Name: "container python", isolation: "container", kind: attack.Python,
		open: func(s config.Sandbox, o Options) sandbox.Runner {
			return docker.NewPython(containerOptions(s, o.Logger))
		},
		used: func(s config.Sandbox) bool {
			_, err := app.CheckEngine(app.EngineAddress(s), "")
			return err == nil
		},
	},
}

// uses reports whether scripts in TypeScript or JavaScript run in an isolation under
// a config.
func uses(s config.Sandbox, isolation string) bool {
	return s.IsolationOf("typescript") == isolation || s.IsolationOf("javascript") == isolation
}

func containerOptions(s config.Sandbox, log *slog.Logger) *docker.Options {
	return &docker.Options{Engine: app.EngineAddress(s), MemoryBytes: s.Memory, Require: s.Require, Logger: log}
}

// Isolations are the names by which Targets selects: those of isolations, and "all".
var Isolations = []string{"worker", "container", "all"}

// Targets returns the targets of an isolation, or if it is empty those that a config uses.
func Targets(s config.Sandbox, isolation string) []*Target {
	var list []*Target
	for _, t := range targets {
		if isolation == "all" || isolation == t.isolation || isolation == "" && t.used(s) {
			list = append(list, t)
		}
	}
	return list
}

// Options say what is tried.
type Options struct {
	// Attack has the attacks; its Kind, Run and Parallel are set by Try.
	Attack attack.Options
	// Build is the version of this program.
	Build  string
	Logger *slog.Logger
}

// A Report is what became of the attacks on one target.
type Report struct {
	Name string `json:"name"`
	// Untested is why it could not be tested; empty if it was.
	Untested  string           `json:"untested,omitempty"`
	Layers    []sandbox.Layer  `json:"layers,omitempty"`
	Attacks   []attack.Outcome `json:"attacks"`
	Contained int              `json:"contained"`
	Probes    []worker.Probe   `json:"probes,omitempty"`
	// HostBytes is the most memory that the broker held meanwhile, HostAfter
	// what it held afterwards.
	HostBytes int64         `json:"host_bytes"`
	HostAfter int64         `json:"host_after_bytes"`
	Took      time.Duration `json:"took_ns"`
	OK        bool          `json:"ok"`
}

// Try runs the attacks and the probes on a target. It reports what cannot be started; an
// error means that ctx is done, or that this machine lacks something.
func (t *Target) Try(ctx context.Context, set config.Sandbox, o Options) (Report, error) {
	rep := Report{Name: t.Name, Attacks: []attack.Outcome{}, OK: true}
	r := sandbox.NewQueue(t.open(set, o), set.MaxExecutions)
	defer r.Close()
	var err error
	if rep.Layers, err = sandbox.LayersOf(ctx, r); err != nil {
		rep.Untested = err.Error()
		return rep, context.Cause(ctx)
	}
	dir, err := os.MkdirTemp("", "broker-attack-")
	if err != nil {
		return rep, err
	}
	defer os.RemoveAll(dir)
	through, err := openAttacked(r, dir, o.Logger)
	if err != nil {
		return rep, err
	}
	defer through.audit.Close()
	opts := o.Attack
	opts.Kind, opts.Run = t.kind, through.run
	opts.Parallel = min(runtime.GOMAXPROCS(0), 2) // so that the memory is that of as many scripts everywhere
	start := time.Now()
	got := attack.Run(ctx, r, opts)
	if err := context.Cause(ctx); err != nil {
		return rep, fmt.Errorf("sandbox test: %w after %s on %s", err, words.Count(len(got.Outcomes), "attack"), t.Name)
	}
	if len(got.Outcomes) == 0 {
		rep.Untested = "there is no attack of these groups on it"
		return rep, nil
	}
	rep.Attacks, rep.OK = append(rep.Attacks, got.Outcomes...), got.OK()
	rep.HostBytes, rep.HostAfter, rep.Took = got.HostBytes, got.HostAfter, time.Since(start)
	for _, o := range rep.Attacks {
		if o.Contained {
			rep.Contained++
		}
	}
	if t.probes == nil || len(opts.Groups) > 0 && !slices.Contains(opts.Groups, "escape") {
		return rep, nil
	}
	if rep.Probes, err = t.probes(ctx); err != nil {
		return rep, fmt.Errorf("sandbox test: probe a process of %s: %w", t.Name, err)
	}
	for _, probe := range rep.Probes {
		rep.OK = rep.OK && probe.Held
	}
	return rep, nil
}
