package main

import (
	"context"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/policies"
	"github.com/mcpbroker/mcpbroker/policy"
)

// policyRuleOptions are the options of broker policy allow, ask and deny.
type policyRuleOptions struct {
	policies.Options
	effect policy.Effect
}

func policyRuleCommand(e *env, effect policy.Effect) *cobra.Command {
	o := &policyRuleOptions{effect: effect}
	name := effect.String()
	done := map[policy.Effect]string{policy.Allow: "are made without a question", policy.Ask: "need a person's approval", policy.Deny: "are refused"}[effect]
	c := &cobra.Command{
		Use:   name + " SERVER[.TOOL]",
		Short: "Write a rule: calls of a server or tool " + done,
		Long: "Write a rule into \"broker.policy\" of the config: calls of all tools of a server, or of one tool, " + done + ".\n" +
			"TOOL may be a pattern, and '*' means every server. A rule about exactly the same tools is replaced; everything else in the\n" +
			"file stays as it is. A rule that denies wins over one that asks, and that over one that allows; the output lists tools for which another rule decides.\n" +
			"A program that uses the broker cannot loosen the policy: a model must not extend its own permissions.",
		Example: "  broker policy " + name + " notes\n  broker policy " + name + " github.delete_repo\n  broker policy " + name + " '*' --class destructive",
		Args:    cli.OneArg("a server or a tool: broker policy " + name + " SERVER[.TOOL]"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.Class, "class", "", "only for tools of this class: read, unknown, write, destructive or deletes (destructive by name)")
	c.Flags().StringVar(&o.Reason, "reason", "", "reason in one line, shown to people and models")
	c.Flags().BoolVar(&o.Remove, "remove", false, "remove the rule instead")
	return c
}

func (o *policyRuleOptions) run(ctx context.Context, e *env, args []string) error {
	path, _, err := config.Target(e.configPath)
	if err != nil {
		return err
	}
	return withTools(e, false, func(s *application.App) error {
		rule, err := o.Rule(ctx, s.Broker, s.Config, o.effect, args[0])
		if err != nil {
			return err
		}
		change, err := policies.Edit(ctx, &e.IO, keyringSecret, path, rule, o.Remove)
		if err != nil {
			return err
		}
		cfg, err := loadConfig(path)
		if err != nil {
			return err
		}
		if err := change.Effects(cfg.Rules(), s.Broker); err != nil {
			return err
		}
		return change.Print(&e.IO)
	})
}
