package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/bearer"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
)

// ofPeople are the servers that get credentials of people.
func ofPeople(cfg *config.Config) []config.Server {
	return slices.DeleteFunc(slices.Clone(cfg.Servers), func(s config.Server) bool {
		return s.Disabled || !upstream.Credentials(s.Credentials).OfPeople()
	})
}

// isForPeople reports whether a config is for a broker that people sign in to. One
// that is wrong is not.
func isForPeople(path string) bool {
	cfg, err := loadConfig(path)
	return err == nil && len(ofPeople(cfg)) > 0
}

// checkPeople refuses servers that get credentials of people where those cannot be
// had.
func (a *app) checkPeople(cfg *config.Config) error {
	for _, s := range ofPeople(cfg) {
		http := cfg.Broker.HTTP
		switch {
		case a.httpAddr == "":
			return usage("server %q has \"credentials\": %q, and a broker on stdio is for one person\nhint: broker serve --http is for people who sign in; for yourself, remove \"credentials\"", s.Name, s.Credentials)
		case len(http.Tokens) == 0 && http.SignIn.Issuer == "":
			return usage("server %q has \"credentials\": %q, and nobody signs in to this broker\nhint: add \"signIn\" or \"tokens\" to \"http\" of \"broker\"", s.Name, s.Credentials)
		case s.Credentials == string(upstream.OfExchange) && http.SignIn.Issuer == "":
			return usage("server %q has \"credentials\": \"exchange\", and without \"signIn\" there are no tokens of people to exchange\nhint: add \"signIn\" to \"http\" of \"broker\"", s.Name)
		case s.Credentials == string(upstream.OfUser) && len(cfg.Broker.StateKey) == 0:
			return usage("server %q has \"credentials\": \"user\", and what people connect is only kept sealed\nhint: add \"stateKey\": \"${BROKER_STATE_KEY}\" to \"broker\"; openssl rand -hex 32 prints a key", s.Name)
		case slices.Contains(accounts.Reserved, s.Name):
			return usage("server %q has \"credentials\": %q, and its page would be one that the broker needs\nhint: give it another name", s.Name, s.Credentials)
		case publicURL(http) == "" && !isLocal(a.httpAddr):
			return usage("server %q has \"credentials\": %q, and people have to open a page of the broker\nhint: add the address of the broker, such as \"url\": \"https://broker.example.com\", to \"http\" of \"broker\"", s.Name, s.Credentials)
		}
	}
	return nil
}

// publicURL is where people reach the broker; "" if the config does not say it.
func publicURL(c config.HTTP) string {
	if c.URL != "" {
		return c.URL
	}
	return strings.TrimSuffix(strings.TrimSuffix(c.SignIn.Resource, "/"), "/mcp")
}

