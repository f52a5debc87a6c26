package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

// maxCompleted is how many executions or runs a shell is offered.
const maxCompleted = 50

// recordCompletions adds completions from the record to commands and flags.
func (e completer) recordCompletions(root *cobra.Command) {
	for path, complete := range map[string]cobra.CompletionFunc{
		"audit show": e.completeExecution, "runs show": e.completeRuns(false), "runs resume": e.completeRuns(false), "runs settle": e.completeRuns(false),
		"approvals show": e.completeRuns(true), "approvals approve": e.completeRuns(true), "approvals deny": e.completeRuns(true),
		"profiles show": e.completeProfile, "profiles use": e.completeProfile,
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.ValidArgsFunction = cli.FirstArg(complete)
		}
	}
	values := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	for _, f := range []struct {
		path, flag string
		complete   cobra.CompletionFunc
	}{
		{"audit list", "status", values(records.Statuses...)}, {"tail", "status", values(records.TailStatuses...)}, {"audit tail", "status", values(records.TailStatuses...)}, {"audit list", "client", e.completeCaller},
		{"search", "detail", values("name", "desc", "full")}, {"exec", "language", values("typescript", "javascript", "python")},
		{"serve", "mode", values("code", "tools", "auto")}, {"prompt", "mode", values("code", "tools", "auto")},
		{"scripts save", "execution", e.completeExecution},
		{"policy explain", "profile", e.completeProfile}, {"policy replay", "profile", e.completeProfile},
	} {
		if c, _, err := root.Find(strings.Fields(f.path)); err == nil {
			_ = c.RegisterFlagCompletionFunc(f.flag, f.complete) // the flag is there
		}
	}
	_ = root.RegisterFlagCompletionFunc("profile", e.completeProfile)
}

// completeExecution completes the last executions, each with when it began and how
// it ended.
func (e completer) completeExecution(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	e.completing(cmd, func(ctx context.Context, store state.AuditStore) {
		executions, _ := store.List(ctx, state.Filter{Limit: maxCompleted})
		for _, x := range executions {
			list = cli.AddCompletion(list, typed, x.ID, fmt.Sprintf("%s, %s, %s, asked by %s", cli.Time(x.Started), x.Status, cli.Count(x.Calls, "call"), records.ClientOf(x)))
		}
	})
	return list, cli.InOrder
}

// completing calls f with the record, if there is one.
func (e completer) completing(cmd *cobra.Command, f func(context.Context, state.AuditStore)) {
	_ = e.withRecord(contextOf(cmd), func(store state.AuditStore) error {
		f(contextOf(cmd), store)
		return nil
	})
}

// contextOf is that of a command, which has none while a flag is completed.
func contextOf(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// completeRuns completes runs, or only those that wait for a person.
func (e completer) completeRuns(waiting bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		_ = e.withRuns(contextOf(cmd), func(runs state.RunStore, _ api.Tokens) error {
			r := api.Reader{Runs: runs}
			found, err := r.Waiting(contextOf(cmd))
			if !waiting {
				found.Runs, err = runs.Runs(contextOf(cmd), maxCompleted)
			}
			for _, run := range found.Runs {
				list = cli.AddCompletion(list, typed, run.ID, fmt.Sprintf("%s, %s, asked by %s", cli.Time(run.Started), run.Status, records.ClientLabel(run.Principal)))
			}
			return err
		})
		return list, cli.InOrder
	}
}

// completeCaller completes the clients of the last executions.
func (e completer) completeCaller(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	names := map[string]bool{}
	e.completing(cmd, func(ctx context.Context, store state.AuditStore) {
		executions, _ := store.List(ctx, state.Filter{Limit: 1000})
		for _, x := range executions {
			names[x.Client], names[x.ClientInfo] = true, true
		}
	})
	delete(names, "")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = cli.AddCompletion(list, typed, name, "")
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (e completer) completeProfile(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := e.load(); err == nil {
		for _, name := range slices.Sorted(maps.Keys(cfg.Broker.Profiles)) {
			list = cli.AddCompletion(list, typed, name, "")
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// A completer completes what is typed in a shell.
type completer struct{ *env }
