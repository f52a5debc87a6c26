package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) auditCommand() *cobra.Command {
	c := cli.Group("audit [DAY]", "Show and manage the record of executions and calls",
		a.auditListCommand(), a.auditShowCommand(), a.auditStatsCommand(), a.auditEventsCommand(), a.auditExportCommand(), a.auditVerifyCommand(), a.auditPruneCommand())
	return a.withDays(c)
}

// readAudit opens the record of the config's state directory. One that has
// not been written yet is said so, not made.
func (a *app) readAudit() (state.AuditStore, error) {
	st, err := a.openAnyState()
	if err != nil {
		return nil, err
	}
	store, err := st.Audit(context.Background(), state.AuditOptions{ReadOnly: true})
	if err != nil {
		_ = st.Close() // the first error is what matters
		return nil, cli.Errorf("%w\nhint: broker serve and broker exec create it; --state-dir names another directory", err)
	}
	return openRecord{store, st}, nil
}

// An openRecord closes its state too.
type openRecord struct {
	state.AuditStore
	in *application.State
}

func (r openRecord) Close() error { return errors.Join(r.AuditStore.Close(), r.in.Close()) }

// withAudit is a command's RunE that does f with the record.
func (a *app) withAudit(f func(ctx context.Context, store state.AuditStore, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := a.readAudit()
		if err != nil {
			return err
		}
		defer store.Close()
		return f(cmd.Context(), store, args)
	}
}

var auditStatuses = []string{
	state.StatusRunning, state.StatusDone, state.StatusFailed, state.StatusRefused, state.StatusTimeout, state.StatusCancelled, state.StatusInterrupted, state.StatusWaiting,
}

func (a *app) auditListCommand() *cobra.Command {
	var f state.Filter
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.Status != "" && !slices.Contains(auditStatuses, f.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", f.Status, strings.Join(auditStatuses, ", "))
			}
			return nil
		},
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			list, err := store.List(ctx, f)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(api.Executions{Executions: list})
			}
			return printExecutions(a.Out, list)
		}),
	}
	flags := c.Flags()
	flags.IntVar(&f.Limit, "limit", 50, "at most this many executions, the newest; -1 shows all")
	flags.StringVar(&f.Status, "status", "", "only these: "+strings.Join(auditStatuses, ", "))
	flags.StringVar(&f.Server, "server", "", "only those that called this server")
	flags.StringVar(&f.Client, "client", "", "only those of this client: stdio, exec, the name of a token, or what the client calls itself")
	cli.SinceVar(flags, &f.Since, "those")
	cli.UntilVar(flags, &f.Until, "those")
	return c
}

// ago is the time d before now; no d means the beginning.
func ago(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(-d)
}

func printExecutions(w io.Writer, list []state.Execution) error {
	return cli.NewTable("EXECUTION\tSTARTED\tSTATUS\tCODE\tCALLS\tTOOK\tCLIENT\t", func(e state.Execution) []any {
		return []any{shortID(e.ID, list), cli.Time(e.Started), e.Status, e.ExitCode, e.Calls, e.Duration.Round(time.Millisecond), clientOf(e), cli.OneLine(e.Error, 60)}
	}).Print(w, list)
}

// clientOf says who ran e: what the client calls itself, if it does, and how the
// broker knows it.
func clientOf(e state.Execution) string {
	if e.ClientInfo == "" {
		return cli.OneLine(e.Client, 30)
	}
	if e.Client == "" || e.Client == "stdio" {
		return cli.OneLine(e.ClientInfo, 30)
	}
	return cli.OneLine(e.ClientInfo, 20) + " (" + cli.OneLine(e.Client, 20) + ")"
}

func (a *app) auditShowCommand() *cobra.Command {
	var code bool
	c := &cobra.Command{
		Use: "show EXECUTION", Short: "Show one execution with its script and its calls",
		Long: "Show one execution with its script, as far as it was recorded, and its calls. EXECUTION is an id of audit list,\n" +
			"or how it begins. What looked like a secret reads [redacted].",
		Args: cli.OneArg("the id of an execution, or how it begins"),
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, args []string) error {
			e, calls, err := store.Show(ctx, args[0])
			if err != nil {
				return cli.Errorf("%w\nhint: broker audit list", err)
			}
			if code {
				return a.printCode(e)
			}
			if a.JSON {
				return a.PrintJSON(api.Execution{Execution: e, Calls: calls})
			}
			return printExecution(a.Out, e, calls)
		}),
	}
	c.Flags().BoolVar(&code, "code", false, "print the script alone, to be edited and run again")
	return c
}

