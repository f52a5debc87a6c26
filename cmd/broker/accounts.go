package main

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

// isForPeople reports whether a config is for a broker that people sign in to. One
// that is wrong is not.
func isForPeople(path string) bool {
	cfg, err := loadConfig(path)
	return err == nil && len(identity.Personal(cfg)) > 0
}

// openAccounts opens the service with which people connect their accounts, or returns nil
// for a broker without people.
func (a *app) openAccounts(cfg *config.Config, s *App, kept *application.State, shared func(upstream.Config, string) (auth.OAuthHandler, error), note func(state.Event)) (*accounts.Service, error) {
	if a.httpAddr == "" {
		return nil, nil
	}
	with, err := identity.BrowserSignIn(cfg.Broker.HTTP.SignIn, expand)
	if err != nil {
		return nil, settingError(err)
	}
	console, err := identity.ConsoleSignIn(cfg.Broker.HTTP, expand)
	if err != nil {
		return nil, settingError(err)
	}
	base := identity.PublicURL(cfg.Broker.HTTP)
	if base == "" {
		base = "http://localhost" // until it listens: see meetPeople
	}
	return accounts.New(accounts.Options{
		Documents: kept.People, Base: base, SignIn: with, Console: console, Shared: shared, Note: note, Logger: kept.Logger,
		Servers: func() []accounts.Server { return identity.Connectable(s.live.Load(), expand) },
		Expand: func(secret func(string) (string, error)) func(string) (string, error) {
			from := sources()
			from.Person = secret
			return from.Expand
		},
		Changed: func(server string, p *upstream.Person, connected bool) {
			s.Root.Forget(server, p)
			if connected {
				go s.listFor(server) // it ends with the broker
			}
		},
	})
}

// listFor lists the tools of a server that could not be listed before.
func (s *App) listFor(server string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, st := range s.Root.Status() {
		if st.Name == server && st.Tools == 0 && st.State != upstream.StateReady {
			s.Root.Refresh(ctx, server)
		}
	}
}

// SetAddress says where people reach a broker that listens on this machine alone.
func (s *App) SetAddress(addr string) error {
	if s.Accounts == nil || identity.PublicURL(s.Config.Broker.HTTP) != "" {
		return nil
	}
	return s.Accounts.SetBase("http://" + addr)
}
