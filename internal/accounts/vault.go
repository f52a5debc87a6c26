package accounts

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

// personal are the documents of one person. Their names are sealed with them, so none can replace
// another person's.
type personal struct {
	state.Documents
	prefix string
}

func documentsOf(docs state.Documents, p *upstream.Person) personal {
	return personal{docs, "person-" + p.Key() + "-"}
}

func (p personal) Document(ctx context.Context, name string) ([]byte, error) {
	return p.Documents.Document(ctx, p.prefix+name)
}

func (p personal) SetDocument(ctx context.Context, name string, body []byte) error {
	return p.Documents.SetDocument(ctx, p.prefix+name, body)
}

func (p personal) DocumentVersion(ctx context.Context, name string) string {
	return p.Documents.DocumentVersion(ctx, p.prefix+name)
}

func (p personal) LockDocument(ctx context.Context, name string) (func(), error) {
	return p.Documents.LockDocument(ctx, p.prefix+name)
}

func (p personal) ListDocuments(ctx context.Context, prefix string) ([]state.DocumentInfo, error) {
	list, err := p.Documents.ListDocuments(ctx, p.prefix+prefix)
	for i := range list {
		list[i].Name = strings.TrimPrefix(list[i].Name, p.prefix)
	}
	return list, err
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// secretsName returns the document with a person's secrets for a server.
func secretsName(server string) string { return "secrets-" + hashed(server) }

// secrets returns a person's secrets for a server.
func (a *Service) secrets(ctx context.Context, p *upstream.Person, s Server) (values map[string]string, version string, err error) {
	docs := documentsOf(a.o.Documents, p)
	version = docs.DocumentVersion(ctx, secretsName(s.Name)) // first, so that a document that is replaced meanwhile is read again
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

// storeSecrets stores a person's secrets for a server.
func (a *Service) storeSecrets(ctx context.Context, p *upstream.Person, s Server, values map[string]string) error {
	body, err := json.Marshal(values)
	if err == nil {
		err = documentsOf(a.o.Documents, p).SetDocument(ctx, secretsName(s.Name), body)
	}
	if err != nil {
		return fmt.Errorf("keep the secrets: %w", err)
	}
	a.connected(ctx, p, s)
	return nil
}

// Disconnect revokes and deletes a person's data for a server.
func (a *Service) Disconnect(ctx context.Context, p *upstream.Person, s Server) error {
	var err error
	revoked := false
	if len(s.Secrets) > 0 {
		err = documentsOf(a.o.Documents, p).SetDocument(ctx, secretsName(s.Name), nil)
	} else {
		var to oauth.Server
		if to, err = s.OAuth(); err == nil {
			revoked, err = a.signIns(p).Logout(ctx, to)
		}
	}
	if err != nil && !errors.Is(err, oauth.ErrNotSignedIn) {
		return err
	}
	if l, err := a.lister(ctx, s.Name); err == nil && l != nil && l.Key() == p.Key() {
		if err := a.o.Documents.SetDocument(ctx, listerName(s.Name), nil); err != nil {
			a.o.Logger.Warn("cannot forget who lists the tools", "server", s.Name, "err", err)
		}
	}
	detail := "the account is disconnected"
	if revoked {
		detail += ", and its token revoked"
	}
	a.o.Note(state.Event{Kind: state.EventLogout, Server: s.Name, Client: p.Name, Detail: detail})
	a.o.Changed(s.Name, p, false)
	return nil
}

// connected handles a new account: the first one lists the tools, if the broker cannot by itself.
func (a *Service) connected(ctx context.Context, p *upstream.Person, s Server) {
	if l, err := a.lister(ctx, s.Name); err == nil && l == nil {
		body, _ := json.Marshal(personOf(p)) // texts always marshal
		if err := a.o.Documents.SetDocument(ctx, listerName(s.Name), body); err != nil {
			a.o.Logger.Warn("cannot note who lists the tools", "server", s.Name, "err", err)
		}
	}
	a.o.Note(state.Event{Kind: state.EventLogin, Server: s.Name, Client: p.Name, Detail: "an account is connected"})
	a.o.Changed(s.Name, p, true)
}

func listerName(server string) string { return "lister-" + hashed(server) }

// lister returns the account that lists the tools of a server, or nil before a person
// has connected one.
func (a *Service) lister(ctx context.Context, server string) (*upstream.Person, error) {
	body, err := a.o.Documents.Document(ctx, listerName(server))
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var who person
	if json.Unmarshal(body, &who) != nil {
		return nil, nil // another account may be the lister
	}
	return who.upstream(), nil
}

// Lister implements upstream.People.
func (a *Service) Lister(c upstream.Config) upstream.Access {
	return upstream.Access{
		Expand: a.o.Expand(func(name string) (string, error) {
			p, err := a.lister(context.Background(), c.Name)
			if err != nil {
				return "", err
			}
			s, ok := a.server(c.Name)
			if p == nil || !ok {
				return "", a.unlisted(c.Name)
			}
			values, _, err := a.secrets(context.Background(), p, s)
			if err != nil {
				return "", a.unlisted(c.Name)
			}
			return values[name], nil
		}),
		OAuth: func(c upstream.Config, url string) (auth.OAuthHandler, error) {
			if c.Credentials == upstream.OfExchange {
				return a.exchanging(&upstream.Person{})(c, url)
			}
			shared, err := a.o.Shared(c, url)
			if err != nil {
				return nil, err
			}
			return &listing{accounts: a, c: c, url: url, shared: shared}, nil
		},
	}
}

// unlisted returns the advice for a server with unlisted tools.
func (a *Service) unlisted(server string) error {
	return &notListed{server: server, at: a.base().JoinPath("connect").String()}
}

type notListed struct{ server, at string }

func (e *notListed) Error() string {
	return "needs an account to list its tools, and nobody has connected one"
}
func (e *notListed) Partial() bool { return false }
func (e *notListed) SignInHint() string {
	return "its tools are listed with the account of the first person who connects one, at " + e.at
}

// A listing signs the requests that list the tools of a server: as the broker itself if it is
// signed in, otherwise as the first person who connected an account.
type listing struct {
	accounts *Service
	c        upstream.Config
	url      string
	shared   auth.OAuthHandler
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
	p, err := l.accounts.lister(ctx, l.c.Name)
	if err != nil || p == nil {
		return nil, err
	}
	return l.accounts.signing(p)(l.c, l.url)
}

func (l *listing) explain(err error) error {
	if _, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return l.accounts.unlisted(l.c.Name)
	}
	return err
}
