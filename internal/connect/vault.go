package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
)

// personal are the documents of one person. Their names are sealed with them, so none
// can be put in the place of another's.
type personal struct {
	state.Documents
	prefix string
}

func documentsOf(docs state.Documents, p *upstream.Person) personal {
	return personal{docs, "person-" + p.Key() + "-"}
}

func (d personal) Document(ctx context.Context, name string) ([]byte, error) {
	return d.Documents.Document(ctx, d.prefix+name)
}

func (d personal) SetDocument(ctx context.Context, name string, body []byte) error {
	return d.Documents.SetDocument(ctx, d.prefix+name, body)
}

func (d personal) DocumentVersion(ctx context.Context, name string) string {
	return d.Documents.DocumentVersion(ctx, d.prefix+name)
}

func (d personal) LockDocument(ctx context.Context, name string) (func(), error) {
	return d.Documents.LockDocument(ctx, d.prefix+name)
}

func (d personal) ListDocuments(ctx context.Context, prefix string) ([]state.DocumentInfo, error) {
	list, err := d.Documents.ListDocuments(ctx, d.prefix+prefix)
	for i := range list {
		list[i].Name = strings.TrimPrefix(list[i].Name, d.prefix)
	}
	return list, err
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// secretsName is the document of the secrets that a person has entered for a server.
func secretsName(server string) string { return "secrets-" + hashed(server) }

// secrets returns what a person has entered for a server.
func (d *Desk) secrets(ctx context.Context, p *upstream.Person, s Server) (values map[string]string, version string, err error) {
	docs := documentsOf(d.o.Documents, p)
	version = docs.DocumentVersion(ctx, secretsName(s.Name)) // first: one that is replaced meanwhile is read again
	body, err := docs.Document(ctx, secretsName(s.Name))
	if errors.Is(err, state.ErrNotFound) {
		return nil, "", missing{p}
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the secrets of %s: %w", p.Name, err)
	}
	if json.Unmarshal(body, &values) != nil {
		return nil, "", missing{p}
	}
	for _, name := range s.Secrets {
		if values[name] == "" {
			return nil, "", missing{p}
		}
	}
	return values, version, nil
}

// enter keeps the secrets of a person for a server.
func (d *Desk) enter(ctx context.Context, p *upstream.Person, s Server, values map[string]string) error {
	body, err := json.Marshal(values)
	if err == nil {
		err = documentsOf(d.o.Documents, p).SetDocument(ctx, secretsName(s.Name), body)
	}
	if err != nil {
		return fmt.Errorf("keep the secrets: %w", err)
	}
	d.connected(ctx, p, s)
	return nil
}

// Disconnect revokes and forgets what a person has given for a server.
func (d *Desk) Disconnect(ctx context.Context, p *upstream.Person, s Server) error {
	var err error
	revoked := false
	if len(s.Secrets) > 0 {
		err = documentsOf(d.o.Documents, p).SetDocument(ctx, secretsName(s.Name), nil)
	} else {
		var to oauth.Server
		if to, err = s.OAuth(); err == nil {
			revoked, err = d.signIns(p).Logout(ctx, to)
		}
	}
	if err != nil && !errors.Is(err, oauth.ErrNotSignedIn) {
		return err
	}
	if l, err := d.lister(ctx, s.Name); err == nil && l != nil && l.Key() == p.Key() {
		if err := d.o.Documents.SetDocument(ctx, listerName(s.Name), nil); err != nil {
			d.o.Logger.Warn("cannot forget who lists the tools", "server", s.Name, "err", err)
		}
	}
	detail := "the account is disconnected"
	if revoked {
		detail += ", and its token revoked"
	}
	d.o.Note(state.Event{Kind: state.EventLogout, Server: s.Name, Client: p.Name, Detail: detail})
	d.o.Changed(s.Name, p, false)
	return nil
}

// connected sees to what follows when a person has connected an account: the first
// one lists the tools, if the broker cannot by itself.
func (d *Desk) connected(ctx context.Context, p *upstream.Person, s Server) {
	if l, err := d.lister(ctx, s.Name); err == nil && l == nil {
		body, _ := json.Marshal(personOf(p)) // texts always marshal
		if err := d.o.Documents.SetDocument(ctx, listerName(s.Name), body); err != nil {
			d.o.Logger.Warn("cannot note who lists the tools", "server", s.Name, "err", err)
		}
	}
	d.o.Note(state.Event{Kind: state.EventLogin, Server: s.Name, Client: p.Name, Detail: "an account is connected"})
	d.o.Changed(s.Name, p, true)
}

func listerName(server string) string { return "lister-" + hashed(server) }

// lister returns the account that lists the tools of a server, or nil before a person
// has connected one.
func (d *Desk) lister(ctx context.Context, server string) (*upstream.Person, error) {
	body, err := d.o.Documents.Document(ctx, listerName(server))
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var who person
	if json.Unmarshal(body, &who) != nil {
		return nil, nil // somebody else may be it
	}
	return who.upstream(), nil
}

// Lister implements upstream.People.
func (d *Desk) Lister(c upstream.Config) upstream.Access {
	return upstream.Access{
		Expand: d.o.Expand(func(name string) (string, error) {
			p, err := d.lister(context.Background(), c.Name)
			if err != nil {
				return "", err
			}
			s, ok := d.server(c.Name)
			if p == nil || !ok {
				return "", d.unlisted(c.Name)
			}
			values, _, err := d.secrets(context.Background(), p, s)
			if err != nil {
				return "", d.unlisted(c.Name)
			}
			return values[name], nil
		}),
		OAuth: func(c upstream.Config, url string) (auth.OAuthHandler, error) {
			if c.Credentials == upstream.OfExchange {
				return d.exchanging(&upstream.Person{})(c, url)
			}
			shared, err := d.o.Shared(c, url)
			if err != nil {
				return nil, err
			}
			return &listing{d: d, c: c, url: url, shared: shared}, nil
		},
	}
}

// unlisted returns the advice for a server with unlisted tools.
func (d *Desk) unlisted(server string) error {
	return &notListed{server: server, at: d.base().JoinPath("connect").String()}
}

type notListed struct{ server, at string }

func (e *notListed) Error() string {
	return "needs an account to list its tools, and nobody has connected one"
}
func (e *notListed) Partial() bool { return false }
func (e *notListed) SignInHint() string {
	return "its tools are listed with the account of the first person who connects one, at " + e.at
}

// listing signs the requests that list the tools of a server: as the broker itself
// if it is signed in, else as the first person who has connected an account.
type listing struct {
	d      *Desk
	c      upstream.Config
	url    string
	shared auth.OAuthHandler
}

func (l *listing) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	source, err := l.shared.TokenSource(ctx)
	if err == nil && source != nil {
		return source, nil
	}
	h, e := l.first(ctx)
	if e != nil {
		return nil, e
	}
	if h != nil {
		return h.TokenSource(ctx)
	}
	return source, l.explain(err)
}

func (l *listing) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	source, err := l.shared.TokenSource(ctx)
	if err != nil || source == nil {
		if h, err := l.first(ctx); err == nil && h != nil {
			return h.Authorize(ctx, req, resp)
		}
	}
	return l.explain(l.shared.Authorize(ctx, req, resp))
}

// first returns the handler of the first person, or nil.
func (l *listing) first(ctx context.Context) (auth.OAuthHandler, error) {
	p, err := l.d.lister(ctx, l.c.Name)
	if err != nil || p == nil {
		return nil, err
	}
	return l.d.signing(p)(l.c, l.url)
}

func (l *listing) explain(err error) error {
	if _, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return l.d.unlisted(l.c.Name)
	}
	return err
}
