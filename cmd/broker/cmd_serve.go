package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// serveOptions are the options of broker serve.
type serveOptions struct {
	addr    string
	alone   bool
	http    host.HTTPOptions
	metrics string
	clients serveFlags
}

func serveCommand(e *env) *cobra.Command {
	o := &serveOptions{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the MCP server over stdio or HTTP",
		Long: "Run the MCP server over stdin and stdout, or with --http over Streamable HTTP at /mcp.\n" +
			"With --http, the profile NAME is at /mcp/NAME; the console is at /console, on an address of this machine; skills and plugins are managed below /api, which /api/openapi.json describes; /healthz and /readyz report its health.\n" +
			"Upstream servers start when they are needed and stop with the broker.\n" +
			"Clients on stdio share one process, the daemon, which the first of them starts; see broker daemon. With --no-daemon, with BROKER_DAEMON=off\n" +
			"or CI=true in the environment, and in a sandbox, this process serves by itself.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().StringVar(&o.addr, "http", "", "listen on this address, such as 127.0.0.1:8080, instead of stdio")
	c.Flags().StringVar(&o.metrics, "metrics", "", "listen on this address too, such as 127.0.0.1:9464, for Prometheus (config: metrics)")
	c.Flags().DurationVar(&o.http.Drain, "drain", 30*time.Second, "with --http, wait at most this long for requests to finish after SIGTERM")
	c.Flags().StringVar(&o.http.Replica.Address, "advertise", "", "with --http and a shared database, take requests that other replicas pass on at this HOST:PORT")
	c.Flags().StringVar(&o.http.Replica.Name, "replica", "", "the name of this replica in the ids of sessions (default a random one)")
	c.Flags().BoolVar(&o.alone, "no-daemon", false, "serve in this process, and not through the daemon")
	o.clients.add(c, e)
	return c
}

func (o *serveOptions) run(ctx context.Context, e *env) error {
	if err := checkMode(o.clients.mode); err != nil {
		return err
	}
	o.http.Console = hostOptions()
	return serveClients(ctx, e, application.OpenOptions{Overrides: o.clients.overrides(), HTTPAddr: o.addr, Metrics: o.metrics, IgnoreProject: o.addr != ""}, o.alone, o.http)
}

// serveClients serves over HTTP, or over stdio: through the daemon, or alone.
func serveClients(ctx context.Context, e *env, o application.OpenOptions, alone bool, h host.HTTPOptions) error {
	if o.HTTPAddr != "" {
		return host.RunHTTP(ctx, e.options(o), h)
	}
	if !alone && o.Metrics == "" {
		yes, why := host.SharesDaemon(os.Getenv)
		if yes {
			return e.client(o.Overrides).Serve(ctx, e.In, e.protocol)
		}
		if why != "" {
			cli.Fprintf(e.Err, "broker: serving without a daemon: %s\n", why)
		}
	}
	return host.RunStdio(ctx, e.options(o), e.In, e.protocol)
}
