package selftest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

// Isolations are the values of --isolation.
var Isolations = []string{"worker", "container", "all"}

// A sandboxReport is what "broker sandbox test --json" prints.
type sandboxReport struct {
	Sandboxes []report `json:"sandboxes"`
	OK        bool     `json:"ok"`
}

// Run tries the sandboxes where the config lets scripts run, or those of an
// isolation, and prints what became of the attacks.
func Run(ctx context.Context, t *cli.IO, set config.Sandbox, isolation string, opts attack.Options, version string, log *slog.Logger) error {
	if isolation == "" && set.Isolation == "inprocess" {
		return cli.Usagef("\"isolation\" is \"inprocess\": scripts run in the broker's own process, and hostile ones would end this one\nhint: use \"auto\"")
	}
	rep := sandboxReport{OK: true}
	tested := 0
	for _, p := range targetsOf(set, isolation) {
		got, err := prove(ctx, t, p, set, opts, version, log)
		if err != nil {
			return err
		}
		rep.Sandboxes = append(rep.Sandboxes, got)
		rep.OK = rep.OK && got.OK
		if got.Untested == "" {
			tested++
		}
	}
	rep.OK = rep.OK && tested > 0
	if err := rep.print(t); err != nil {
		return err
	}
	if !rep.OK {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

func (rep sandboxReport) print(t *cli.IO) error {
	if t.JSON {
		return t.PrintJSON(rep)
	}
	for i := range rep.Sandboxes {
		if err := printReport(t.Out, &rep.Sandboxes[i]); err != nil {
			return err
		}
	}
	return nil
}

// prove runs the attacks and the probes on one target. It reports what cannot be
// started; an error means that the caller has cancelled.
func prove(ctx context.Context, t *cli.IO, p *target, set config.Sandbox, opts attack.Options, version string, log *slog.Logger) (report, error) {
	rep := report{Name: p.name, Attacks: []attack.Outcome{}, OK: true}
	r := sandbox.NewQueue(p.open(set, version, log), set.MaxExecutions)
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
	through, err := openAttacked(r, dir, log)
	if err != nil {
		return rep, err
	}
	defer through.audit.Close()
	opts.Kind, opts.Run = p.kind, through.run
	opts.Parallel = min(runtime.GOMAXPROCS(0), 2) // so that the memory is that of as many scripts everywhere
	done := 0
	if cli.IsTerminal(t.Err) {
		opts.Progress = func(o attack.Outcome) {
			done++
			cli.ReplaceLine(t.Err, "%s: %d: %s", p.name, done, o.Name)
		}
		defer cli.ReplaceLine(t.Err, "")
	}
	start := time.Now()
	got := attack.Run(ctx, r, opts)
	if err := context.Cause(ctx); err != nil {
		return rep, fmt.Errorf("sandbox test: %w after %s on %s", err, cli.Count(len(got.Outcomes), "attack"), p.name)
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
	if p.probes == nil || len(opts.Groups) > 0 && !slices.Contains(opts.Groups, "escape") {
		return rep, nil
	}
	if rep.Probes, err = p.probes(ctx); err != nil {
		return rep, fmt.Errorf("sandbox test: probe a process of %s: %w", p.name, err)
	}
	for _, probe := range rep.Probes {
		rep.OK = rep.OK && probe.Held
	}
	return rep, nil
}
