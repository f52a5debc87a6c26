package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Server is a remote server, with every reference in its values resolved.
type Server struct {
	// Name is its key in the configuration.
	Name string
	// URL is its endpoint.
	URL string
	// Headers are sent with the request that asks for its sign-in.
	Headers map[string]string
	// Client is the broker's registration at the authorization server.
	Client Client
}

// A Client identifies the broker to an authorization server. With the zero value the broker
// registers itself, if the server allows that.
type Client struct {
	// ID and Secret identify a client that was registered manually; a public client has no Secret.
	ID, Secret string
	// Scopes are requested instead of those that the server names.
	Scopes []string
	// CallbackPort is the port of http://127.0.0.1:PORT/callback, for clients that were registered
	// with it. Zero means a free port.
	CallbackPort int
	// CallbackHost is localhost instead of 127.0.0.1 in that address. If empty,
	// localhost is tried if the authorization server refuses to register 127.0.0.1.
	CallbackHost string
	// Resource replaces the resource in the server's metadata when tokens are
	// requested; NoResource omits it.
	Resource string
	// MetadataURL is the address of a client ID metadata document, which is used if the
	// authorization server supports them.
	MetadataURL string
	// Issuer is the only authorization server to use. Its sign-in page may be on any
	// host. If empty, the server names it; ID and Secret are then only used with the
	// one of the first sign-in.
	Issuer string
}

// NoResource is the Resource of a Client whose authorization server takes the resource
// from the scopes and refuses the parameter of RFC 8707.
const NoResource = "none"

// Options are the settings of a Manager. The zero value works.
type Options struct {
	// Keyring stores the tokens; nil means SystemKeyring. With NoKeyring, documents store them.
	Keyring Keyring
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Registered stores the clients that were registered for Begin, for all managers with the same
	// documents; nil registers one for each sign-in.
	Registered state.Documents
	// SignInFirst means that a server without a sign-in is never asked without a token.
	SignInFirst bool
	// Logger records changes of tokens, never a token; nil discards.
	Logger *slog.Logger
}

// A Manager signs in and out, and stores the tokens. It is safe for concurrent use, also by
// several processes with the same documents.
type Manager struct {
	store      store
	registered state.Documents
	first      bool
	now        func() time.Time
	log        *slog.Logger
}

