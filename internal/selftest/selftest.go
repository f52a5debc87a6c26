package selftest

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/mcpbroker/mcpbroker/internal/app/contain"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

// A sandboxReport is what "broker sandbox test --json" prints.
type sandboxReport struct {
	Sandboxes []contain.Report `json:"sandboxes"`
	OK        bool             `json:"ok"`
}

// Run tries the sandboxes where the config lets scripts run, or those of an
// isolation.
func Run(ctx context.Context, t *cli.IO, set config.Sandbox, isolation string, opts contain.Options) error {
	if isolation == "" && set.Isolation == "inprocess" {
		return cli.Usagef("\"isolation\" is \"inprocess\": scripts run in the broker's own process, and hostile ones would end this one\nhint: use \"auto\"")
	}
	rep := sandboxReport{OK: true}
	tested := 0
	for _, target := range contain.Targets(set, isolation) {
		got, err := tryTarget(ctx, t, target, set, opts)
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
		if err := printTarget(t.Out, &rep.Sandboxes[i]); err != nil {
			return err
		}
	}
	return nil
}

// tryTarget tries one sandbox, and shows on a terminal how far that is.
func tryTarget(ctx context.Context, t *cli.IO, target *contain.Target, set config.Sandbox, opts contain.Options) (contain.Report, error) {
	done := 0
	if cli.IsTerminal(t.Err) {
		opts.Attack.Progress = func(o attack.Outcome) {
			done++
			cli.ReplaceLine(t.Err, "%s: %d: %s", target.Name, done, o.Name)
		}
		defer cli.ReplaceLine(t.Err, "")
	}
	return target.Try(ctx, set, opts)
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
