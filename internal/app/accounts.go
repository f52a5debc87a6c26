package app

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
)

// ServesPeople reports whether a config is for a broker that people sign in to. A config
// with mistakes is not.
func (s *Setup) ServesPeople(path string) bool {
	cfg, err := s.LoadFile(path)
	return err == nil && len(identity.Personal(cfg)) > 0
}

// openAccounts opens the service with which people connect their accounts, or returns nil
// for a broker without people.
func (s *App) openAccounts(shared func(upstream.Config, string) (auth.OAuthHandler, error)) (*accounts.Service, error) {
	o, http := s.options, s.Config.Broker.HTTP
	if o.HTTPAddr == "" {
		return nil, nil
	}
	with, err := identity.BrowserSignIn(http.SignIn, o.Sources.Expand)
	if err != nil {
		return nil, SettingError(err)
	}
	console, err := identity.ConsoleSignIn(http, o.Sources.Expand)
	if err != nil {
		return nil, SettingError(err)
	}
	base := identity.PublicURL(http)
	if base == "" {
		base = "http://localhost" // until it listens: see SetAddress
	}
	return accounts.New(accounts.Options{
		Documents: s.State.People, Base: base, SignIn: with, Console: console, Shared: shared, Note: s.Audit.Note, Logger: o.Logger,
		Servers: func() []accounts.Server { return identity.Connectable(s.live.Load(), o.Sources.Expand) },
		Expand: func(secret func(string) (string, error)) func(string) (string, error) {
			from := o.Sources
			from.Person = secret
			return from.Expand
		},
		Changed: func(server string, p *upstream.Person, connected bool) {
			s.Root.Forget(server, p)
			if connected {
				go listFor(s.Root, server) // it ends with the broker
			}
		},
	})
}

// listFor lists the tools of a server that could not be listed before.
func listFor(b *broker.Broker, server string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, st := range b.Status() {
		if st.Name == server && st.Tools == 0 && st.State != upstream.StateReady {
			b.Refresh(ctx, server)
		}
	}
}

// SetAddress sets where people reach a broker that listens on this machine alone.
func (s *App) SetAddress(addr string) error {
	if s.Accounts == nil || identity.PublicURL(s.Config.Broker.HTTP) != "" {
		return nil
	}
	return s.Accounts.SetBase("http://" + addr)
}
