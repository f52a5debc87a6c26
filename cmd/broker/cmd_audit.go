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

func auditListCommand(e *env) *cobra.Command {
	var f state.Filter
	c := &cobra.Command{
		Use: "list", Short: "List executions, newest first", Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.Status != "" && !slices.Contains(records.Statuses, f.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", f.Status, strings.Join(records.Statuses, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withRecord(cmd.Context(), func(store state.AuditStore) error {
				list, err := store.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				if e.JSON {
					return e.PrintJSON(api.Executions{Executions: list})
				}
				return records.Print(e.Out, list)
			})
		},
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

func auditShowCommand(e *env) *cobra.Command {
	var code bool
	c := &cobra.Command{
		Use: "show EXECUTION", Short: "Show one execution with its script and its calls",
		Long: "Show one execution with its script, as far as it was recorded, and its calls. EXECUTION is an id of audit list,\n" +
			"or how it begins. What looked like a secret reads [redacted].",
		Args: cli.OneArg("the id of an execution, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.withRecord(cmd.Context(), func(store state.AuditStore) error {
				x, calls, err := store.Show(cmd.Context(), args[0])
				if err != nil {
					return cli.Errorf("%w\nhint: broker audit list", err)
				}
				if code {
					return records.PrintCode(&e.IO, x)
				}
				if e.JSON {
					return e.PrintJSON(api.Execution{Execution: x, Calls: calls})
				}
				return records.PrintExecution(e.Out, x, calls)
			})
		},
	}
	c.Flags().BoolVar(&code, "code", false, "print the script alone, to be edited and run again")
	return c
}

func auditStatsCommand(e *env) *cobra.Command {
	var since time.Time
	c := &cobra.Command{
		Use: "stats", Short: "Summarize calls and saved tokens", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := auditStats(cmd.Context(), e, since)
			if err != nil {
				return err
			}
			if e.JSON {
				return e.PrintJSON(s)
			}
			return records.PrintStats(e.Out, s)
		},
	}
	cli.SinceVar(c.Flags(), &since, "what began")
	return c
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

func auditEventsCommand(e *env) *cobra.Command {
	var since time.Time
	var limit int
	c := &cobra.Command{
		Use: "events", Short: "List changes of servers, skills and plugins, newest first", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withRecord(cmd.Context(), func(store state.AuditStore) error {
				list, err := store.Events(cmd.Context(), since, limit)
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
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "at most this many events, the newest; -1 shows all")
	cli.SinceVar(c.Flags(), &since, "what happened")
	return c
}

func auditPruneCommand(e *env) *cobra.Command {
	var older time.Duration
	c := &cobra.Command{
		Use: "prune --older-than TIME", Short: "Remove old executions from the record", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == 0 {
				return cli.Usagef("prune needs --older-than\nhint: broker audit prune --older-than 720h")
			}
			setup := e.setup()
			n, err := setup.PruneRecord(cmd.Context(), ago(older))
			if err != nil {
				return ownError(err)
			}
			if e.JSON {
				return e.PrintJSON(map[string]int{"removed": n})
			}
			cli.Fprintf(e.Out, "removed %s\n", cli.Count(n, "execution"))
			return nil
		},
	}
	cli.TimeVar(c.Flags(), &older, "older-than", "such as 720h")
	return c
}