func isLocal(addr string) bool {
	addr, err := surface.NormalizeAddr(addr)
	if err != nil {
		return true // which is said elsewhere
	}
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// openAccounts opens the service with which people connect their accounts, or returns nil
// for a broker without people.
func (a *app) openAccounts(cfg *config.Config, s *session, kept *application.State, shared func(upstream.Config, string) (auth.OAuthHandler, error), note func(state.Event)) (*accounts.Service, error) {
	if a.httpAddr == "" {
		return nil, nil
	}
	with, err := browserSignIn(cfg.Broker.HTTP.SignIn)
	if err != nil {
		return nil, err
	}
	console, err := consoleSignIn(cfg.Broker.HTTP)
	if err != nil {
		return nil, err
	}
	base := publicURL(cfg.Broker.HTTP)
	if base == "" {
		base = "http://localhost" // until it listens: see meetPeople
	}
	return accounts.New(accounts.Options{
		Documents: kept.People, Base: base, SignIn: with, Console: console, Shared: shared, Note: note, Logger: kept.Logger,
		Servers: func() []accounts.Server { return connectable(s.live.Load()) },
		Expand: func(secret func(string) (string, error)) func(string) (string, error) {
			from := sources()
			from.Person = secret
			return from.Expand
		},
		Changed: func(server string, p *upstream.Person, connected bool) {
			s.root.Forget(server, p)
			if connected {
				go s.listFor(server) // it ends with the broker
			}
		},
	})
}

// listFor lists the tools of a server that could not be listed before.
func (s *session) listFor(server string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, st := range s.root.Status() {
		if st.Name == server && st.Tools == 0 && st.State != upstream.StateReady {
			s.root.Refresh(ctx, server)
		}
	}
}

// meetPeople says where people reach a broker that listens on this machine alone.
func (s *session) meetPeople(addr string) error {
	if s.accounts == nil || publicURL(s.config.Broker.HTTP) != "" {
		return nil
	}
	return s.accounts.SetBase("http://" + addr)
}

// connectable returns the servers to which people connect accounts.
func connectable(cfg *config.Config) []accounts.Server {
	if cfg == nil { // the broker is being opened
		return nil
	}
	var list []accounts.Server
	for _, c := range ofPeople(cfg) {
		if c.Credentials == string(upstream.OfUser) {
			list = append(list, accounts.Server{Name: c.Name, Secrets: c.PersonalSecrets(), OAuth: func() (oauth.Server, error) { return oauthServer(&c) }})
		}
	}
	return list
}

// browserSignIn is how people sign in with a browser; nil if the config does not say
// what the broker is to the issuer.
func browserSignIn(c config.SignIn) (*accounts.SignIn, error) {
	if c.ClientID == "" {
		return nil, nil
	}
	v, err := bearer.New(bearer.Options{Issuer: c.Issuer, Resource: c.Resource, User: c.User})
	if err != nil {
		return nil, usage("http.signIn: %w", err)
	}
	secret, err := expand(c.ClientSecret)
	if err != nil {
		return nil, usage("http.signIn.clientSecret: %w", err)
	}
	return &accounts.SignIn{
		Issuer:   accounts.Issuer{URL: c.Issuer, Client: oauth.Client{ID: c.ClientID, Secret: secret, Scopes: c.Scopes}, Endpoints: endpointsOf(v)},
		Resource: c.Resource,
		Verify: func(ctx context.Context, token string) (*upstream.Person, error) {
			p, err := v.Verify(ctx, token)
			switch {
			case err != nil:
				return nil, err
			case p.Subject == "":
				return nil, errors.New("the authorization server does not say who you are")
			}
			for _, scope := range c.Scopes {
				if !slices.Contains(p.Scopes, scope) {
					return nil, errors.New("you may not use this broker: your token lacks the scope " + scope)
				}
			}
			return &upstream.Person{Issuer: c.Issuer, Subject: p.Subject, Name: p.Name}, nil
		},
	}, nil
}

// consoleSignIn is how people sign in to the console; nil if the config does not say
// who may.
func consoleSignIn(c config.HTTP) (*accounts.Console, error) {
	of := c.Console
	if of == nil {
		return nil, nil
	}
	if u, err := url.Parse(publicURL(c)); err != nil || strings.Trim(u.Path, "/") != "" {
		return nil, usage("people sign in to the console, and its address %s/console has another path than /console\nhint: set \"url\" of \"http\" to an address without a path, at which the broker is reached too", publicURL(c))
	}
	id, hidden, key := of.ClientID, of.ClientSecret, "console"
	if id == "" {
		id, hidden, key = c.SignIn.ClientID, c.SignIn.ClientSecret, "signIn"
	}
	secret, err := expand(hidden)
	if err != nil {
		return nil, usage("http.%s.clientSecret: %w", key, err)
	}
	scopes := of.Scopes
	if len(scopes) == 0 {
		scopes = []string{"email", "profile"}
	}
	among := make(map[string]string)
	for _, value := range slices.Concat(of.Admins, of.Viewers) {
		among[value] = value
	}
	v, err := bearer.New(bearer.Options{Issuer: c.SignIn.Issuer, Resource: id, User: c.SignIn.User, ProfileClaim: of.Claim, Profiles: among})
	if err != nil {
		return nil, usage("http.signIn: %w", err)
	}
	return &accounts.Console{
		Issuer: accounts.Issuer{URL: c.SignIn.Issuer, Client: oauth.Client{ID: id, Secret: secret, Scopes: append([]string{"openid"}, scopes...)}, Endpoints: endpointsOf(v)},
		Verify: func(ctx context.Context, token, nonce string) (*upstream.Person, []string, error) {
			p, err := v.VerifySignIn(ctx, token, nonce)
			if err == nil && p.Subject == "" {
				err = errors.New("the authorization server does not say who you are")
			}
			return &upstream.Person{Issuer: c.SignIn.Issuer, Subject: p.Subject, Name: p.Name}, p.Profiles, err
		},
		May: func(p *upstream.Person, values []string) (changes bool, err error) {
			has := func(list []string) bool {
				return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
			}
			_, program := c.Tokens[p.Name]
			switch {
			case program:
				return false, fmt.Errorf("%q is the name of a token of the broker", p.Name)
			case !surface.MayBeNamed(p.Name):
				return false, fmt.Errorf("%.40q cannot be the name of a person", p.Name)
			case has(of.Admins):
				return true, nil
			case has(of.Viewers):
				return false, nil
			}
			return false, fmt.Errorf("%s may not use this console: claim %q matches neither admins nor viewers", p.Name, of.Claim)
		},
	}, nil
}

// endpointsOf returns a function that returns the endpoints at which users of v's
// tokens sign in.
func endpointsOf(v *bearer.Verifier) func(context.Context) (accounts.Endpoints, error) {
	return func(ctx context.Context) (accounts.Endpoints, error) {
		e, err := v.Endpoints(ctx)
		return accounts.Endpoints(e), err
	}
}
