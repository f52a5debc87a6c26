package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/apitoken"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) serveCommand() *cobra.Command {
	var addr string
	var alone bool
	var share member
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
			a.httpAddr, a.nowhere = addr, addr != ""
			if addr == "" && !alone && a.metrics == "" {
				yes, why := sharesDaemon(os.Getenv)
				if yes {
					return a.serveBridge(cmd.Context())
				}
				if why != "" {
					cli.Fprintf(a.Err, "broker: serving without a daemon: %s\n", why)
				}
			}
			return a.serveHere(cmd.Context(), func(ctx context.Context, s *App, w *watcher) error {
				if addr != "" {
					return a.serveHTTP(ctx, s, w, addr, share)
				}
				return a.serveStdio(ctx, s, a.In, a.protocol)
			})
		},
	}
	c.Flags().StringVar(&addr, "http", "", "listen on this address, such as 127.0.0.1:8080, instead of stdio")
	c.Flags().StringVar(&a.metrics, "metrics", "", "listen on this address too, such as 127.0.0.1:9464, for Prometheus (config: metrics)")
	c.Flags().DurationVar(&a.drain, "drain", 30*time.Second, "with --http, wait at most this long for requests to finish after SIGTERM")
	c.Flags().StringVar(&share.address, "advertise", "", "with --http and a shared database, take requests that other replicas pass on at this HOST:PORT")
	c.Flags().StringVar(&share.name, "replica", "", "the name of this replica in the ids of sessions (default a random one)")
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

// serveHere opens a broker in this process, lets serve use it, and closes it.
func (a *app) serveHere(ctx context.Context, serve func(context.Context, *App, *watcher) error) error {
	s, err := a.openServing(ctx)
	if err != nil {
		return err
	}
	defer s.State.Bus().Subscribe(state.TopicCancel, func(id string) { s.Root.Cancel(id) })()
	defer a.serveMetrics(s)()
	s.Broker.StartSoon(ctx)
	w, stop := a.watch(ctx, s)
	err = serve(ctx, s, w)
	stop()
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// openServing opens a broker that serves clients.
func (a *app) openServing(ctx context.Context) (*App, error) {
	a.warn = func(problem string) { cli.Fprintf(a.Err, "broker: %s\n", problem) }
	a.serving = true
	s, err := a.open(0)
	if err != nil {
		return nil, err
	}
	places, _ := s.DefaultPlaces()
	if err := cmp.Or(settingError(identity.CheckPeople(s.Config, a.httpAddr)), s.requireLanguage(), s.RequireLayers(ctx, places...)); err != nil {
		_ = s.Close() // nothing has run
		return nil, err
	}
	for _, problem := range s.Config.Broker.UnknownProfiles() {
		a.warn(problem)
	}
	s.SetNotice()
	return s, nil
}

// serveStdio ends without an error when stdin ends or a signal comes: both are
// how a client says that it is done.
func (a *app) serveStdio(ctx context.Context, s *App, in io.Reader, out io.Writer) error {
	defer a.logLayers(ctx, s)()
	err := surface.ServeLines(ctx, s.Broker.Server("stdio"), surface.Peer{}, in, out)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *app) serveHTTP(ctx context.Context, s *App, w *watcher, addr string, share member) error {
	addr, err := surface.NormalizeAddr(addr)
	if err != nil {
		return cli.Usagef("%w", cli.OwnLines(err))
	}
	values, limits, err := identity.Tokens(s.Config.Broker.HTTP, expand)
	if err != nil {
		return settingError(err)
	}
	people, err := identity.SignIn(s.Config.Broker.HTTP.SignIn)
	if err != nil {
		return settingError(err)
	}
	page := console.New()
	watched, err := apitoken.Watch(ctx, s.State.APITokens(), a.logger())
	if err != nil {
		return err
	}
	defer watched.Close()
	manage, err := a.manageOverHTTP(s, w, values, limits, issued{watched}, page)
	if err != nil {
		return err
	}
	o := broker.HTTPOptions{Addr: addr, Tokens: values, Limits: limits, Issued: issued{watched}, SignIn: people, API: manage, RefuseAPI: api.Refuse, Console: page, Ready: func() bool { return application.TakesMore(s.Audit, s.live.Load().Broker.StateFailure == "refuse") }}
	if s.Accounts != nil {
		o.Connect, o.ConnectLink = s.Accounts.Handler(), s.Accounts.Link
	}
	if s.Config.Broker.HTTP.Console != nil {
		o.Console, o.ConsoleSignIn = s.Accounts.ConsoleHandler(page), true
	}
	if a.chosenProfile() == "" {
		o.Default = s.Config.Broker.Profile
	}
	requests := host.NewRunning()
	fleet, err := share.join(ctx, s.State, requests)
	if err != nil {
		return err
	}
	if fleet != nil {
		o.Replicas = fleet
		defer func() {
			if err := fleet.Close(); err != nil {
				a.logger().Warn("leave the other replicas", "err", err)
			}
		}()
	}
	if fleet != nil && share.address != "" {
		o.Busy = requests.Begin
	}
	handler, err := s.Bound.Handler(o)
	if err != nil {
		return cli.Usagef("%w", cli.OwnLines(err))
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return cli.Errorf("listen: %w\nhint: --http 127.0.0.1:0 takes a free port", err)
	}
	if err := s.SetAddress(l.Addr().String()); err != nil {
		return err
	}
	cli.Fprintf(a.Err, "broker: serving MCP at http://%s/mcp\n", l.Addr())
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		cli.Fprintf(a.Err, "broker: the console is at %s\n", page.URL(l.Addr().String(), approver.ClientAbove() == "", false))
	}
	if o.ConsoleSignIn {
		cli.Fprintf(a.Err, "broker: people sign in to the console at %s/console/\n", identity.PublicURL(s.Config.Broker.HTTP))
	}
	defer a.logLayers(ctx, s)()
	return host.Serve(ctx, l, handler, host.ServeOptions{Limit: a.drain, Running: requests, Balanced: fleet != nil, Waiting: func(n int) {
		cli.Fprintf(a.Err, "broker: finishing %s, for %v at most; a second signal ends at once\n", cli.Count(n, "request"), a.drain)
	}})
}