// New returns a manager that stores its documents in docs, and tokens in the keyring if there is
// one. scope distinguishes the entries of several stores in the keyring. New uses neither the disk
// nor the network. Nil options are the zero value.
func New(docs state.Documents, scope string, o *Options) *Manager {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Keyring == nil {
		opts.Keyring = SystemKeyring()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{
		store:      store{docs: docs, scope: scope, keyring: opts.Keyring},
		registered: opts.Registered, first: opts.SignInFirst,
		now: opts.Now, log: opts.Logger,
	}
}

const (
	// maxAnswer bounds an answer of an authorization server, in bytes.
	maxAnswer = 1 << 20
	// maxExchange bounds the time for it.
	maxExchange = 30 * time.Second
)

// newClient returns a client for home and the addresses that it leads to. It does not follow
// redirects of requests with secrets.
func newClient(home *url.URL) *outbound.Client {
	return outbound.New(outbound.Options{Home: home, MaxBytes: maxAnswer, Timeout: maxExchange})
}

// A Status describes the sign-in to one server.
type Status struct {
	Server string `json:"server"`
	// SignedIn means that there is a token, or that one is available without a person. The server
	// may still refuse it.
	SignedIn bool   `json:"signed_in"`
	Issuer   string `json:"issuer,omitempty"`
	// Expires is the expiry of the access token; zero if unknown.
	Expires time.Time `json:"expires,omitzero"`
	// Refreshable means that the token is renewed without a person.
	Refreshable bool     `json:"refreshable"`
	Scopes      []string `json:"scopes,omitempty"`
	// Wanted are scopes that the server requires and that the next sign-in requests.
	Wanted []string `json:"wanted,omitempty"`
	// Reason is the reason a sign-in ended.
	Reason string `json:"reason,omitempty"`
	// Stored is "keyring", the path of a file, or "database".
	Stored string `json:"stored,omitempty"`
}

// Status returns what is stored about s.
func (m *Manager) Status(s Server) (Status, error) {
	key := m.store.key(s.Name, s.URL)
	r, err := m.store.load(key)
	if err != nil || r == nil {
		return Status{Server: s.Name}, err
	}
	return m.status(s, r), nil
}

func (m *Manager) status(s Server, r *record) Status {
	st := Status{
		Server: s.Name, Issuer: r.Issuer, Expires: r.Expiry, Refreshable: r.RefreshToken != "",
		Scopes: r.Scopes, Wanted: r.Wanted, Reason: r.Ended,
		Stored: m.store.where(m.store.key(s.Name, s.URL)),
	}
	st.SignedIn = r.fresh(m.now()) || st.Refreshable
	if !st.SignedIn && st.Reason == "" {
		st.Reason = "the token has expired"
	}
	return st
}

// ErrNotSignedIn means that nothing is stored about a server.
var ErrNotSignedIn = errors.New("not signed in")

// Logout deletes the tokens for s, after asking the authorization server to revoke them if
// possible; revoked reports whether it did. Without tokens it returns ErrNotSignedIn.
func (m *Manager) Logout(ctx context.Context, s Server) (revoked bool, err error) {
	key := m.store.key(s.Name, s.URL)
	if m.store.stamp(key) == "" {
		return false, ErrNotSignedIn
	}
	unlock, err := m.store.lock(ctx, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	r, err := m.store.load(key)
	if err != nil {
		return false, err
	}
	if f, _ := m.store.file(key); r == nil && f != nil && f.Keyring == "" && f.Challenge != nil {
		return false, ErrNotSignedIn // only the refusal is stored
	}
	if r != nil && r.Ended == "" && r.revocation() != "" {
		err := r.checkClient(s.Client)
		if err == nil {
			err = m.revoke(ctx, r, s.Client)
		}
		if err != nil {
			m.log.Warn("cannot revoke the token", "server", s.Name, "err", err)
		} else {
			revoked = true
		}
	}
	return revoked, m.store.remove(key)
}

// A SignInError means that a person must sign in: there is no token, or it is refused
// and cannot be renewed.
type SignInError struct {
	// Server is the server's name.
	Server string
	// Reason is the reason, if more is known than that there is no token.
	Reason string
	// Scopes are the scopes that the token lacks, if it is valid for other requests.
	Scopes []string
	// InVain means that the last sign-in asked for Scopes already.
	InVain bool
	// Request is the request that needs the sign-in, such as a call of one tool, if
	// others do not.
	Request string
}

// Error returns the reason for a sign-in. It contains no token.
func (e *SignInError) Error() string {
	switch {
	case e.InVain:
		return fmt.Sprintf("the user has too few rights: it asks for %s, as the last sign-in did", strings.Join(e.Scopes, " "))
	case len(e.Scopes) > 0:
		return "needs sign-in with more rights: it asks for " + strings.Join(e.Scopes, " ")
	}
	text := "needs sign-in"
	if e.Request != "" {
		text += " for " + e.Request
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// SignInHint returns the command for a person.
func (e *SignInError) SignInHint() string {
	if e.InVain {
		return "sign in as another user: broker auth login " + Quote(e.Server)
	}
	return "broker auth login " + Quote(e.Server)
}

// Partial reports whether other requests work with the token, or without one.
func (e *SignInError) Partial() bool { return len(e.Scopes) > 0 || e.Request != "" }

// checkSecure refuses addresses to which no secret must be sent.
func checkSecure(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("the %s is not an address", what)
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return fmt.Errorf("the %s %s is not https: no secret is sent there", what, cleanText(outbound.Origin(u)))
	}
	return nil
}
