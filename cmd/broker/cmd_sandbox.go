package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/contain"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
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
			if isolation != "" && !slices.Contains(contain.Isolations, isolation) {
				return cli.Usagef("--isolation is %q: use %s", isolation, strings.Join(contain.Isolations, ", "))
			}
			return a.testSandbox(cmd.Context(), isolation, attack.Options{Timeout: time.Duration(timeout * float64(time.Second)), Groups: groups})
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 1, "seconds that each script gets")
	c.Flags().StringVar(&isolation, "isolation", "", "what to test: worker, container or all (default as configured)")
	return c
}

// A sandboxReport is what "broker sandbox test --json" prints.
type sandboxReport struct {
	Sandboxes []contain.Report `json:"sandboxes"`
	OK        bool             `json:"ok"`
}

// testSandbox tries the sandboxes where the config lets scripts run, or those of an
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
	for _, target := range contain.Targets(set, isolation) {
		got, err := a.tryTarget(ctx, target, set, opts)
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
				err = printTarget(a.Out, &rep.Sandboxes[i])
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

// tryTarget tries one sandbox, and shows on a terminal how far that is.
func (a *app) tryTarget(ctx context.Context, target *contain.Target, set config.Sandbox, opts attack.Options) (contain.Report, error) {
	done := 0
	if cli.IsTerminal(a.Err) {
		opts.Progress = func(o attack.Outcome) {
			done++
			cli.ReplaceLine(a.Err, "%s: %d: %s", target.Name, done, o.Name)
		}
		defer cli.ReplaceLine(a.Err, "")
	}
	return target.Try(ctx, set, contain.Options{Attack: opts, Build: version, Logger: a.logger()})
}

// printTarget prints what became of the attacks on one sandbox.
func printTarget(w io.Writer, rep *contain.Report) error {
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
