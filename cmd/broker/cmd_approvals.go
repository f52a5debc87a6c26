package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

func approvalsCommand(e *env) *cobra.Command {
	return cli.Group("approvals", "Approve or deny calls that runs wait for",
		approvalsListCommand(e), approvalsShowCommand(e), approveCommand(e), denyCommand(e))
}

func approvalsListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List runs that wait for a decision, or to be resumed after one", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runApprovalsList(cmd.Context(), e) },
	}
}

func runApprovalsList(ctx context.Context, e *env) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		list, err := (&api.Reader{Runs: runs, Tokens: tokens}).Undone(ctx)
		if err != nil {
			return err
		}
		return records.PrintRuns(&e.IO, list.Runs, "no run waits for a decision")
	})
}

// approvalsShowOptions are the options of broker approvals show.
type approvalsShowOptions struct {
	full bool
}

func approvalsShowCommand(e *env) *cobra.Command {
	o := &approvalsShowOptions{}
	c := &cobra.Command{
		Use: "show RUN", Short: "Show the calls that a run waits for", Args: cli.OneArg("the id of a run, or how it begins"),
		Long: "Show the calls that a run waits for. Long arguments are cut, unless --full is given. With --json, each call that is\n" +
			"shown in full has a digest: pass it to approve --shown where approve has no terminal.",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.full, "full", false, "show arguments in full, whatever their length")
	return c
}

func (o *approvalsShowOptions) run(ctx context.Context, e *env, args []string) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		run, calls, err := runs.Run(ctx, args[0])
		if err != nil {
			return unknownRun(err, args[0])
		}
		return records.PrintPending(&e.IO, tokens, run, state.Pending(calls), o.full)
	})
}

// verdictFlags are those of approve and deny.
func verdictFlags(c *cobra.Command, v *state.Verdict) {
	c.Flags().IntSliceVar(&v.Only, "only", nil, "only these calls, such as 2,3 (default all that wait)")
}

// approveOptions are the options of broker approvals approve.
type approveOptions struct {
	verdict state.Verdict
	always  bool
	seen    []string
}

func approveCommand(e *env) *cobra.Command {
	o := &approveOptions{verdict: state.Verdict{Approve: true, By: "broker approvals approve"}, seen: []string{}}
	c := &cobra.Command{
		Use:   "approve RUN",
		Short: "Approve calls that wait for a decision",
		Long: "Approve calls that wait for a decision. An approval is of one call, and ends 15 minutes later: resume the run before that.\n" +
			"It needs a terminal, where it shows the calls in full and you type a code that it shows, and it does not work below a program that uses the broker: a model must not\napprove its own calls. " +
			"Without a terminal, use the console, or set BROKER_APPROVER_TOKEN to the secret " + approver.SecretName + " of the keyring; for calls that\n" +
			"broker approvals show cuts, add --shown with the digests from: broker approvals show RUN --full --json\n" +
			"Then resume the run: broker runs resume RUN, or execute_code with resume.",
		Args: cli.OneArg("the id of a run, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	verdictFlags(c, &o.verdict)
	c.Flags().StringSliceVar(&o.seen, "shown", nil, "digests of long calls that were shown in full")
	c.Flags().BoolVar(&o.always, "always", false, "also write a rule that allows these tools into the policy of the config")
	c.Flags().BoolVar(&o.verdict.ForRun, "for-run", false, "approve later calls of the same tools in this run too")
	return c
}

func (o *approveOptions) run(ctx context.Context, e *env, args []string) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		return decideRun(ctx, e, runs, tokens, args[0], o.verdict, o.always, o.seen)
	})
}

// denyOptions are the options of broker approvals deny.
type denyOptions struct {
	verdict state.Verdict
	reason  string
}

