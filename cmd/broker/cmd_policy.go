package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/policies"
	"github.com/mcpbroker/mcpbroker/policy"
)

func policyCommand(e *env) *cobra.Command {
	return cli.Group("policy", "Change, test and explain the policy: which calls are allowed, asked about or denied",
		policyRuleCommand(e, policy.Allow), policyRuleCommand(e, policy.Ask), policyRuleCommand(e, policy.Deny),
		policyExplainCommand(e), policyCheckCommand(e), policyTestCommand(e), policyReplayCommand(e), policyInitCommand(e))
}

func policyTestCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE|-",
		Short: "Check a policy against scenarios with expected decisions",
		Long: `Check a policy against scenarios with expected decisions. This reads no config and starts no server.

FILE holds scenarios in JSON, comments are fine:
  {"policy": {"preset": "balanced", "rules": […]},
   "scenarios": [{"id": "s1", "tool": {"server": "wiki", "name": "delete_page"}, "args": {"id": "1"}, "context": {},
                  "expected": {"effect": "ask", "code": "preset", "class": "destructive"}}]}
"policy" is the value of broker.policy; a scenario may have one of its own. docs/policy.md says what "context" may hold.

Exit codes:
  0   all as expected
  1   something differs
  2   wrong usage, or the file cannot be read`,
		Args: cli.OneArg("a file of scenarios: broker policy test FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runPolicyTest(e, args) },
	}
}

func runPolicyTest(e *env, args []string) error {
	scenarios, err := policies.ReadScenarios(e.In, args[0])
	if err != nil {
		return cli.Usagef("%w", cli.OwnLines(err))
	}
	return policies.TestScenarios(&e.IO, scenarios)
}
