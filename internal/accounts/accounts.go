// Package accounts lets people connect their own accounts of servers, and reaches
// servers on their behalf.
//
// The tokens or secrets of a person for a server are stored in an encrypted document, whose name
// binds it to the issuer and subject of the person and to the server. A person enters them on
// pages below /connect, in a browser that has proved its owner: by a sign-in at the broker's
// issuer or, without one, by a link that works once and was given only to the person's agent.
//
// Operators of the broker sign in to its console in the same way.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Server is a server for which people connect accounts.
type Server struct {
	Name    string
	Secrets []string // names of the secrets that a person enters; nil means a sign-in
	// OAuth returns the settings of the sign-in, with references resolved.
	OAuth func() (oauth.Server, error)
}

// Options are the settings of a Service. Documents, Base, Servers and Expand are
// required.
type Options struct {
	Documents state.Documents // sealed; nil disables connecting accounts
	Base      string          // the public address of the broker
	Servers   func() []Server // the current servers
	SignIn    *SignIn         // the sign-in of people with a browser; nil means links only
	Console   *Console        // the sign-in to the console, or nil
	// Expand returns a function that resolves references; secret returns the secrets of a person,
	// or is nil.
	Expand func(secret func(name string) (string, error)) func(string) (string, error)
	// Shared signs the requests that list the tools of a server, if the broker itself is signed
	// in.
	Shared func(server upstream.Config, url string) (auth.OAuthHandler, error)
	// Note records connections and disconnections; it may be nil.
	Note func(state.Event)
	// Changed is called when a person has connected or disconnected an account; it may be nil.
	Changed func(server string, p *upstream.Person, connected bool)
	Logger  *slog.Logger // nil discards
}

// A Service lets people connect accounts. It is safe for concurrent use, also by several brokers
// with the same documents.
type Service struct {
	o        Options
	reached  atomic.Pointer[url.URL]
	exchange *oauth.Exchanger

	mu    sync.Mutex
	vault map[string]*oauth.Manager // by keys of people
}

var _ upstream.People = (*Service)(nil)

// New returns a Service.
func New(o Options) (*Service, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Note == nil {
		o.Note = func(state.Event) {}
	}
	if o.Changed == nil {
		o.Changed = func(string, *upstream.Person, bool) {}
	}
	a := &Service{o: o, vault: make(map[string]*oauth.Manager)}
	a.exchange = oauth.NewExchanger(&oauth.Options{Keyring: oauth.NoKeyring{}, Logger: o.Logger})
	return a, a.SetBase(o.Base)
}

// SetBase replaces the public address of the broker.
func (a *Service) SetBase(base string) error {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Host == "" {
		return errors.New("the address at which people reach the broker is not one")
	}
	a.reached.Store(u)
	return nil
}

func (a *Service) base() *url.URL { return a.reached.Load() }

