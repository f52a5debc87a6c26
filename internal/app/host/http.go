package host

import (
	"context"
	"net"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/apitoken"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// HTTPOptions are the options of RunHTTP, which listens at the HTTPAddr of its OpenOptions.
type HTTPOptions struct {
	// Drain limits the time that running requests get to finish when the server ends.
	Drain   time.Duration
	Replica Replica
	Console ConsoleOptions
}

// RunHTTP serves clients over HTTP until ctx is done.
func RunHTTP(ctx context.Context, o app.OpenOptions, h HTTPOptions) error {
	return Run(ctx, o, func(ctx context.Context, a *app.App, w *Watcher) error { return serveHTTP(ctx, a, w, h) })
}

func serveHTTP(ctx context.Context, a *app.App, w *Watcher, h HTTPOptions) error {
	addr, err := surface.NormalizeAddr(a.Options().HTTPAddr)
	if err != nil {
		return &app.Error{Err: err, Usage: true, Lines: true}
	}
	page := console.New()
	watched, err := apitoken.Watch(ctx, a.State.APITokens(), a.State.Logger)
	if err != nil {
		return err
	}
	defer watched.Close()
	o, err := endpoint(a, w, addr, issued{watched}, page, h.Console)
	if err != nil {
		return err
	}
	requests := NewRunning()
	fleet, err := h.Replica.join(ctx, a.State, requests)
	if err != nil {
		return err
	}
	if fleet != nil {
		o.Replicas = fleet
		defer func() {
			if err := fleet.Close(); err != nil {
				a.State.Logger.Warn("leave the other replicas", "err", err)
			}
		}()
	}
	if fleet != nil && h.Replica.Address != "" {
		o.Busy = requests.Begin
	}
	handler, err := a.Bound.Handler(o)
	if err != nil {
		return &app.Error{Err: err, Usage: true, Lines: true}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return app.Errorf("--http 127.0.0.1:0 takes a free port", "listen: %w", err)
	}
	if err := a.SetAddress(l.Addr().String()); err != nil {
		return err
	}
	a.Printf("broker: serving MCP at http://%s/mcp", l.Addr())
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		a.Printf("broker: the console is at %s", page.URL(l.Addr().String(), h.Console.MayChange(), false))
	}
	if o.ConsoleSignIn {
		a.Printf("broker: people sign in to the console at %s/console/", identity.PublicURL(a.Config.Broker.HTTP))
	}
	defer a.PrintLayers(ctx)()
	r := newRest(BrokerRestTime)
	defer r.stop()
	return Serve(ctx, l, r.handler(handler), ServeOptions{Limit: h.Drain, Running: requests, Balanced: fleet != nil, Waiting: func(n int) {
		a.Printf("broker: finishing %s, for %v at most; a second signal ends at once", words.Count(n, "request"), h.Drain)
	}})
}

// endpoint returns the options of the HTTP endpoint, as the config says.
func endpoint(a *app.App, w *Watcher, addr string, tokens issued, page *console.Console, c ConsoleOptions) (broker.HTTPOptions, error) {
	set := a.Config.Broker.HTTP
	values, limits, err := identity.Tokens(set, a.Options().Sources.Expand)
	if err != nil {
		return broker.HTTPOptions{}, app.SettingError(err)
	}
	people, err := identity.SignIn(set.SignIn)
	if err != nil {
		return broker.HTTPOptions{}, app.SettingError(err)
	}
	manage, err := manageOverHTTP(a, w, values, limits, tokens, page, c)
	if err != nil {
		return broker.HTTPOptions{}, err
	}
	o := broker.HTTPOptions{Addr: addr, Tokens: values, Limits: limits, Issued: tokens, SignIn: people, API: manage, RefuseAPI: api.Refuse, Console: page,
		Ready: func() bool { return app.TakesMore(a.Audit, a.Live().Broker.StateFailure == "refuse") }}
	if a.Accounts != nil {
		o.Connect, o.ConnectLink = a.Accounts.Handler(), a.Accounts.Link
	}
	if set.Console != nil {
		o.Console, o.ConsoleSignIn = a.Accounts.ConsoleHandler(page), true
	}
	if a.Options().Profile == "" {
		o.Default = a.Config.Broker.Profile
	}
	return o, nil
}

// issued are the tokens that commands have made for the endpoint.
type issued struct{ *apitoken.Watcher }

// Owner implements broker.Issued.
func (i issued) Owner(token string) (client string, l broker.TokenLimits, ok bool) {
	t, ok := i.Find(token)
	return t.Name, broker.TokenLimits{Profile: t.Profile, Team: t.Team, Expires: t.Expires}, ok
}
