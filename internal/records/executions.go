package records

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// Statuses are the statuses of executions.
var Statuses = []string{
	state.StatusRunning, state.StatusDone, state.StatusFailed, state.StatusRefused, state.StatusTimeout, state.StatusCancelled, state.StatusInterrupted, state.StatusWaiting,
}

// Print prints executions as a table.
func Print(w io.Writer, list []state.Execution) error {
	return cli.NewTable("EXECUTION\tSTARTED\tSTATUS\tCODE\tCALLS\tTOOK\tCLIENT\t", func(e state.Execution) []any {
		return []any{ShortID(e.ID, list), cli.Time(e.Started), e.Status, e.ExitCode, e.Calls, e.Duration.Round(time.Millisecond), ClientOf(e), cli.OneLine(e.Error, 60)}
	}).Print(w, list)
}

// ClientOf says who ran e: what the client calls itself, if it does, and how the
// broker knows it.
func ClientOf(e state.Execution) string {
	if e.ClientInfo == "" {
		return cli.OneLine(e.Client, 30)
	}
	if e.Client == "" || e.Client == "stdio" {
		return cli.OneLine(e.ClientInfo, 30)
	}
	return cli.OneLine(e.ClientInfo, 20) + " (" + cli.OneLine(e.Client, 20) + ")"
}

// PrintCode prints a script as it was recorded.
func PrintCode(t *cli.IO, e state.Execution) error {
	if e.Code == "" {
		return NotRecorded(e)
	}
	if !e.Whole() {
		cli.Fprintln(t.Err, notWhole)
	}
	_, err := io.WriteString(cli.Exact(t.Out), strings.TrimSuffix(e.Code, "\n")+"\n")
	return err
}

const notWhole = "this is not the whole script: what looks like a secret, or is beyond 64 KiB, was not recorded"

// PrintExecution prints one execution with its script and its calls.
func PrintExecution(w io.Writer, e state.Execution, calls []state.Call) error {
	cli.Fprintf(w, "%s  %s, exit code %d", e.ID, e.Status, e.ExitCode)
	if e.Error != "" {
		cli.Fprintf(w, ": %s", cli.OneLine(e.Error, 300))
	}
	cli.Fprintf(w, "\n%s, took %s, by %s\n", e.Started.Local().Format(time.DateTime), e.Duration.Round(time.Millisecond), cmp.Or(ClientOf(e), "an unknown client"))
	cli.Fprintf(w, "%s: %s came in, %s went to the model\n", cli.Count(e.Calls, "call"), cli.Size(e.BytesIn), cli.Size(e.BytesOut))
	cli.Fprintf(w, "%s, SHA-256 %s\n", e.Language, e.CodeHash)
	if e.Code != "" {
		cli.Fprintf(w, "\n%s\n", cli.Indent("  | ", strings.TrimRight(e.Code, "\n")))
		if !e.Whole() {
			cli.Fprintf(w, "  (%s)\n", notWhole)
		}
	}
	if len(e.Answer) > 0 {
		cli.Fprintf(w, "\nto the model: %s\n", cli.OneLine(string(e.Answer), 300))
	}
	if len(calls) == 0 {
		return nil
	}
	cli.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cli.Fprintf(tw, "CALL\tTOOL\tSTATUS\tCLASS\tDECISION\tTOOK\tARGUMENTS\tRESULT\t\n")
	for _, c := range calls {
		cli.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Seq, c.ID, c.Status, c.Class, c.Decision, c.Duration.Round(10*time.Microsecond), cli.Size(c.ArgBytes), cli.Size(c.ResultBytes), cli.OneLine(c.Error, 80))
		if len(c.Args) > 0 {
			cli.Fprintf(tw, "\t%s\n", cli.OneLine(string(c.Args), 120))
		}
	}
	return tw.Flush()
}

// PrintStats prints the sums of a record.
func PrintStats(w io.Writer, s api.Ledger) error {
	cli.Fprintf(w, "%s, %s, %d of them failed\n", cli.Count(s.Executions, "execution"), cli.Count(s.Calls, "call"), s.Errors)
	cli.Fprintf(w, "%s came into scripts, %s went to the model: %s stayed out, about %d tokens\n",
		cli.Size(s.BytesIn), cli.Size(s.BytesOut), cli.Size(s.BytesKept), s.TokensSaved.Results)
	switch n := s.TokensSaved.Definitions; {
	case n > 0:
		cli.Fprintf(w, "%d tokens of tool definitions are not sent in each turn\n", n)
	case n < 0:
		cli.Fprintf(w, "the broker's own definitions cost %d tokens more than those of the servers, in each turn\n", -n)
	}
	if len(s.Skills) > 0 {
		cli.Fprintln(w)
		if err := printSkillStats(w, s.Skills); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return nil
	}
	cli.Fprintln(w)
	return cli.NewTable("SERVER\tTOOL\tCALLS\tERRORS\tP50 MS\tP99 MS\tRESULTS", func(t state.ToolStats) []any {
		return []any{t.Server, t.Tool, t.Calls, t.Errors, cli.Milliseconds(t.P50), cli.Milliseconds(t.P99), cli.Size(t.ResultBytes)}
	}).Print(w, s.Tools)
}

// printSkillStats prints what was done with skills, and below each by whom.
func printSkillStats(w io.Writer, list []state.SkillStats) error {
	var rows [][]any
	for _, s := range list {
		rows = append(rows, useRow(s.Skill, "", s.SkillUse))
		for _, c := range s.Clients {
			rows = append(rows, useRow("", c.Client, c.SkillUse))
		}
	}
	return cli.NewTable("SKILL\tCLIENT\tACTIVATED\tFILES READ\tTOOLS CALLED\tFAILED\tLAST USE", func(r []any) []any { return r }).Print(w, rows)
}

func useRow(skill, client string, u state.SkillUse) []any {
	return []any{cli.OneLine(skill, 64), cli.OneLine(client, 40), u.Activations, u.Reads, u.ToolCalls, u.Errors, u.LastUse.Local().Format(time.DateTime)}
}

// ShortID is as much of an id as tells it from the others of list, and at least
// its time, which makes it unlikely that there is another like it.
func ShortID(id string, list []state.Execution) string {
	const timed = len("e_") + 10
	n := min(timed+2, len(id))
	for ; n < len(id); n++ {
		if !slices.ContainsFunc(list, func(e state.Execution) bool { return e.ID != id && strings.HasPrefix(e.ID, id[:n]) }) {
			break
		}
	}
	return id[:n]
}

// NotRecorded returns the error for a script that the record does not have, or not as it
// ran.
func NotRecorded(e state.Execution) error {
	if e.Code == "" {
		return cli.Errorf("the script of %s was not recorded\nhint: the config has \"audit\": {\"code\": false}, or had it then", e.ID)
	}
	return cli.Errorf("the script of %s was recorded without what looks like a secret, or cut\nhint: broker audit show %s --code > FILE, edit it, and save FILE", e.ID, e.ID)
}
