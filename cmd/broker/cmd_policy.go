package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
)

func (a *app) policyCommand() *cobra.Command {
	return cli.Group("policy", "Change, test and explain the policy: which calls are allowed, asked about or denied",
		a.policyRuleCommand(policy.Allow), a.policyRuleCommand(policy.Ask), a.policyRuleCommand(policy.Deny),
		a.policyExplainCommand(), a.policyCheckCommand(), a.policyTestCommand(), a.policyReplayCommand(), a.policyInitCommand())
}

func (a *app) policyTestCommand() *cobra.Command {
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
		RunE: func(_ *cobra.Command, args []string) error {
			scenarios, err := a.readScenarios(args[0])
			if err != nil {
				return cli.Usagef("%w", cli.OwnLines(err))
			}
			results, differences := []policy.Outcome{}, 0
			for _, s := range scenarios {
				o := s.Outcome()
				results = append(results, o)
				lines := s.Differences(o)
				if len(lines) > 0 {
					differences++
				}
				if !a.JSON {
					for _, line := range lines {
						cli.Fprintf(a.Out, "%s: %s\n", s.ID, line)
					}
					if len(lines) > 0 && o.Error != "" {
						cli.Fprintf(a.Out, "  %s\n", cli.IndentAfter("  ", o.Error))
					}
				}
			}
			if a.JSON {
				if err := a.PrintJSON(map[string]any{"results": results}); err != nil {
					return err
				}
			} else {
				cli.Fprintf(a.Out, "%d of %s as expected\n", len(results)-differences, cli.Count(len(results), "scenario"))
			}
			if differences > 0 {
				return cli.Exit(cli.ExitFailed, nil)
			}
			return nil
		},
	}
}

// readScenarios reads a file of scenarios, which may have comments.
func (a *app) readScenarios(name string) ([]policy.Scenario, error) {
	text, err := a.readScenarioFile(name)
	if err != nil {
		return nil, err
	}
	plain, err := hujson.Standardize(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return policy.ReadScenarios(name, plain)
}

// maxScenarios is how many bytes a file of scenarios may have.
const maxScenarios = 64 << 20

func (a *app) readScenarioFile(name string) ([]byte, error) {
	in := a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxScenarios+1))
	if err == nil && len(text) > maxScenarios {
		err = fmt.Errorf("%s has more than %d MiB", name, maxScenarios>>20)
	}
	return text, err
}
