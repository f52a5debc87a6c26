package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

func (a *app) sandboxCommand() *cobra.Command {
	return cli.Group("sandbox", "Test the sandbox, and manage its container images",
		a.sandboxTestCommand(), a.sandboxBuildCommand(), a.sandboxListCommand(), a.sandboxPruneCommand())
}

func (a *app) sandboxTestCommand() *cobra.Command {
	var timeout float64
	var isolation string
	c := &cobra.Command{
		Use:   "test [GROUP...]",
		Short: "Run hostile scripts in the sandbox and check that it contains them",
		Long: "Run scripts that never end, use up memory, flood their host or reach for files, each in the configured sandbox, and a\n" +
			"small script after each. Then let a process with the same containment try what an attacker who has taken it over\n" +
			"could do. Print the outcome of each; exit with 1 if something escaped.\n" +
			"The groups are " + strings.Join(attack.Groups(), ", ") + "; without one, all are tried.",
		RunE: func(cmd *cobra.Command, groups []string) error {
			for _, g := range groups {
				if !slices.Contains(attack.Groups(), g) {
					return cli.Usagef("unknown group of attacks %q\nhint: the groups are %s", g, strings.Join(attack.Groups(), ", "))
				}
			}
			if !(timeout > 0 && timeout <= 60) {
				return cli.Usagef("--timeout is %g: use seconds, above 0 and at most 60", timeout)
			}
			if isolation != "" && !slices.Contains(isolations, isolation) {
				return cli.Usagef("--isolation is %q: use %s", isolation, strings.Join(isolations, ", "))
			}
			return a.testSandbox(cmd.Context(), isolation, attack.Options{Timeout: time.Duration(timeout * float64(time.Second)), Groups: groups})
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 1, "seconds that each script gets")
	c.Flags().StringVar(&isolation, "isolation", "", "what to test: worker, container or all (default as configured)")
	return c
}

// isolations are the values of --isolation.
var isolations = []string{"worker", "container", "all"}

// A sandboxReport is what "broker sandbox test --json" prints.
type sandboxReport struct {
	Sandboxes []placeReport `json:"sandboxes"`
	OK        bool          `json:"ok"`
}

// testSandbox tries the places where the config lets scripts run, or those of an
// isolation.
func (a *app) testSandbox(ctx context.Context, isolation string, opts attack.Options) error {
	set, err := a.sandboxSettings()
	if err != nil {
		return err
	}
	if isolation == "" && set.Isolation == "inprocess" {
		return cli.Usagef("\"isolation\" is \"inprocess\": scripts run in the broker's own process, and hostile ones would end this one\nhint: use \"auto\"")
	}
	rep := sandboxReport{OK: true}
	tested := 0
	for _, p := range placesOf(set, isolation) {
		got, err := a.prove(ctx, p, set, opts)
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
	if a.JSON {
		err = a.PrintJSON(rep)
	} else {
		for i := range rep.Sandboxes {
			if err == nil {
				err = printPlace(a.Out, &rep.Sandboxes[i])
			}
		}
	}
	if err == nil && !rep.OK {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return err
}

// sandboxSettings are those of the config, if there is one: the test needs none.
func (a *app) sandboxSettings() (config.Sandbox, error) {
	cfg, err := a.load()
	if errors.Is(err, config.ErrNoConfig) && a.configPath == "" {
		return config.Broker{}.WithDefaults().Sandbox, nil
	}
	if err != nil {
		return config.Sandbox{}, err
	}
	return cfg.SandboxSettings(), nil
}

// prove runs the attacks and the probes on one place. It reports what cannot be
// started; an error means that the caller has cancelled.
func (a *app) prove(ctx context.Context, p *place, set config.Sandbox, opts attack.Options) (placeReport, error) {
	rep := placeReport{Name: p.name, Attacks: []attack.Outcome{}, OK: true}
	r := sandbox.NewQueue(p.open(set, a.logger()), set.MaxExecutions)
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
	through, err := openAttacked(r, dir, a.logger())
	if err != nil {
		return rep, err
	}
	defer through.audit.Close()
	opts.Kind, opts.Run = p.kind, through.run
	opts.Parallel = min(runtime.GOMAXPROCS(0), 2) // so that the memory is that of as many scripts everywhere
	done := 0
	if cli.IsTerminal(a.Err) {
		opts.Progress = func(o attack.Outcome) {
			done++
			cli.ReplaceLine(a.Err, "%s: %d: %s", p.name, done, o.Name)
		}
		defer cli.ReplaceLine(a.Err, "")
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
