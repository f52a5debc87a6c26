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

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

func (a *app) sandboxCommand() *cobra.Command {
	return group("sandbox", "Where scripts run: test it, make and remove images of containers",
		a.sandboxTestCommand(), a.sandboxBuildCommand(), a.sandboxListCommand(), a.sandboxPruneCommand())
}

func (a *app) sandboxTestCommand() *cobra.Command {
	var timeout float64
	c := &cobra.Command{
		Use:   "test [GROUP...]",
		Short: "Let hostile scripts loose in the sandbox, and see whether it holds",
		Long: "Run scripts that never end, use up memory, flood their host or reach for files, each in a sandbox as the config\n" +
			"sets it up, and a small script after each. Prints what became of them; exits with 1 if something got out.\n" +
			"The groups are " + strings.Join(attack.Groups(), ", ") + "; without one, all are tried.",
		RunE: func(cmd *cobra.Command, groups []string) error {
			for _, g := range groups {
				if !slices.Contains(attack.Groups(), g) {
					return usage("unknown group of attacks %q\nhint: the groups are %s", g, strings.Join(attack.Groups(), ", "))
				}
			}
			if !(timeout > 0 && timeout <= 60) {
				return usage("--timeout is %g: use seconds, above 0 and at most 60", timeout)
			}
			return a.testSandbox(cmd.Context(), attack.Options{Timeout: time.Duration(timeout * float64(time.Second)), Groups: groups})
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 1, "seconds that each script gets")
	return c
}

// A sandboxReport is what "broker sandbox test --json" prints.
type sandboxReport struct {
	Isolation string           `json:"isolation"`
	Layers    []sandbox.Layer  `json:"layers"`
	Attacks   []attack.Outcome `json:"attacks"`
	Contained int              `json:"contained"`
	// HostBytes is the most memory that the broker held meanwhile.
	HostBytes int64 `json:"host_bytes"`
	OK        bool  `json:"ok"`
}

func (a *app) testSandbox(ctx context.Context, opts attack.Options) error {
	set, err := a.sandboxSettings()
	if err != nil {
		return err
	}
	if set.Isolation == "inprocess" {
		return usage("\"isolation\" is \"inprocess\": scripts run in the broker's own process, and hostile ones would end this one\nhint: use \"auto\"")
	}
	r := runner(set, 1, a.logger())
	defer r.Close()
	rep := sandboxReport{Isolation: set.Isolation}
	if rep.Layers, err = sandbox.LayersOf(ctx, r); err != nil {
		return err
	}
	if onTerminal(a.stderr) {
		done := 0
		opts.Progress = func(o attack.Outcome) {
			done++
			fmt.Fprintf(a.stderr, "\r\x1b[K%d: %s", done, o.Name)
		}
	}
	start := time.Now()
	got := attack.Run(ctx, r, opts)
	if opts.Progress != nil {
		fmt.Fprint(a.stderr, "\r\x1b[K")
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("sandbox test: %w after %d attacks", err, len(got.Outcomes))
	}
	rep.Attacks, rep.HostBytes, rep.OK = got.Outcomes, got.HostBytes, got.OK()
	for _, o := range rep.Attacks {
		if o.Contained {
			rep.Contained++
		}
	}
	if a.json {
		err = a.printJSON(rep)
	} else {
		err = printSandbox(a.stdout, rep, time.Since(start))
	}
	if err == nil && !rep.OK {
		return &codeError{code: exitFailed}
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
	return cfg.Broker.WithDefaults().Sandbox, nil
}

func printSandbox(w io.Writer, rep sandboxReport, took time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range rep.Layers {
		mark := "active"
		if !l.Active {
			mark = "MISSING"
		}
		fmt.Fprintf(t, "layer\t%s\t%s\t\t%s\n", l.Name, mark, l.Detail)
	}
	fmt.Fprintln(t)
	for _, o := range rep.Attacks {
		mark := "contained"
		if !o.Contained {
			mark = "GOT OUT"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Group, o.Name, mark, fmt.Sprintf("%.1f s", o.Took.Seconds()), o.How+problem(o))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d of %d contained in %.0f s; a small script ran after each; the broker held at most %d MB\n",
		rep.Contained, len(rep.Attacks), took.Seconds(), rep.HostBytes>>20)
	return err
}

// problem is what an outcome says more if the attack got out.
func problem(o attack.Outcome) string {
	if o.Contained {
		return ""
	}
	return ": " + oneLine(o.Problem, 200)
}
