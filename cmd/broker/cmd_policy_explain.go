package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/bridge"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/policies"
	"github.com/mcpbroker/mcpbroker/policy"
)

// withTools is for commands that look at the policy from outside: the broker that
// f gets knows the tools that it denies too.
func withTools(e *env, readOnly bool, f func(*application.App) error) error {
	s, err := e.open(application.Overrides{IgnorePolicy: true, ReadOnly: readOnly})
	if err != nil {
		return err
	}
	err = f(s)
	if closed := s.Close(); err == nil {
		err = closed
	}
	return err
}

// policyExplainOptions are the options of broker policy explain.
type policyExplainOptions struct {
	profile  string
	readOnly bool
}

func policyExplainCommand(e *env) *cobra.Command {
	o := &policyExplainOptions{}
	c := &cobra.Command{
		Use:   "explain TOOL [ARGS.json | '{\"json\"}' | -]",
		Short: "Explain the policy's decision about a call, rule by rule",
		Long: "Explain the policy's decision about a call: the class of the tool and why, the decision, and for each rule whether it\n" +
			"matches, or the first reason why it does not. Without arguments, rules about arguments do not match. Earlier calls of a\n" +
			"script (budgets, flows) are not taken into account.",
		Example: "  broker policy explain github.delete_repo\n  broker policy explain mail.send '{\"to\": \"ann@acme.com\"}' --profile ci",
		Args:    cli.SomeArgs(1, 2, "the name of a tool, and perhaps its arguments"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.profile, "profile", "", "for a caller with this profile")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "as if the broker ran read-only")
	return c
}

func (o *policyExplainOptions) run(ctx context.Context, e *env, args []string) error {
	input, err := policies.ReadArguments(e.In, args[1:])
	if err != nil {
		return err
	}
	return withTools(e, o.readOnly, func(s *application.App) error {
		s.Broker.StartLazily(ctx)
		d, err := s.Broker.Describe(ctx, args[0])
		if err != nil {
			return cli.CallError(err)
		}
		tool, ok := s.Broker.Catalog().Tool(d.Name)
		if !ok {
			return cli.CallError(&bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + d.Name})
		}
		rules := s.Config.Rules()
		if o.profile != "" && !rules.HasProfile(o.profile) {
			return cli.Usagef("the policy has no profile %q", o.profile)
		}
		call := policy.Call{Tool: tool, Args: input, Profile: o.profile, ReadOnly: s.Config.Broker.ReadOnly || o.readOnly}
		x := rules.Explain(call)
		if e.JSON {
			return e.PrintJSON(x)
		}
		policies.PrintExplanation(e.Out, x)
		return nil
	})
}

func policyCheckCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find patterns that match no tool, and rules that never apply",
		Long: "Compare the policy with the tools of all servers: patterns that match no known tool, rules that never apply, and\n" +
			"tools whose class is a guess because their servers do not say.\n\nExit codes:\n  0   nothing was found\n  1   patterns or rules were found\n  3   the tools of some servers are not known",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPolicyCheck(cmd.Context(), e) },
	}
}

func runPolicyCheck(ctx context.Context, e *env) error {
	return withTools(e, false, func(s *application.App) error {
		await.Learn(ctx, &e.IO, s, "")
		return policies.CheckRules(s.Config.Rules(), s.Broker.Catalog().Tools(), s.Broker.Unlisted()).Print(&e.IO)
	})
}
