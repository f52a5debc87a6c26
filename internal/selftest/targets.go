package selftest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A target is one of the sandboxes that scripts can run in, as a test sees it.
type target struct {
	name      string
	isolation string // "worker" or "container"
	kind      attack.Kind
	open      func(set config.Sandbox, version string, log *slog.Logger) sandbox.Runner
	// probes lets processes try things that contain themselves as those of
	// scripts do; nil if nothing else contains a process.
	probes func(context.Context) ([]worker.Probe, error)
	// used says whether scripts run here under a config.
	used func(config.Sandbox) bool
}

// targets are all sandboxes.
var targets = []*target{
	{
		name: "worker", isolation: "worker", kind: attack.JavaScript,
		open: func(s config.Sandbox, version string, log *slog.Logger) sandbox.Runner {
			return application.NewWorker(s, version, 0, log)
		},
		probes: func(ctx context.Context) ([]worker.Probe, error) { return worker.ProbeAll(ctx, nil) },
		used:   func(s config.Sandbox) bool { return uses(s, "worker") },
	},
	{
		name: "container goja", isolation: "container", kind: attack.JavaScript,
		open: func(s config.Sandbox, version string, log *slog.Logger) sandbox.Runner {
			return docker.New(containerOptions(s, log))
		},
		used: func(s config.Sandbox) bool { return s.Runner != "node" && uses(s, "container") },
	},
	{
		name: "container node", isolation: "container", kind: attack.JavaScript,
		open: func(s config.Sandbox, version string, log *slog.Logger) sandbox.Runner {
			return docker.NewNode(containerOptions(s, log))
		},
		used: func(s config.Sandbox) bool { return s.Runner == "node" && uses(s, "container") },
	},
	{
		name: "container python", isolation: "container", kind: attack.Python,
		open: func(s config.Sandbox, version string, log *slog.Logger) sandbox.Runner {
			return docker.NewPython(containerOptions(s, log))
		},
		used: func(s config.Sandbox) bool {
			_, err := application.CheckEngine(application.EngineAddress(s), "")
			return err == nil
		},
	},
}

// uses says whether scripts in TypeScript or JavaScript run in an isolation under
// a config.
func uses(s config.Sandbox, isolation string) bool {
	return s.IsolationOf("typescript") == isolation || s.IsolationOf("javascript") == isolation
}

func containerOptions(s config.Sandbox, log *slog.Logger) *docker.Options {
	return &docker.Options{Engine: application.EngineAddress(s), MemoryBytes: s.Memory, Require: s.Require, Logger: log}
}

// targetsOf returns the targets of an isolation, or if it is empty those that a config
// uses.
func targetsOf(s config.Sandbox, isolation string) []*target {
	var list []*target
	for _, p := range targets {
		if isolation == "all" || isolation == p.isolation || isolation == "" && p.used(s) {
			list = append(list, p)
		}
	}
	return list
}

// A report is what became of the attacks on one target.
type report struct {
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

func printReport(w io.Writer, rep *report) error {
	if rep.Untested != "" {
		_, err := cli.Fprintf(w, "%s: not tested: %s\n\n", rep.Name, rep.Untested)
		return err
	}
	cli.Fprintf(w, "%s\n\n", rep.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range rep.Layers {
		mark := "active"
		if !l.Active {
			mark = "MISSING"
		}
		cli.Fprintf(t, "layer\t%s\t%s\t\t%s\n", l.Name, mark, l.Detail)
	}
	cli.Fprintln(t)
	for _, o := range rep.Attacks {
		mark := "contained"
		if !o.Contained {
			mark = gotOut
		}
		cli.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Group, o.Name, mark, fmt.Sprintf("%.1f s", o.Took.Seconds()), o.How+problem(o))
	}
	if len(rep.Probes) > 0 {
		cli.Fprintln(t)
	}
	held := 0
	for _, p := range rep.Probes {
		mark := gotOut
		if p.Held {
			mark = "held"
			held++
		}
		cli.Fprintf(t, "taken over\t%s\t%s\t\t%s\n", p.Name, mark, p.How)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := cli.Fprintf(w, "\n%s: %d of %d contained in %.0f s; a small script ran after each; the broker held at most %d MB, and %d MB at the end\n",
		rep.Name, rep.Contained, len(rep.Attacks), rep.Took.Seconds(), rep.HostBytes>>20, rep.HostAfter>>20)
	if err == nil && len(rep.Probes) > 0 {
		_, err = cli.Fprintf(w, "%s: %d of %d held of what a process tried that was taken over\n", rep.Name, held, len(rep.Probes))
	}
	cli.Fprintln(w)
	return err
}

const gotOut = "GOT OUT"

// problem is what an outcome says more if the attack got out.
func problem(o attack.Outcome) string {
	if o.Contained {
		return ""
	}
	return ": " + cli.OneLine(o.Problem, 200)
}
