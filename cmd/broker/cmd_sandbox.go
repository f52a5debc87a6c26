package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/contain"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/selftest"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

func sandboxCommand(e *env) *cobra.Command {
	return cli.Group("sandbox", "Test the sandbox, and manage its container images",
		sandboxTestCommand(e), sandboxBuildCommand(e), sandboxListCommand(e), sandboxPruneCommand(e))
}

// sandboxTestOptions are the options of broker sandbox test.
type sandboxTestOptions struct {
	timeout   float64
	isolation string
}

func sandboxTestCommand(e *env) *cobra.Command {
	o := &sandboxTestOptions{}
	c := &cobra.Command{
		Use:   "test [GROUP...]",
		Short: "Run hostile scripts in the sandbox and check that it contains them",
		Long: "Run scripts that never end, use up memory, flood their host or reach for files, each in the configured sandbox, and a\n" +
			"small script after each. Then let a process with the same containment try what an attacker who has taken it over\n" +
			"could do. Print the outcome of each; exit with 1 if something escaped.\n" +
			"The groups are " + strings.Join(attack.Groups(), ", ") + "; without one, all are tried.",
		RunE: func(cmd *cobra.Command, groups []string) error { return o.run(cmd.Context(), e, groups) },
	}
	c.Flags().Float64Var(&o.timeout, "timeout", 1, "seconds that each script gets")
	c.Flags().StringVar(&o.isolation, "isolation", "", "what to test: worker, container or all (default as configured)")
	return c
}

func (o *sandboxTestOptions) run(ctx context.Context, e *env, groups []string) error {
	for _, g := range groups {
		if !slices.Contains(attack.Groups(), g) {
			return cli.Usagef("unknown group of attacks %q\nhint: the groups are %s", g, strings.Join(attack.Groups(), ", "))
		}
	}
	if !(o.timeout > 0 && o.timeout <= 60) {
		return cli.Usagef("--timeout is %g: use seconds, above 0 and at most 60", o.timeout)
	}
	if o.isolation != "" && !slices.Contains(contain.Isolations, o.isolation) {
		return cli.Usagef("--isolation is %q: use %s", o.isolation, strings.Join(contain.Isolations, ", "))
	}
	set, err := sandboxSettings(e)
	if err != nil {
		return err
	}
	return selftest.Run(ctx, &e.IO, set, o.isolation, contain.Options{Attack: attack.Options{Timeout: time.Duration(o.timeout * float64(time.Second)), Groups: groups}, Build: version, Logger: e.logger()})
}