func denyCommand(e *env) *cobra.Command {
	o := &denyOptions{verdict: state.Verdict{By: "broker approvals deny", Denied: broker.Denied}}
	c := &cobra.Command{
		Use: "deny RUN", Short: "Deny calls that wait for a decision: the script gets an error for each",
		Args: cli.OneArg("the id of a run, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	verdictFlags(c, &o.verdict)
	c.Flags().StringVar(&o.reason, "reason", "", "why, in a sentence that the model reads")
	return c
}

func (o *denyOptions) run(ctx context.Context, e *env, args []string) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		o.verdict.Reason = gate.Cut(gate.Line(o.reason), api.MaxReason)
		return decideRun(ctx, e, runs, tokens, args[0], o.verdict, false, nil)
	})
}

func decideRun(ctx context.Context, e *env, runs state.RunStore, tokens api.Tokens, id string, v state.Verdict, always bool, seen []string) error {
	var run state.Run
	v.ForRun = v.ForRun || always
	reader := &api.Reader{Runs: runs}
	if v.Approve {
		closes := refuseDenied(e, reader)
		defer closes()
	}
	meant, err := reader.Decide(ctx, id, v, func(r state.Run, calls []state.RunCall) error {
		run = r
		if always {
			if err := broker.Lasting(calls); err != nil {
				return cli.Errorf("%w\nhint: broker policy explain TOOL names the rule; add the tool to its \"except\"", err)
			}
		}
		if !v.Approve {
			return nil
		}
		return mayApprove(ctx, e, tokens, r, calls, seen)
	})
	if errors.Is(err, api.ErrNothingWaits) {
		if found, _, err := runs.Run(ctx, id); err == nil && found.Status == state.StatusDecided {
			return cli.Errorf("run %s is decided already\nhint: broker runs resume %s", found.ID, found.ID)
		}
		return cli.Errorf("run %s has no such call that waits for a decision\nhint: broker approvals show %s", id, id)
	}
	if denied, ok := errors.AsType[*api.DeniedError](err); ok {
		return cli.Errorf("%w\nhint: broker policy explain %s; to go on without it: broker approvals deny %s --only %d", denied, gate.Name(denied.Tool), id, denied.Call)
	}
	if err != nil {
		return unknownRun(err, id)
	}
	var decided []int
	for _, c := range meant {
		decided = append(decided, c.Ordinal)
	}
	e.note(v.Event(run.ID, meant))
	if always {
		path, _, err := config.Target(e.configPath)
		if err == nil {
			err = application.AllowAlways(path, broker.ToolsOf(meant))
		}
		if err != nil {
			return fmt.Errorf("the calls are approved, but not always: %w", err)
		}
	}
	done := map[bool]string{true: "approved", false: "denied"}[v.Approve]
	if e.JSON {
		return e.PrintJSON(map[string]any{"run_id": run.ID, done: decided})
	}
	within := ""
	if v.Approve {
		within = fmt.Sprintf(" within %d minutes", int(state.ApprovalAge.Minutes()))
	}
	cli.Fprintf(e.Out, "%s %s; to go on%s: broker runs resume %s\n", done, cli.Count(len(meant), "call"), within, run.ID)
	return nil
}

// refuseDenied makes r refuse what the policy denies. It does nothing if the config cannot
// be used: the policy decides when the run is resumed in any case.
func refuseDenied(e *env, r *api.Reader) (closes func() error) {
	s, err := e.open(application.Overrides{})
	if err != nil {
		return func() error { return nil }
	}
	r.Broker = s.Root
	return s.Close
}

// mayApprove returns nil if it can tell that a person approves the calls. On a terminal
// it shows them in full; otherwise seen must contain the digest of each call that a
// list cuts.
func mayApprove(ctx context.Context, e *env, tokens api.Tokens, run state.Run, calls []state.RunCall, seen []string) error {
	shown := false
	err := approver.Ask(ctx, &e.IO, keyringSecret, approver.ApproveQuestion(run.ID), func() error {
		shown = true
		return records.PrintPending(&e.IO, tokens, run, calls, true)
	})
	for _, c := range calls {
		if err == nil && !shown && api.RunCallOf(c, run.Principal, tokens, false).Bytes > 0 && !slices.Contains(seen, api.ShownDigest(c)) {
			err = cli.Errorf("call %d must be shown in full before it can be approved\nhint: broker approvals show %s --full --json, then approve with --shown and its digest", c.Ordinal, run.ID)
		}
	}
	return err
}
