// Package connect lets people connect their own accounts of servers, and reaches
// servers on their behalf.
//
// The tokens or secrets that a person gives for a server are an encrypted document,
// with a name that binds it to the issuer and subject of the person and to the server.
// A person gives them on pages below /connect, in a browser that has proved its owner:
// by a sign-in at the broker's issuer or, without that, by a link that works once and
// was given only to the person's agent.
//
// Operators of the broker sign in to its console in the same way.
package connect

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

// Options are the settings of a Desk. Documents, Base, Servers and Expand are
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

// A Desk is where people connect accounts. It is safe for concurrent use, also by
// several brokers with the same documents.
type Desk struct {
	o        Options
	reached  atomic.Pointer[url.URL]
	exchange *oauth.Exchanger

	mu    sync.Mutex
	vault map[string]*oauth.Manager // by keys of people
}

var _ upstream.People = (*Desk)(nil)

// New returns a desk.
func New(o Options) (*Desk, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Note == nil {
		o.Note = func(state.Event) {}
	}
	if o.Changed == nil {
		o.Changed = func(string, *upstream.Person, bool) {}
	}
	d := &Desk{o: o, vault: make(map[string]*oauth.Manager)}
	d.exchange = oauth.NewExchanger(&oauth.Options{Keyring: oauth.NoKeyring{}, Logger: o.Logger})
	return d, d.SetBase(o.Base)
}

// SetBase replaces the address at which people reach the broker.
func (d *Desk) SetBase(base string) error {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || u.Host == "" {
		return errors.New("the address at which people reach the broker is not one")
	}
	d.reached.Store(u)
	return nil
}

func (d *Desk) base() *url.URL { return d.reached.Load() }

// server finds a server that people connect accounts of.
func (d *Desk) server(name string) (Server, bool) {
	if d.o.Documents == nil {
		return Server{}, false
	}
	for _, s := range d.o.Servers() {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// maxVaults is how many people's managers are kept. They hold no state.
const maxVaults = 10_000

// signIns are those of one person.
func (d *Desk) signIns(p *upstream.Person) *oauth.Manager {
	key := p.Key()
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.vault[key]
	if m == nil {
		if len(d.vault) >= maxVaults {
			clear(d.vault)
		}
		m = oauth.New(documentsOf(d.o.Documents, p), "", &oauth.Options{
			Keyring: oauth.NoKeyring{}, Registered: d.o.Documents, SignInFirst: true, Logger: d.o.Logger,
		})
		d.vault[key] = m
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
func (d *Desk) Reach(ctx context.Context, c upstream.Config, p *upstream.Person) (upstream.Access, error) {
	if c.Credentials == upstream.OfExchange {
		return upstream.Access{OAuth: d.exchanging(p)}, nil
	}
	s, ok := d.server(c.Name)
	switch {
	case !ok:
		return upstream.Access{}, errNotHere
	case len(s.Secrets) == 0:
		return upstream.Access{OAuth: d.signing(p)}, nil
	}
	values, version, err := d.secrets(ctx, p, s)
	if err != nil {
		return upstream.Access{}, err
	}
	return upstream.Access{Version: version, OAuth: noOAuth, Expand: d.o.Expand(func(name string) (string, error) {
		if v, ok := values[name]; ok {
			return v, nil
		}
		return "", missing{p}
	})}, nil
}

func noOAuth(upstream.Config, string) (auth.OAuthHandler, error) { return nil, nil }

// signing signs requests with the tokens that a person has got for a server.
func (d *Desk) signing(p *upstream.Person) func(upstream.Config, string) (auth.OAuthHandler, error) {
	return func(c upstream.Config, url string) (auth.OAuthHandler, error) {
		s, ok := d.server(c.Name)
		if !ok {
			return nil, missing{p}
		}
		to, err := s.OAuth()
		if err != nil {
			return nil, err
		}
		to.URL = url
		return d.signIns(p).Handler(to), nil
	}
}

// exchanging signs them with tokens that are issued for that of a person, or, if it is
// empty, for the broker itself.
func (d *Desk) exchanging(p *upstream.Person) func(upstream.Config, string) (auth.OAuthHandler, error) {
	expand := d.o.Expand(nil)
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
		return d.exchange.Handler(oauth.Server{Name: c.Name, URL: url}, e, p.Token, p.Expires), nil
	}
}

var errNotHere = errors.New("no account of it can be connected: it was taken out of the config, or there is no stateKey")

// Page implements upstream.People. Where people cannot sign in with a browser, the
// address has a link that works once, for this person alone.
func (d *Desk) Page(ctx context.Context, c upstream.Config, p *upstream.Person) (upstream.Page, error) {
	s, ok := d.server(c.Name)
	if !ok {
		return upstream.Page{}, errNotHere
	}
	before := d.version(s, p)
	page := upstream.Page{Done: func(context.Context) bool {
		now := d.version(s, p)
		return now != "" && now != before
	}}
	var err error
	page.URL, err = d.address(ctx, s.Name, p)
	return page, err
}

// address is where a person connects an account of a server, or of any if it is "".
func (d *Desk) address(ctx context.Context, server string, p *upstream.Person) (string, error) {
	at := d.base().JoinPath("connect", url.PathEscape(server))
	if server == "" {
		at = d.base().JoinPath("connect")
	}
	if d.o.SignIn != nil && p.Issuer != "" {
		return at.String(), nil
	}
	link, err := d.wait(ctx, waiting{Kind: kindLink, Person: personOf(p), Server: server}, linkTime)
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
func (d *Desk) version(s Server, p *upstream.Person) string {
	if len(s.Secrets) > 0 {
		return documentsOf(d.o.Documents, p).DocumentVersion(context.Background(), secretsName(s.Name))
	}
	to, err := s.OAuth()
	if err != nil {
		return ""
	}
	return d.signIns(p).Version(to)
}

const linkTime = 10 * time.Minute