// printCode prints a script as it was recorded.
func (a *app) printCode(e state.Execution) error {
	if e.Code == "" {
		return notRecorded(e)
	}
	if !e.Whole() {
		cli.Fprintln(a.Err, notWhole)
	}
	_, err := io.WriteString(cli.Exact(a.Out), strings.TrimSuffix(e.Code, "\n")+"\n")
	return err
}

const notWhole = "this is not the whole script: what looks like a secret, or is beyond 64 KiB, was not recorded"

func printExecution(w io.Writer, e state.Execution, calls []state.Call) error {
	cli.Fprintf(w, "%s  %s, exit code %d", e.ID, e.Status, e.ExitCode)
	if e.Error != "" {
		cli.Fprintf(w, ": %s", cli.OneLine(e.Error, 300))
	}
	cli.Fprintf(w, "\n%s, took %s, by %s\n", e.Started.Local().Format(time.DateTime), e.Duration.Round(time.Millisecond), cmp.Or(clientOf(e), "an unknown client"))
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

func (a *app) auditStatsCommand() *cobra.Command {
	var since time.Time
	c := &cobra.Command{
		Use: "stats", Short: "Summarize calls and saved tokens", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.auditStats(cmd.Context(), since)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(s)
			}
			return printStats(a.Out, s)
		},
	}
	cli.SinceVar(c.Flags(), &since, "what began")
	return c
}

// auditStats reads the record, and the cached catalogue for the price of its
// definitions.
func (a *app) auditStats(ctx context.Context, since time.Time) (api.Ledger, error) {
	store, err := a.readAudit()
	if err != nil {
		return api.Ledger{}, err
	}
	defer store.Close()
	read := api.Reader{Audit: store}
	if a.configPath != "" || a.stateDir == "" {
		s, err := a.open(-1)
		if err != nil {
			return api.Ledger{}, err
		}
		defer s.Close()
		read.Broker = s.Broker
	}
	return read.Ledger(ctx, since)
}

func printStats(w io.Writer, s api.Ledger) error {
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

func (a *app) auditEventsCommand() *cobra.Command {
	var since time.Time
	var limit int
	c := &cobra.Command{
		Use: "events", Short: "List changes of servers, skills and plugins, newest first", Args: cli.NoArgs,
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			list, err := store.Events(ctx, since, limit)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(api.Events{Events: list})
			}
			for _, e := range list {
				by := ""
				if e.Client != "" {
					by = " by " + e.Client
				}
				cli.Fprintf(a.Out, "%s  %s  %s: %s%s\n", e.Time.Local().Format(time.DateTime), e.Kind, cmp.Or(e.Server, e.Name), e.Detail, by)
			}
			return nil
		}),
	}
	c.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest; -1 shows all")
	cli.SinceVar(c.Flags(), &since, "what happened")
	return c
}

func (a *app) auditPruneCommand() *cobra.Command {
	var older time.Duration
	c := &cobra.Command{
		Use: "prune --older-than TIME", Short: "Remove old executions from the record", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == 0 {
				return cli.Usagef("prune needs --older-than\nhint: broker audit prune --older-than 720h")
			}
			st, err := a.openAnyState()
			if err != nil {
				return err
			}
			defer st.Close()
			anchor, err := a.anchorFile("")
			if err != nil {
				return err
			}
			store, err := st.Audit(cmd.Context(), state.AuditOptions{Days: -1, MaxBytes: -1, Anchor: anchor})
			if err != nil {
				return err
			}
			defer store.Close()
			n, err := store.Prune(cmd.Context(), ago(older))
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]int{"removed": n})
			}
			cli.Fprintf(a.Out, "removed %s\n", cli.Count(n, "execution"))
			return nil
		},
	}
	cli.TimeVar(c.Flags(), &older, "older-than", "such as 720h")
	return c
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

// shortID is as much of an id as tells it from the others of list, and at least
// its time, which makes it unlikely that there is another like it.
func shortID(id string, list []state.Execution) string {
	const timed = len("e_") + 10
	n := min(timed+2, len(id))
	for ; n < len(id); n++ {
		if !slices.ContainsFunc(list, func(e state.Execution) bool { return e.ID != id && strings.HasPrefix(e.ID, id[:n]) }) {
			break
		}
	}
	return id[:n]
}
