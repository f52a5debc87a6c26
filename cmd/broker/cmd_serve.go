package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

func (a *app) serveCommand() *cobra.Command {
	var addr string
	var alone bool
	var over host.HTTPOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the MCP server over stdio or HTTP",
		Long: "Run the MCP server over stdin and stdout, or with --http over Streamable HTTP at /mcp.\n" +
			"With --http, the profile NAME is at /mcp/NAME; the console is at /console, on an address of this machine; skills and plugins are managed below /api, which /api/openapi.json describes; /healthz and /readyz report its health.\n" +
			"Upstream servers start when they are needed and stop with the broker.\n" +
			"Clients on stdio share one process, the daemon, which the first of them starts; see broker daemon. With --no-daemon, with BROKER_DAEMON=off\n" +
			"or CI=true in the environment, and in a sandbox, this process serves by itself.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkMode(a.mode); err != nil {
				return err
			}
			a.httpAddr, a.ignoreProject = addr, addr != ""
			over.Console = a.consoleOptions()
			return a.serve(cmd.Context(), alone, over)
		},
	}
	c.Flags().StringVar(&addr, "http", "", "listen on this address, such as 127.0.0.1:8080, instead of stdio")
	c.Flags().StringVar(&a.metrics, "metrics", "", "listen on this address too, such as 127.0.0.1:9464, for Prometheus (config: metrics)")
	c.Flags().DurationVar(&over.Drain, "drain", 30*time.Second, "with --http, wait at most this long for requests to finish after SIGTERM")
	c.Flags().StringVar(&over.Replica.Address, "advertise", "", "with --http and a shared database, take requests that other replicas pass on at this HOST:PORT")
	c.Flags().StringVar(&over.Replica.Name, "replica", "", "the name of this replica in the ids of sessions (default a random one)")
	c.Flags().BoolVar(&alone, "no-daemon", false, "serve in this process, and not through the daemon")
	a.serveFlags(c)
	return c
}

// serveFlags are the flags that decide what clients get.
func (a *app) serveFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.mode, "mode", "", "what clients see: code (default), tools or auto")
	c.Flags().StringVar(&a.skillsPath, "skills", "", "the folder of skills with public/ and custom/, instead of the config's")
	c.Flags().BoolVar(&a.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
}

// serve serves over HTTP, or over stdio: through the daemon, or alone.
func (a *app) serve(ctx context.Context, alone bool, h host.HTTPOptions) error {
	if a.httpAddr != "" {
		return host.RunHTTP(ctx, a.options(0), h)
	}
	if !alone && a.metrics == "" {
		yes, why := host.SharesDaemon(os.Getenv)
		if yes {
			return a.client().Serve(ctx, a.In, a.protocol)
		}
		if why != "" {
			cli.Fprintf(a.Err, "broker: serving without a daemon: %s\n", why)
		}
	}
	return host.RunStdio(ctx, a.options(0), a.In, a.protocol)
}
