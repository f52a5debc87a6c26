package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

func auditCommand(e *env) *cobra.Command {
	c := cli.Group("audit [DAY]", "Show and manage the record of executions and calls",
		auditListCommand(e), auditShowCommand(e), tailCommand(e), auditStatsCommand(e), auditEventsCommand(e), auditExportCommand(e), auditVerifyCommand(e), auditPruneCommand(e))
	return withDays(e, c)
}

// auditListOptions are the options of broker audit list.
type auditListOptions struct {
	state.Filter
}

func auditListCommand(e *env) *cobra.Command {
	o := &auditListOptions{}
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Status != "" && !slices.Contains(records.Statuses, o.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", o.Status, strings.Join(records.Statuses, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	flags := c.Flags()
	flags.IntVar(&o.Limit, "limit", 50, "at most this many executions, the newest; -1 shows all")
	flags.StringVar(&o.Status, "status", "", "only these: "+strings.Join(records.Statuses, ", "))
	flags.StringVar(&o.Server, "server", "", "only those that called this server")
	flags.StringVar(&o.Client, "client", "", "only those of this client: stdio, exec, the name of a token, or what the client calls itself")
	cli.SinceVar(flags, &o.Since, "those")
	cli.UntilVar(flags, &o.Until, "those")
	return c
}

func (o *auditListOptions) run(ctx context.Context, e *env) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		list, err := store.List(ctx, o.Filter)
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(api.Executions{Executions: list})
		}
		return records.Print(e.Out, list)
	})
}

// ago is the time d before now; no d means the beginning.
func ago(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(-d)
}

// auditShowOptions are the options of broker audit show.
type auditShowOptions struct {
	code bool
}

func auditShowCommand(e *env) *cobra.Command {
	o := &auditShowOptions{}
	c := &cobra.Command{
		Use: "show EXECUTION", Short: "Show one execution with its script and its calls",
		Long: "Show one execution with its script, as far as it was recorded, and its calls. EXECUTION is an id of audit list,\n" +
			"or how it begins. What looked like a secret reads [redacted].",
		Args: cli.OneArg("the id of an execution, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.code, "code", false, "print the script alone, to be edited and run again")
	return c
}

func (o *auditShowOptions) run(ctx context.Context, e *env, args []string) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		x, calls, err := store.Show(ctx, args[0])
		if err != nil {
			return cli.Errorf("%w\nhint: broker audit list", err)
		}
		if o.code {
			return records.PrintCode(&e.IO, x)
		}
		if e.JSON {
			return e.PrintJSON(api.Execution{Execution: x, Calls: calls})
		}
		return records.PrintExecution(e.Out, x, calls)
	})
}

// auditStatsOptions are the options of broker audit stats.
type auditStatsOptions struct {
	since time.Time
}

func auditStatsCommand(e *env) *cobra.Command {
	o := &auditStatsOptions{}
	c := &cobra.Command{
		Use: "stats", Short: "Summarize calls and saved tokens", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	cli.SinceVar(c.Flags(), &o.since, "what began")
	return c
}

func (o *auditStatsOptions) run(ctx context.Context, e *env) error {
	s, err := auditStats(ctx, e, o.since)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(s)
	}
	return records.PrintStats(e.Out, s)
}

// auditStats reads the record, and the cached catalogue for the price of its
// definitions.
func auditStats(ctx context.Context, e *env, since time.Time) (l api.Ledger, err error) {
	err = e.withRecord(ctx, func(store state.AuditStore) error {
		read := api.Reader{Audit: store}
		if e.configPath != "" || e.stateDir == "" {
			s, err := e.open(application.Overrides{})
			if err != nil {
				return err
			}
			defer s.Close()
			read.Broker = s.Broker
		}
		l, err = read.Ledger(ctx, since)
		return err
	})
	return l, err
}

// auditEventsOptions are the options of broker audit events.
type auditEventsOptions struct {
	since time.Time
	limit int
}

func auditEventsCommand(e *env) *cobra.Command {
	o := &auditEventsOptions{}
	c := &cobra.Command{
		Use: "events", Short: "List changes of servers, skills and plugins, newest first", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().IntVar(&o.limit, "limit", 50, "at most this many events, the newest; -1 shows all")
	cli.SinceVar(c.Flags(), &o.since, "what happened")
	return c
}

func (o *auditEventsOptions) run(ctx context.Context, e *env) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		list, err := store.Events(ctx, o.since, o.limit)
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(api.Events{Events: list})
		}
		for _, event := range list {
			by := ""
			if event.Client != "" {
				by = " by " + event.Client
			}
			cli.Fprintf(e.Out, "%s  %s  %s: %s%s\n", event.Time.Local().Format(time.DateTime), event.Kind, cmp.Or(event.Server, event.Name), event.Detail, by)
		}
		return nil
	})
}

// auditPruneOptions are the options of broker audit prune.
type auditPruneOptions struct {
	older time.Duration
}

func auditPruneCommand(e *env) *cobra.Command {
	o := &auditPruneOptions{}
	c := &cobra.Command{
		Use: "prune --older-than TIME", Short: "Remove old executions from the record", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	cli.TimeVar(c.Flags(), &o.older, "older-than", "such as 720h")
	return c
}

func (o *auditPruneOptions) run(ctx context.Context, e *env) error {
	if o.older == 0 {
		return cli.Usagef("prune needs --older-than\nhint: broker audit prune --older-than 720h")
	}
	setup := e.setup()
	n, err := setup.PruneRecord(ctx, ago(o.older))
	if err != nil {
		return ownError(err)
	}
	if e.JSON {
		return e.PrintJSON(map[string]int{"removed": n})
	}
	cli.Fprintf(e.Out, "removed %s\n", cli.Count(n, "execution"))
	return nil
}
