package main

import (
	"cmp"
	"context"
	"errors"
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

func (a *app) auditCommand() *cobra.Command {
	c := cli.Group("audit [DAY]", "Show and manage the record of executions and calls",
		a.auditListCommand(), a.auditShowCommand(), a.tailCommand(), a.auditStatsCommand(), a.auditEventsCommand(), a.auditExportCommand(), a.auditVerifyCommand(), a.auditPruneCommand())
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

func (a *app) auditListCommand() *cobra.Command {
	var f state.Filter
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.Status != "" && !slices.Contains(records.Statuses, f.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", f.Status, strings.Join(records.Statuses, ", "))
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
			return records.Print(a.Out, list)
		}),
	}
	flags := c.Flags()
	flags.IntVar(&f.Limit, "limit", 50, "at most this many executions, the newest; -1 shows all")
	flags.StringVar(&f.Status, "status", "", "only these: "+strings.Join(records.Statuses, ", "))
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
				return records.PrintCode(&a.IO, e)
			}
			if a.JSON {
				return a.PrintJSON(api.Execution{Execution: e, Calls: calls})
			}
			return records.PrintExecution(a.Out, e, calls)
		}),
	}
	c.Flags().BoolVar(&code, "code", false, "print the script alone, to be edited and run again")
	return c
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
			return records.PrintStats(a.Out, s)
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
