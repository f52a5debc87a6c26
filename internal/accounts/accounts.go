// Package accounts lets people connect their own accounts of servers, and reaches
// servers on their behalf.
//
// The tokens or secrets that a person gives for a server are an encrypted document,
// with a name that binds it to the issuer and subject of the person and to the server.
// A person gives them on pages below /connect, in a browser that has proved its owner:
// by a sign-in at the broker's issuer or, without that, by a link that works once and
// was given only to the person's agent.
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

// A Server is one that people connect accounts of.
type Server struct {
	Name    string
	Secrets []string // what a person enters for it; none means that it is signed in to
	// OAuth is how it is signed in to, its references resolved.
	OAuth func() (oauth.Server, error)
}

// Options are the settings of a Service. Documents, Base, Servers and Expand are
// required.
type Options struct {
	Documents state.Documents // sealed; nil if people can connect nothing
	Base      string          // the address at which people reach the broker
	Servers   func() []Server // as they are configured now
	SignIn    *SignIn         // of people with a browser; nil has links only
	Console   *Console        // how people sign in to the console; nil if they do not
	// Expand resolves references, those to secrets of a person with secret; nil has
	// none.
	Expand func(secret func(name string) (string, error)) func(string) (string, error)
	// Shared signs the requests that list the tools of a server, if somebody has signed
	// the broker itself in.
	Shared func(server upstream.Config, url string) (auth.OAuthHandler, error)
	// Note records who has connected and disconnected what; nil does not.
	Note func(state.Event)
	// Changed is called when somebody has connected an account, or has disconnected
	// one; nil is not.
	Changed func(server string, p *upstream.Person, connected bool)
	Logger  *slog.Logger // nil discards
}

// A Service is where people connect accounts. It is safe for concurrent use, also by
// several brokers with the same documents.
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

// SetBase replaces the address at which people reach the broker.
func (a *Service) SetBase(base string) error {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Host == "" {
		return errors.New("the address at which people reach the broker is not one")
	}
	a.reached.Store(u)
	return nil
}

func (a *Service) base() *url.URL { return a.reached.Load() }

// server finds a server that people connect accounts of.
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

// maxVaults is how many people's managers are kept. They hold no state.
const maxVaults = 10_000

// signIns are those of one person.
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

// A missing account is one that a person has to connect.
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
		return upstream.Access{}, errNotHere
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

// signing signs requests with the tokens that a person has got for a server.
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

// exchanging signs them with tokens that are issued for that of a person, or, if it is
// empty, for the broker itself.
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

var errNotHere = errors.New("no account of it can be connected: it was taken out of the config, or there is no stateKey")

// Page implements upstream.People. Where people cannot sign in with a browser, the
// address has a link that works once, for this person alone.
func (a *Service) Page(ctx context.Context, c upstream.Config, p *upstream.Person) (upstream.Page, error) {
	s, ok := a.server(c.Name)
	if !ok {
		return upstream.Page{}, errNotHere
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

// address is where a person connects an account of a server, or of any if it is "".
func (a *Service) address(ctx context.Context, server string, p *upstream.Person) (string, error) {
	at := a.base().JoinPath("connect", url.PathEscape(server))
	if server == "" {
		at = a.base().JoinPath("connect")
	}
	if a.o.SignIn != nil && p.Issuer != "" {
		return at.String(), nil
	}
	link, err := a.wait(ctx, waiting{Kind: kindLink, Person: personOf(p), Server: server}, linkTime)
	if err != nil {
		return "", err
	}
	if server == "" {
		at = at.JoinPath("-")
	}
	return at.JoinPath(link).String(), nil
}

// version changes when what a person has given for a server does; empty while that
// is nothing.
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
