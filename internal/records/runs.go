package records

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// PrintPending prints waiting calls, in full if whole is set.
func PrintPending(t *cli.IO, tokens api.Tokens, run state.Run, calls []state.RunCall, whole bool) error {
	pending, cut := []api.RunCall{}, false
	for _, c := range calls {
		p := api.RunCallOf(c, run.Principal, tokens, whole)
		pending, cut = append(pending, p), cut || p.Bytes > 0
	}
	if t.JSON {
		return t.PrintJSON(map[string]any{"run_id": run.ID, "expires": run.Expires, "pending": pending})
	}
	if len(pending) == 0 {
		next := ""
		if run.Status == state.StatusDecided {
			next = "; to go on: broker runs resume " + run.ID
		}
		cli.Fprintf(t.Out, "run %s waits for no decision%s\n", run.ID, next)
		return nil
	}
	cli.Fprintf(t.Out, "run %s of %s waits for a decision, at the latest until %s:\n", run.ID, ClientLabel(run.Principal), run.Expires.Local().Format(time.DateTime))
	for _, p := range pending {
		cli.Fprintf(t.Out, "%s\n", cli.Lines(p.String()))
	}
	if cut {
		cli.Fprintf(t.Out, "to see all arguments: broker approvals show %s --full\n", run.ID)
	}
	return nil
}

// PrintRuns prints runs, or the text none if there are none.
func PrintRuns(t *cli.IO, list []state.Run, none string) error {
	if t.JSON {
		return t.PrintJSON(api.Runs{Runs: list})
	}
	return cli.PrintList(t, list, none, cli.NewTable("RUN\tSTARTED\tSTATUS\tCODE\tCALLS\tFOR\t", func(r state.Run) []any {
		return []any{r.ID, r.Started.Local().Format(time.DateTime), runStatus(r), r.ExitCode, r.Calls, ClientLabel(r.Principal), cli.OneLine(r.Error, 60)}
	}))
}

// runStatus returns the status of a run, with the command that goes on with a decided one.
func runStatus(r state.Run) string {
	if r.Status == state.StatusDecided {
		return r.Status + ": broker runs resume " + r.ID
	}
	return r.Status
}

// PrintRun prints a run with its script and its calls.
func PrintRun(t *cli.IO, run api.Run) error {
	if t.JSON {
		return t.PrintJSON(run)
	}
	if err := PrintRuns(t, []state.Run{run.Run}, ""); err != nil {
		return err
	}
	cli.Fprintf(t.Out, "\n%s\n\n", cli.Indent("  | ", run.Run.Code))
	return printRunCalls(t.Out, run.Calls)
}

func printRunCalls(w io.Writer, calls []api.RunCall) error {
	return cli.NewTable("CALL\tTOOL\tCLASS\tSTATE\tARGUMENTS", func(c api.RunCall) []any {
		n := strconv.Itoa(c.N)
		if c.N < 0 {
			n = "before" // of the script before
		}
		return []any{n, c.Tool, c.Class, c.State, cli.OneLine(string(c.Args), 100)}
	}).Print(w, calls)
}

// ClientLabel is how a client is called in a table.
func ClientLabel(name string) string {
	client, profile := state.OfProfile(name)
	if client = cmp.Or(client, "(local)"); profile != "" {
		client += ", profile " + profile
	}
	return client
}
