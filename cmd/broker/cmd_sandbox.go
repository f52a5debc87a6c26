package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/contain"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/selftest"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

func (a *app) sandboxCommand() *cobra.Command {
	return cli.Group("sandbox", "Test the sandbox, and manage its container images",
		a.sandboxTestCommand(), a.sandboxBuildCommand(), a.sandboxListCommand(), a.sandboxPruneCommand())
}

func (a *app) sandboxTestCommand() *cobra.Command {
	var timeout float64
	var isolation string
	c := &cobra.Command{
		Use:   "test [GROUP...]",
		Short: "Run hostile scripts in the sandbox and check that it contains them",
		Long: "Run scripts that never end, use up memory, flood their host or reach for files, each in the configured sandbox, and a\n" +
			"small script after each. Then let a process with the same containment try what an attacker who has taken it over\n" +
			"could do. Print the outcome of each; exit with 1 if something escaped.\n" +
			"The groups are " + strings.Join(attack.Groups(), ", ") + "; without one, all are tried.",
		RunE: func(cmd *cobra.Command, groups []string) error {
			for _, g := range groups {
				if !slices.Contains(attack.Groups(), g) {
					return cli.Usagef("unknown group of attacks %q\nhint: the groups are %s", g, strings.Join(attack.Groups(), ", "))
				}
			}
			if !(timeout > 0 && timeout <= 60) {
				return cli.Usagef("--timeout is %g: use seconds, above 0 and at most 60", timeout)
			}
			if isolation != "" && !slices.Contains(contain.Isolations, isolation) {
				return cli.Usagef("--isolation is %q: use %s", isolation, strings.Join(contain.Isolations, ", "))
			}
			set, err := a.sandboxSettings()
			if err != nil {
				return err
			}
			return selftest.Run(cmd.Context(), &a.IO, set, isolation, contain.Options{Attack: attack.Options{Timeout: time.Duration(timeout * float64(time.Second)), Groups: groups}, Build: version, Logger: a.logger()})
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 1, "seconds that each script gets")
	c.Flags().StringVar(&isolation, "isolation", "", "what to test: worker, container or all (default as configured)")
	return c
}

// sandboxSettings are those of the config, if there is one: the test needs none.
func (a *app) sandboxSettings() (config.Sandbox, error) {
	cfg, err := a.load()
	if errors.Is(err, config.ErrNoConfig) && a.configPath == "" {
		return config.Broker{}.WithDefaults().Sandbox, nil
	}
	if err != nil {
		return config.Sandbox{}, err
	}
	return cfg.SandboxSettings(), nil
}
