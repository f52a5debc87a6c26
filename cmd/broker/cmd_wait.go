package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// waitOptions are the options of broker wait.
type waitOptions struct {
	limit time.Duration
}

func waitCommand(e *env) *cobra.Command {
	o := &waitOptions{limit: time.Minute}
	c := &cobra.Command{
		Use:   "wait [SERVER...]",
		Short: "Wait until servers answer, for scripts and CI",
		Long: "Wait until every server, or each of those named, has answered and listed its tools. A server that fails is\n" +
			"tried again, except when that cannot help: it needs a sign-in, its program or a variable is missing.\n\n" +
			"Exit codes:\n  0   all are listed\n  2   wrong usage or config\n  3   some are not; stderr has one line for each",
		Example: "  broker wait --timeout 90s github files && broker exec nightly.ts",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	cli.TimeVar(c.Flags(), &o.limit, "timeout", "how long to wait")
	return c
}

func (o *waitOptions) run(ctx context.Context, e *env, names []string) error {
	return e.withState(ctx, func(cfg *config.Config, st *application.State) error {
		for _, n := range names {
			switch s := cfg.Server(n); {
			case s == nil:
				return cli.UnknownServer(cfg, n, "wait")
			case s.Disabled:
				return cli.Usagef("server %q is disabled\nhint: broker servers enable %s", n, n)
			}
		}
		if len(names) == 0 {
			names = enabledServers(cfg)
		}
		where := e.setup()
		pool := where.Pool(application.Upstreams(cfg), st)
		rows := await.Servers(ctx, &e.IO, pool, names, o.limit)
		if err := pool.Close(); err != nil {
			return err
		}
		return await.Print(ctx, &e.IO, rows)
	})
}

// enabledServers are the names of the servers that are used.
func enabledServers(cfg *config.Config) (names []string) {
	for _, s := range cfg.Servers {
		if !s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}
