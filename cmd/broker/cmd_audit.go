package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) auditCommand() *cobra.Command {
	c := group("audit [DAY]", "Show and manage the record of executions and calls",
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
		return nil, hinted("%w\nhint: broker serve and broker exec create it; --state-dir names another directory", err)
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

// stateOnly is the state directory; with --state-dir no config is needed.
func (a *app) stateOnly() (string, error) {
	if a.stateDir != "" && a.configPath == "" {
		return a.stateOf("")
	}
	path, err := config.Find(a.configPath)
	if errors.Is(err, config.ErrNoConfig) {
		// Skills are managed without a config too, and leave a record.
		if state, e := a.stateOfNone(); e == nil {
			return state, nil
		}
	}
	if err != nil {
		return "", err
	}
	return a.stateOf(path)
}

// stateOfNone is the state directory of the config that is not there yet, if
// something is recorded in it.
func (a *app) stateOfNone() (string, error) {
	path, _, err := config.Target(a.configPath)
	if err != nil {
		return "", err
	}
	dir, err := a.stateOf(path)
	if err != nil {
		return "", err
	}
	store, err := application.OpenDirectory(dir, state.Limits{}, a.logger()).Audit(context.Background(), state.AuditOptions{ReadOnly: true})
	if err != nil {
		return "", err
	}
	return dir, store.Close()
}

var auditStatuses = []string{
	state.StatusRunning, state.StatusDone, state.StatusFailed, state.StatusRefused, state.StatusTimeout, state.StatusCancelled, state.StatusInterrupted, state.StatusWaiting,
}

func (a *app) auditListCommand() *cobra.Command {
	var f state.Filter
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: noArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.Status != "" && !slices.Contains(auditStatuses, f.Status) {
				return usage("unknown status %q\nhint: %s", f.Status, strings.Join(auditStatuses, ", "))
			}
			return nil
		},
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			list, err := store.List(ctx, f)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(api.Executions{Executions: list})
			}
			return printExecutions(a.stdout, list)
		}),
	}
	flags := c.Flags()
	flags.IntVar(&f.Limit, "limit", 50, "at most this many executions, the newest; -1 shows all")
	flags.StringVar(&f.Status, "status", "", "only these: "+strings.Join(auditStatuses, ", "))
	flags.StringVar(&f.Server, "server", "", "only those that called this server")
	flags.StringVar(&f.Client, "client", "", "only those of this client: stdio, exec, the name of a token, or what the client calls itself")
	sinceVar(flags, &f.Since, "those")
	untilVar(flags, &f.Until, "those")
	return c
}

// orEmpty keeps an empty list from being printed as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ago is the time d before now; no d means the beginning.
func ago(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(-d)
}

