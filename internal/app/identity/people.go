package identity

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	"github.com/mcpbroker/mcpbroker/internal/bearer"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// Personal returns the servers that get credentials of people.
func Personal(cfg *config.Config) []config.Server {
	return slices.DeleteFunc(slices.Clone(cfg.Servers), func(s config.Server) bool {
		return s.Disabled || !upstream.Credentials(s.Credentials).OfPeople()
	})
}

// CheckPeople refuses servers that get credentials of people where those are not
// available. addr is where the broker serves over HTTP, or empty.
func CheckPeople(cfg *config.Config, addr string) error {
	for _, s := range Personal(cfg) {
		http := cfg.Broker.HTTP
		switch {
		case addr == "":
			return wrong("broker serve --http is for people who sign in; for yourself, remove \"credentials\"", "server %q has \"credentials\": %q, and a broker on stdio is for one person", s.Name, s.Credentials)
		case len(http.Tokens) == 0 && http.SignIn.Issuer == "":
			return wrong("add \"signIn\" or \"tokens\" to \"http\" of \"broker\"", "server %q has \"credentials\": %q, and nobody signs in to this broker", s.Name, s.Credentials)
		case s.Credentials == string(upstream.OfExchange) && http.SignIn.Issuer == "":
			return wrong("add \"signIn\" to \"http\" of \"broker\"", "server %q has \"credentials\": \"exchange\", and without \"signIn\" there are no tokens of people to exchange", s.Name)
		case s.Credentials == string(upstream.OfUser) && len(cfg.Broker.StateKey) == 0:
			return wrong("add \"stateKey\": \"${BROKER_STATE_KEY}\" to \"broker\"; openssl rand -hex 32 prints a key", "server %q has \"credentials\": \"user\", and what people connect is only kept sealed", s.Name)
		case slices.Contains(accounts.Reserved, s.Name):
			return wrong("give it another name", "server %q has \"credentials\": %q, and its page would be one that the broker needs", s.Name, s.Credentials)
		case PublicURL(http) == "" && !isLocal(addr):
			return wrong("add the address of the broker, such as \"url\": \"https://broker.example.com\", to \"http\" of \"broker\"", "server %q has \"credentials\": %q, and people have to open a page of the broker", s.Name, s.Credentials)
		}
	}
	return nil
}

// PublicURL returns the URL at which people reach the broker, or "" if the config has none.
func PublicURL(c config.HTTP) string {
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

// Connectable returns the servers to which people connect accounts; none for a nil
// config.
func Connectable(cfg *config.Config, expand func(string) (string, error)) []accounts.Server {
	if cfg == nil {
		return nil
	}
	var list []accounts.Server
	for _, c := range Personal(cfg) {
		if c.Credentials == string(upstream.OfUser) {
			list = append(list, accounts.Server{Name: c.Name, Secrets: c.PersonalSecrets(), OAuth: func() (oauth.Server, error) { return Server(&c, expand) }})
		}
	}
	return list
}

// BrowserSignIn returns how people sign in with a browser; nil if the config names no
// client of the issuer.
func BrowserSignIn(c config.SignIn, expand func(string) (string, error)) (*accounts.SignIn, error) {
	if c.ClientID == "" {
		return nil, nil
	}
	v, err := bearer.New(bearer.Options{Issuer: c.Issuer, Resource: c.Resource, User: c.User})
	if err != nil {
		return nil, wrong("", "http.signIn: %w", err)
	}
	secret, err := expand(c.ClientSecret)
	if err != nil {
		return nil, wrong("", "http.signIn.clientSecret: %w", err)
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

// ConsoleSignIn returns how people sign in to the console; nil if the config does not
// name those that may.
func ConsoleSignIn(c config.HTTP, expand func(string) (string, error)) (*accounts.Console, error) {
	of := c.Console
	if of == nil {
		return nil, nil
	}
	if u, err := url.Parse(PublicURL(c)); err != nil || strings.Trim(u.Path, "/") != "" {
		return nil, wrong("set \"url\" of \"http\" to an address without a path, at which the broker is reached too", "people sign in to the console, and its address %s/console has another path than /console", PublicURL(c))
	}
	id, hidden, key := of.ClientID, of.ClientSecret, "console"
	if id == "" {
		id, hidden, key = c.SignIn.ClientID, c.SignIn.ClientSecret, "signIn"
	}
	secret, err := expand(hidden)
	if err != nil {
		return nil, wrong("", "http.%s.clientSecret: %w", key, err)
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
		return nil, wrong("", "http.signIn: %w", err)
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