// server returns the server with the given name, for which people connect accounts.
func (a *Service) server(name string) (Server, bool) {
	if a.o.Documents == nil {
		return Server{}, false
	}
	for _, s := range a.o.Servers() {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// maxVaults bounds the cached managers of people. They have no state.
const maxVaults = 10_000

// signIns returns the manager of a person's sign-ins.
func (a *Service) signIns(p *upstream.Person) *oauth.Manager {
	key := p.Key()
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.vault[key]
	if m == nil {
		if len(a.vault) >= maxVaults {
			clear(a.vault)
		}
		m = oauth.New(documentsOf(a.o.Documents, p), "", &oauth.Options{
			Keyring: oauth.NoKeyring{}, Registered: a.o.Documents, SignInFirst: true, Logger: a.o.Logger,
		})
		a.vault[key] = m
	}
	return m
}

// A missing is the error about an account that a person must connect.
type missing struct{ p *upstream.Person }

func (e missing) Error() string {
	return fmt.Sprintf("%s has not connected an account of it", e.p.Name)
}
func (e missing) SignInHint() string { return "ask the user to connect one" }
func (e missing) Partial() bool      { return false }

// Reach implements upstream.People.
func (a *Service) Reach(ctx context.Context, c upstream.Config, p *upstream.Person) (upstream.Access, error) {
	if c.Credentials == upstream.OfExchange {
		return upstream.Access{OAuth: a.exchanging(p)}, nil
	}
	s, ok := a.server(c.Name)
	switch {
	case !ok:
		return upstream.Access{}, errUnavailable
	case len(s.Secrets) == 0:
		return upstream.Access{OAuth: a.signing(p)}, nil
	}
	values, version, err := a.secrets(ctx, p, s)
	if err != nil {
		return upstream.Access{}, err
	}
	return upstream.Access{Version: version, OAuth: noOAuth, Expand: a.o.Expand(func(name string) (string, error) {
		if v, ok := values[name]; ok {
			return v, nil
		}
		return "", missing{p}
	})}, nil
}

func noOAuth(upstream.Config, string) (auth.OAuthHandler, error) { return nil, nil }

// signing returns a function that signs requests with a person's tokens for a server.
func (a *Service) signing(p *upstream.Person) func(upstream.Config, string) (auth.OAuthHandler, error) {
	return func(c upstream.Config, url string) (auth.OAuthHandler, error) {
		s, ok := a.server(c.Name)
		if !ok {
			return nil, missing{p}
		}
		to, err := s.OAuth()
		if err != nil {
			return nil, err
		}
		to.URL = url
		return a.signIns(p).Handler(to), nil
	}
}

// exchanging returns a function that signs requests with tokens that are exchanged for a person's
// token or, if that is empty, issued to the broker itself.
func (a *Service) exchanging(p *upstream.Person) func(upstream.Config, string) (auth.OAuthHandler, error) {
	expand := a.o.Expand(nil)
	return func(c upstream.Config, url string) (auth.OAuthHandler, error) {
		id, err := expand(c.OAuth.ID)
		if err != nil {
			return nil, fmt.Errorf("oauth.clientId: %w", err)
		}
		secret, err := expand(c.OAuth.Secret)
		if err != nil {
			return nil, fmt.Errorf("oauth.clientSecret: %w", err)
		}
		audience, err := expand(c.OAuth.Audience)
		if err != nil {
			return nil, fmt.Errorf("oauth.audience: %w", err)
		}
		e := oauth.Exchange{Endpoint: c.OAuth.TokenEndpoint, Audience: audience, Client: oauth.Client{ID: id, Secret: secret, Scopes: c.OAuth.Scopes}}
		return a.exchange.Handler(oauth.Server{Name: c.Name, URL: url}, e, p.Token, p.Expires), nil
	}
}

var errUnavailable = errors.New("no account of it can be connected: it was taken out of the config, or there is no stateKey")

// Page implements upstream.People. If people cannot sign in with a browser, the address contains a
// link that works once, for this person only.
func (a *Service) Page(ctx context.Context, c upstream.Config, p *upstream.Person) (upstream.Page, error) {
	s, ok := a.server(c.Name)
	if !ok {
		return upstream.Page{}, errUnavailable
	}
	before := a.version(s, p)
	page := upstream.Page{Done: func(context.Context) bool {
		now := a.version(s, p)
		return now != "" && now != before
	}}
	var err error
	page.URL, err = a.address(ctx, s.Name, p)
	return page, err
}

// address returns the address at which a person connects an account of a server, or of any server
// if it is "".
func (a *Service) address(ctx context.Context, server string, p *upstream.Person) (string, error) {
	at := a.base().JoinPath("connect", url.PathEscape(server))
	if server == "" {
		at = a.base().JoinPath("connect")
	}
	if a.o.SignIn != nil && p.Issuer != "" {
		return at.String(), nil
	}
	link, err := a.wait(ctx, pendingEntry{Kind: kindLink, Person: personOf(p), Server: server}, linkTime)
	if err != nil {
		return "", err
	}
	if server == "" {
		at = at.JoinPath("-")
	}
	return at.JoinPath(link).String(), nil
}

// version returns a text that changes with a person's data for a server, or "" if there is none.
func (a *Service) version(s Server, p *upstream.Person) string {
	if len(s.Secrets) > 0 {
		return documentsOf(a.o.Documents, p).DocumentVersion(context.Background(), secretsName(s.Name))
	}
	to, err := s.OAuth()
	if err != nil {
		return ""
	}
	return a.signIns(p).Version(to)
}

const linkTime = 10 * time.Minute