func printExecutions(w io.Writer, list []state.Execution) error {
	return table[state.Execution]{"EXECUTION\tSTARTED\tSTATUS\tCODE\tCALLS\tTOOK\tCLIENT\t", func(e state.Execution) []any {
		return []any{shortID(e.ID, list), when(e.Started), e.Status, e.ExitCode, e.Calls, e.Duration.Round(time.Millisecond), clientOf(e), oneLine(e.Error, 60)}
	}}.print(w, list)
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

// when is a time for a list: without the year if it is this one.
func when(t time.Time) string {
	t = t.Local()
	if t.Year() == time.Now().Year() {
		return t.Format("Jan 02 15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// clientOf says who ran e: what the client calls itself, if it does, and how the
// broker knows it.
func clientOf(e state.Execution) string {
	if e.ClientInfo == "" {
		return oneLine(e.Client, 30)
	}
	if e.Client == "" || e.Client == "stdio" {
		return oneLine(e.ClientInfo, 30)
	}
	return oneLine(e.ClientInfo, 20) + " (" + oneLine(e.Client, 20) + ")"
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

func (a *app) auditShowCommand() *cobra.Command {
	var code bool
	c := &cobra.Command{
		Use: "show EXECUTION", Short: "Show one execution with its script and its calls",
		Long: "Show one execution with its script, as far as it was recorded, and its calls. EXECUTION is an id of audit list,\n" +
			"or how it begins. What looked like a secret reads [redacted].",
		Args: oneArg("the id of an execution, or how it begins"),
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, args []string) error {
			e, calls, err := store.Show(ctx, args[0])
			if err != nil {
				return hinted("%w\nhint: broker audit list", err)
			}
			if code {
				return a.printCode(e)
			}
			if a.json {
				return a.printJSON(api.Execution{Execution: e, Calls: calls})
			}
			return printExecution(a.stdout, e, calls)
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
		sayln(a.stderr, notWhole)
	}
	_, err := io.WriteString(exact(a.stdout), strings.TrimSuffix(e.Code, "\n")+"\n")
	return err
}

const notWhole = "this is not the whole script: what looks like a secret, or is beyond 64 KiB, was not recorded"

func printExecution(w io.Writer, e state.Execution, calls []state.Call) error {
	say(w, "%s  %s, exit code %d", e.ID, e.Status, e.ExitCode)
	if e.Error != "" {
		say(w, ": %s", oneLine(e.Error, 300))
	}
	say(w, "\n%s, took %s, by %s\n", e.Started.Local().Format(time.DateTime), e.Duration.Round(time.Millisecond), cmp.Or(clientOf(e), "an unknown client"))
	say(w, "%s: %s came in, %s went to the model\n", counted(e.Calls, "call"), size(e.BytesIn), size(e.BytesOut))
	say(w, "%s, SHA-256 %s\n", e.Language, e.CodeHash)
	if e.Code != "" {
		say(w, "\n%s\n", indented("  | ", strings.TrimRight(e.Code, "\n")))
		if !e.Whole() {
			say(w, "  (%s)\n", notWhole)
		}
	}
	if len(e.Answer) > 0 {
		say(w, "\nto the model: %s\n", oneLine(string(e.Answer), 300))
	}
	if len(calls) == 0 {
		return nil
	}
	sayln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "CALL\tTOOL\tSTATUS\tCLASS\tDECISION\tTOOK\tARGUMENTS\tRESULT\t\n")
	for _, c := range calls {
		say(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Seq, c.ID, c.Status, c.Class, c.Decision, c.Duration.Round(10*time.Microsecond), size(c.ArgBytes), size(c.ResultBytes), oneLine(c.Error, 80))
		if len(c.Args) > 0 {
			say(tw, "\t%s\n", oneLine(string(c.Args), 120))
		}
	}
	return tw.Flush()
}

func (a *app) auditStatsCommand() *cobra.Command {
	var since time.Time
	c := &cobra.Command{
		Use: "stats", Short: "Summarize calls and saved tokens", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.auditStats(cmd.Context(), since)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(s)
			}
			return printStats(a.stdout, s)
		},
	}
	sinceVar(c.Flags(), &since, "what began")
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
		defer s.close()
		read.Broker = s.broker
	}
	return read.Ledger(ctx, since)
}

func printStats(w io.Writer, s api.Ledger) error {
	say(w, "%s, %s, %d of them failed\n", counted(s.Executions, "execution"), counted(s.Calls, "call"), s.Errors)
	say(w, "%s came into scripts, %s went to the model: %s stayed out, about %d tokens\n",
		size(s.BytesIn), size(s.BytesOut), size(s.BytesKept), s.TokensSaved.Results)
	switch n := s.TokensSaved.Definitions; {
	case n > 0:
		say(w, "%d tokens of tool definitions are not sent in each turn\n", n)
	case n < 0:
		say(w, "the broker's own definitions cost %d tokens more than those of the servers, in each turn\n", -n)
	}
	if len(s.Skills) > 0 {
		sayln(w)
		if err := printSkillStats(w, s.Skills); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return nil
	}
	sayln(w)
	return table[state.ToolStats]{"SERVER\tTOOL\tCALLS\tERRORS\tP50 MS\tP99 MS\tRESULTS", func(t state.ToolStats) []any {
		return []any{t.Server, t.Tool, t.Calls, t.Errors, ms(t.P50), ms(t.P99), size(t.ResultBytes)}
	}}.print(w, s.Tools)
}

func (a *app) auditEventsCommand() *cobra.Command {
	var since time.Time
	var limit int
	c := &cobra.Command{
		Use: "events", Short: "List changes of servers, skills and plugins, newest first", Args: noArgs,
		RunE: a.withAudit(func(ctx context.Context, store state.AuditStore, _ []string) error {
			list, err := store.Events(ctx, since, limit)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(api.Events{Events: list})
			}
			for _, e := range list {
				by := ""
				if e.Client != "" {
					by = " by " + e.Client
				}
				say(a.stdout, "%s  %s  %s: %s%s\n", e.Time.Local().Format(time.DateTime), e.Kind, cmp.Or(e.Server, e.Name), e.Detail, by)
			}
			return nil
		}),
	}
	c.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest; -1 shows all")
	sinceVar(c.Flags(), &since, "what happened")
	return c
}

func (a *app) auditPruneCommand() *cobra.Command {
	var older time.Duration
	c := &cobra.Command{
		Use: "prune --older-than TIME", Short: "Remove old executions from the record", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == 0 {
				return usage("prune needs --older-than\nhint: broker audit prune --older-than 720h")
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
			if a.json {
				return a.printJSON(map[string]int{"removed": n})
			}
			say(a.stdout, "removed %s\n", counted(n, "execution"))
			return nil
		},
	}
	timeVar(c.Flags(), &older, "older-than", "such as 720h")
	return c
}

// ms is a time in milliseconds for people.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// printSkillStats prints what was done with skills, and below each by whom.
func printSkillStats(w io.Writer, list []state.SkillStats) error {
	var rows [][]any
	for _, s := range list {
		rows = append(rows, useRow(s.Skill, "", s.SkillUse))
		for _, c := range s.Clients {
			rows = append(rows, useRow("", c.Client, c.SkillUse))
		}
	}
	return table[[]any]{"SKILL\tCLIENT\tACTIVATED\tFILES READ\tTOOLS CALLED\tFAILED\tLAST USE", func(r []any) []any { return r }}.print(w, rows)
}

func useRow(skill, client string, u state.SkillUse) []any {
	return []any{oneLine(skill, 64), oneLine(client, 40), u.Activations, u.Reads, u.ToolCalls, u.Errors, u.LastUse.Local().Format(time.DateTime)}
}
