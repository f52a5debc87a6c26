package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/policies"
	"github.com/mcpbroker/mcpbroker/policy"
)

// policyReplayOptions are the options of broker policy replay.
type policyReplayOptions struct {
	since   time.Time
	file    string
	profile string
}

func policyReplayCommand(e *env) *cobra.Command {
	o := &policyReplayOptions{}
	c := &cobra.Command{
		Use:   "replay [--since 7d] [--policy FILE]",
		Short: "Show which recorded calls a policy would decide differently",
		Long: "Show which recorded calls the policy of the config, or the one in FILE, would decide differently. Nothing is\n" +
			"called. Arguments are recorded only with \"audit\": {\"payloads\": true}, and redacted; without them, rules about\n" +
			"arguments do not match, and such calls are counted as unclear. FILE holds a policy, or a whole servers.json.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	cli.SinceVar(c.Flags(), &o.since, "calls")
	c.Flags().StringVar(&o.file, "policy", "", "a file with another policy (default: that of the config)")
	c.Flags().StringVar(&o.profile, "profile", "", "as if all callers had this profile")
	return c
}

func (o *policyReplayOptions) run(ctx context.Context, e *env) error {
	return withTools(e, false, func(s *application.App) error {
		rules := s.Config.Rules()
		if o.file != "" {
			var err error
			if rules, err = readPolicy(o.file); err != nil {
				return err
			}
		}
		if o.profile != "" && !rules.HasProfile(o.profile) {
			return cli.Usagef("the policy has no profile %q", o.profile)
		}
		out := policies.Replay{Rules: rules, Profile: o.profile, Catalog: s.Broker.Catalog(), ReadOnly: s.Config.Broker.ReadOnly}
		if err := out.Run(ctx, s.Audit, o.since); err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(out)
		}
		return policies.PrintReplay(e.Out, out)
	})
}

// readPolicy reads a policy, alone in its file or in a servers.json.
func readPolicy(file string) (*policy.Rules, error) {
	rules, err := config.LoadPolicy(file)
	if err == nil && rules == nil {
		return nil, cli.Usagef("%s is not there", file)
	}
	if err != nil {
		if cfg, closed := loadConfig(file); closed == nil {
			return cfg.Rules(), nil
		}
		return nil, err
	}
	return rules, nil
}

// policyInitOptions are the options of broker policy init.
type policyInitOptions struct {
	since time.Time
}

func policyInitCommand(e *env) *cobra.Command {
	o := &policyInitOptions{}
	c := &cobra.Command{
		Use:   "init [--since 30d]",
		Short: "Propose a policy from the tools of all servers and the recorded calls",
		Long: "Propose a policy: the preset is careful; tools that may change something are allowed if they were used, and destructive\n" +
			"tools that were never used are denied. It is printed; no file is changed.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	cli.SinceVar(c.Flags(), &o.since, "calls (default: all)")
	return c
}

func (o *policyInitOptions) run(ctx context.Context, e *env) error {
	return withTools(e, false, func(s *application.App) error {
		await.Learn(ctx, &e.IO, s, "")
		calls, err := policies.CountCalls(ctx, s.Audit, s.Broker.Catalog(), o.since)
		if err != nil {
			return err
		}
		proposed := json.RawMessage(policy.Suggest(s.Broker.Catalog().Tools(), calls))
		if !e.JSON {
			cli.Fprintf(e.Err, "put it into a file and try it with: broker policy replay --policy FILE; then it is \"policy\" in \"broker\" of %s\n", s.Config.Path)
		}
		return e.PrintJSON(proposed)
	})
}
