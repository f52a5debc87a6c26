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
func (a *app) recordCompletions(root *cobra.Command) {
	for path, complete := range map[string]cobra.CompletionFunc{
		"audit show": a.completeExecution, "runs show": a.completeRuns(false), "runs resume": a.completeRuns(false), "runs settle": a.completeRuns(false),
		"approvals show": a.completeRuns(true), "approvals approve": a.completeRuns(true), "approvals deny": a.completeRuns(true),
		"profiles show": a.completeProfile, "profiles use": a.completeProfile,
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
		{"audit list", "status", values(records.Statuses...)}, {"tail", "status", values(records.TailStatuses...)}, {"audit tail", "status", values(records.TailStatuses...)}, {"audit list", "client", a.completeCaller},
		{"search", "detail", values("name", "desc", "full")}, {"exec", "language", values("typescript", "javascript", "python")},
		{"serve", "mode", values("code", "tools", "auto")}, {"prompt", "mode", values("code", "tools", "auto")},
		{"scripts save", "execution", a.completeExecution},
		{"policy explain", "profile", a.completeProfile}, {"policy replay", "profile", a.completeProfile},
	} {
		if c, _, err := root.Find(strings.Fields(f.path)); err == nil {
			_ = c.RegisterFlagCompletionFunc(f.flag, f.complete) // the flag is there
		}
	}
	_ = root.RegisterFlagCompletionFunc("profile", a.completeProfile)
}

// completeExecution completes the last executions, each with when it began and how
// it ended.
func (a *app) completeExecution(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	a.completing(cmd, func(ctx context.Context, store state.AuditStore) {
		executions, _ := store.List(ctx, state.Filter{Limit: maxCompleted})
		for _, e := range executions {
			list = cli.AddCompletion(list, typed, e.ID, fmt.Sprintf("%s, %s, %s, asked by %s", cli.Time(e.Started), e.Status, cli.Count(e.Calls, "call"), records.ClientOf(e)))
		}
	})
	return list, cli.InOrder
}

// completing calls f with the record, if there is one.
func (a *app) completing(cmd *cobra.Command, f func(context.Context, state.AuditStore)) {
	if store, err := a.readAudit(); err == nil {
		defer store.Close()
		f(contextOf(cmd), store)
	}
}

// contextOf is that of a command, which has none while a flag is completed.
func contextOf(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// completeRuns completes runs, or only those that wait for a person.
func (a *app) completeRuns(waiting bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		_ = a.withRuns(func(ctx context.Context, runs state.RunStore, _ []string) error {
			r := api.Reader{Runs: runs}
			found, err := r.Waiting(contextOf(cmd))
			if !waiting {
				found.Runs, err = runs.Runs(contextOf(cmd), maxCompleted)
			}
			for _, run := range found.Runs {
				list = cli.AddCompletion(list, typed, run.ID, fmt.Sprintf("%s, %s, asked by %s", cli.Time(run.Started), run.Status, records.ClientLabel(run.Principal)))
			}
			return err
		})(cmd, nil)
		return list, cli.InOrder
	}
}

// completeCaller completes the clients of the last executions.
func (a *app) completeCaller(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	names := map[string]bool{}
	a.completing(cmd, func(ctx context.Context, store state.AuditStore) {
		executions, _ := store.List(ctx, state.Filter{Limit: 1000})
		for _, e := range executions {
			names[e.Client], names[e.ClientInfo] = true, true
		}
	})
	delete(names, "")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = cli.AddCompletion(list, typed, name, "")
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeProfile(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := a.load(); err == nil {
		for _, name := range slices.Sorted(maps.Keys(cfg.Broker.Profiles)) {
			list = cli.AddCompletion(list, typed, name, "")
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
