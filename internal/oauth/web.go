package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Page is a sign-in page for a person.
type Page struct {
	URL    string
	Issuer string // name of the authorization server in its metadata
}

// Begin begins a sign-in to s with redirect as the address for the answer, which other
// processes share. It returns the sign-in page, whose answer contains state, and a
// secret value for Finish.
func (m *Manager) Begin(ctx context.Context, s Server, redirect, state string) (page Page, waiting []byte, err error) {
	l, err := m.login(ctx, s)
	if err != nil {
		return Page{}, nil, err
	}
	defer l.c.CloseIdleConnections()
	l.redirect = redirect
	address, b, err := l.begin(ctx, state)
	if err != nil {
		return Page{}, nil, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	waiting, err = json.Marshal(b)
	return Page{URL: address, Issuer: cleanText(l.as.Issuer)}, waiting, err
}

// Finish ends a sign-in that Begin began, with the query of the redirect, and replaces
// the stored tokens. The caller must have checked the state. Its errors contain no
// code, token or secret.
func (m *Manager) Finish(ctx context.Context, s Server, waiting []byte, answer url.Values) (Status, error) {
	var b pendingSignIn
	if json.Unmarshal(waiting, &b) != nil {
		return Status{}, errors.New("the sign-in was begun by another version of the broker: start again")
	}
	a := answerOf(answer)
	if a.err != nil {
		return Status{}, a.err
	}
	u, err := url.Parse(b.Record.TokenURL)
	if err != nil {
		return Status{}, errors.New("invalid stored address of the authorization server")
	}
	c := newClient(u)
	defer c.CloseIdleConnections()
	rec, err := b.finish(ctx, m, c, a.result, s.Client)
	if e, ok := errors.AsType[*endpointError](err); ok && (e.code == "invalid_client" || e.code == "unauthorized_client") {
		m.unregister(ctx, b.Record.Issuer, b.Redirect)
	}
	if err != nil {
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	return m.storeSignIn(ctx, s, rec)
}

// A registration is a client that the broker has registered.
type registration struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Style  int    `json:"style"`
	// Scopes are the scopes of its registration.
	Scopes []string `json:"scopes,omitempty"`
}

func registrationKey(issuer, redirect string) string {
	sum := sha256.Sum256([]byte(issuer + "\x00" + redirect))
	return "client-" + hex.EncodeToString(sum[:])
}

// registered registers the broker at the authorization server, unless it is registered.
func (l *login) registered(ctx context.Context, r *record) error {
	docs := l.m.registered
	if docs == nil {
		return l.register(ctx, r)
	}
	key := registrationKey(r.Issuer, l.redirect)
	unlock, err := docs.LockDocument(ctx, key)
	if err != nil {
		return fmt.Errorf("keep the client: %w", err)
	}
	defer unlock()
	var known registration
	if body, err := docs.Document(ctx, key); err == nil && json.Unmarshal(body, &known) == nil && known.ID != "" && len(union(known.Scopes, r.Scopes)) == len(known.Scopes) {
		r.ClientID, r.ClientSecret, r.AuthStyle = known.ID, known.Secret, known.Style
		return nil
	}
	if err := l.register(ctx, r); err != nil {
		return err
	}
	body, err := json.Marshal(registration{r.ClientID, r.ClientSecret, r.AuthStyle, r.Scopes})
	if err == nil {
		err = docs.SetDocument(ctx, key, body)
	}
	if err != nil {
		return fmt.Errorf("keep the client: %w", err)
	}
	return nil
}

// unregister deletes a client that the authorization server does not know any more.
func (m *Manager) unregister(ctx context.Context, issuer, redirect string) {
	if m.registered == nil {
		return
	}
	if err := m.registered.SetDocument(ctx, registrationKey(issuer, redirect), nil); err != nil {
		m.log.Warn("cannot forget a client", "err", err)
	}
}

// applicationType returns the type of a client with this redirect address in OpenID Connect.
func applicationType(redirect string) string {
	if strings.HasPrefix(redirect, "https:") {
		return "web"
	}
	return "native"
}

// Version returns a text that changes with the stored data of s, or "" if there is none.
func (m *Manager) Version(s Server) string { return m.store.stamp(m.store.key(s.Name, s.URL)) }

// Redeem exchanges form, such as the code of a sign-in page, for an access token and, with OpenID
// Connect, an ID token. It stores neither.
func (x *Exchanger) Redeem(ctx context.Context, endpoint string, c Client, form url.Values) (access, id string, err error) {
	r := &record{ClientID: c.ID, Configured: true}
	body, err := x.m.postHome(ctx, endpoint, form, r, c)
	if err == nil {
		err = r.take(body, x.m.now())
	}
	var more struct {
		ID string `json:"id_token"`
	}
	if err == nil {
		err = json.Unmarshal(body, &more)
	}
	return r.AccessToken, more.ID, err
}
