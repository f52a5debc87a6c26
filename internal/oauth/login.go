package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"golang.org/x/oauth2"
)

// LoginOptions define how a person is asked. Show is required.
type LoginOptions struct {
	// Open starts a browser; if nil, none is started.
	Open func(url string) error
	// Issuer is called with the name of the authorization server from its metadata,
	// before the page is opened or shown; nil ignores it.
	Issuer func(issuer string)
	// Show shows the address of the sign-in page, and why starting a browser failed. It is called
	// if no browser was started.
	Show func(url string, why error)
	// Paste is the input for a person without a browser on this machine, who pastes the address
	// that the browser was redirected to; it may be nil. It is read only if no browser was
	// started, and may still be read when Login returns.
	Paste io.Reader
	// Warn is called with mistakes in pasted text; it may be nil.
	Warn func(text string)
	// Scopes are requested in addition to those of the configuration or the server.
	Scopes []string
}

// Login signs in to s with the help of a person, and replaces the stored tokens. It ends with ctx.
// Its errors contain no code, token or secret.
func (m *Manager) Login(ctx context.Context, s Server, o LoginOptions) (Status, error) {
	l, err := m.login(ctx, s)
	if err != nil {
		return Status{}, err
	}
	defer l.c.CloseIdleConnections()
	back, err := listen(s.Name, s.Client.CallbackPort)
	if err != nil {
		return Status{}, err
	}
	back.host = s.Client.CallbackHost
	stop := back.serve()
	defer stop()
	l.o, l.back, l.redirect = o, back, back.redirectURL()
	rec, err := l.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	return m.storeSignIn(ctx, s, rec)
}

// login prepares the sign-in to s.
func (m *Manager) login(ctx context.Context, s Server) (*login, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("invalid url of the server")
	}
	l := &login{discovery: &discovery{m: m, s: s, c: newClient(u), resource: s.URL}}
	key := m.store.key(s.Name, s.URL)
	l.known = m.store.challenge(key)
	if err := l.discover(ctx, u); err != nil {
		l.c.CloseIdleConnections()
		return nil, err
	}
	l.old, _ = m.store.load(key) // an unreadable record is replaced
	if err := l.checkIssuer(l.old); err != nil {
		l.c.CloseIdleConnections()
		return nil, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	return l, nil
}

// storeSignIn stores the result of a sign-in.
func (m *Manager) storeSignIn(ctx context.Context, s Server, rec *record) (Status, error) {
	key := m.store.key(s.Name, s.URL)
	unlock, err := m.store.lock(ctx, key)
	if err != nil {
		return Status{}, err
	}
	defer unlock()
	if err := m.store.save(key, rec); err != nil {
		return Status{}, err
	}
	return m.status(s, rec), nil
}

// checkIssuer refuses an authorization server other than the configured one. Without a
// configured one, a configured secret is only used with the server of the first
// sign-in.
func (d *discovery) checkIssuer(old *record) error {
	c := d.s.Client
	switch {
	case c.Issuer != "":
		if !sameIssuer(c.Issuer, d.as.Issuer) {
			return fmt.Errorf(`its authorization server is now %s, but "issuer" in its "oauth" has %s`, cleanText(d.as.Issuer), cleanText(c.Issuer))
		}
	case c.Secret != "" && old != nil && old.Configured && old.ClientID == c.ID && !sameIssuer(old.Issuer, d.as.Issuer):
		return fmt.Errorf("its authorization server is now %s, but the client secret is for %s (the earlier sign-in used it; to change that, run broker auth logout %s first)",
			cleanText(d.as.Issuer), cleanText(old.Issuer), Quote(d.s.Name))
	}
	return nil
}

// A login is a sign-in in progress.
type login struct {
	*discovery
	o        LoginOptions
	back     *callback // nil if redirect leads elsewhere
	redirect string
	old      *record // of the earlier sign-in; may be nil
}

// A pendingSignIn sign-in waits for the answer of the sign-in page. It is secret.
type pendingSignIn struct {
	Record     record `json:"record"` // without tokens
	Verifier   string `json:"verifier"`
	Redirect   string `json:"redirect"`
	SaysIssuer bool   `json:"says_issuer"` // the answer names the issuer
}

// run performs the sign-in and returns the record to store.
func (l *login) run(ctx context.Context) (*record, error) {
	state := rand.Text()
	page, b, err := l.begin(ctx, state)
	if err != nil {
		return nil, err
	}
	l.back.expect(state)
	a, err := l.askPerson(ctx, page)
	if err != nil {
		return nil, err
	}
	return b.finish(ctx, l.m, l.c, a, l.s.Client)
}

// begin returns the address of the sign-in page, which answers with state.
func (l *login) begin(ctx context.Context, state string) (string, *pendingSignIn, error) {
	r, err := l.client(ctx)
	if err != nil {
		return "", nil, err
	}
	page, err := url.Parse(l.as.AuthorizationEndpoint)
	if err != nil {
		return "", nil, errors.New("invalid address of the sign-in page")
	}
	b := &pendingSignIn{Record: *r, Verifier: oauth2.GenerateVerifier(), Redirect: l.redirect, SaysIssuer: l.as.AuthorizationResponseIssParameterSupported}
	q := page.Query()
	for k, v := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": l.redirect, "state": state,
		"code_challenge": oauth2.S256ChallengeFromVerifier(b.Verifier), "code_challenge_method": "S256",
	} {
		q.Set(k, v)
	}
	if r.Resource != "" {
		q.Set("resource", r.Resource)
	}
	if len(r.Scopes) > 0 {
		q.Set("scope", strings.Join(r.Scopes, " "))
	}
	page.RawQuery, page.Fragment = q.Encode(), ""
	return page.String(), b, nil
}

// finish exchanges the answer of the sign-in page for tokens.
func (b *pendingSignIn) finish(ctx context.Context, m *Manager, c *outbound.Client, a *auth.AuthorizationResult, client Client) (*record, error) {
	r := &b.Record
	switch { // RFC 9207: refuse an answer of another authorization server
	case a.Iss == "" && b.SaysIssuer:
		return nil, errors.New("the answer of the sign-in page does not say which authorization server it is from")
	case a.Iss != "" && !sameIssuer(a.Iss, r.Issuer):
		return nil, fmt.Errorf("the answer is from %s, which does not match expected issuer %s", cleanText(a.Iss), cleanText(r.Issuer))
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {a.Code}, "redirect_uri": {b.Redirect}, "code_verifier": {b.Verifier}}
	if r.Resource != "" {
		form.Set("resource", r.Resource)
	}
	err := m.exchange(ctx, c, r, client, form)
	r.Scopes = slices.Sorted(slices.Values(r.Scopes))
	return r, err
}

// client returns a record without tokens: the broker's registration at the authorization server,
// which it may have to request.
func (l *login) client(ctx context.Context) (*record, error) {
	c := l.s.Client
	r := &record{
		Server: l.s.Name, Issuer: l.as.Issuer, Bound: true, Resource: l.resource,
		TokenURL: l.as.TokenEndpoint, RevocationURL: l.as.RevocationEndpoint, Scopes: l.wanted(),
	}
	switch {
	case c.Resource == NoResource:
		r.Resource = ""
	case c.Resource != "":
		r.Resource = c.Resource
	}
	if l.old != nil {
		r.Asked = union(l.old.Asked, l.old.Wanted)
	}
	switch {
	case c.MetadataURL != "" && l.as.ClientIDMetadataDocumentSupported:
		r.ClientID = c.MetadataURL
	case c.ID != "":
		r.ClientID, r.Configured = c.ID, true
		r.AuthStyle = int(styleOf(l.authMethod()))
	case l.as.RegistrationEndpoint != "":
		return r, l.registered(ctx, r)
	default:
		return nil, errors.New(`the authorization server offers no client registration: register a client by hand and give its "clientId" in "oauth"`)
	}
	return r, nil
}

// wanted returns the scopes to request. Scopes that were granted earlier are kept if the server
// requires more.
func (l *login) wanted() []string {
	scopes := l.scopes
	if len(l.s.Client.Scopes) > 0 {
		scopes = l.s.Client.Scopes
	}
	if l.old != nil && len(l.old.Wanted) > 0 {
		scopes = union(union(scopes, l.old.Scopes), l.old.Wanted)
	}
	if l.old != nil {
		scopes = union(scopes, l.old.Asked)
	}
	scopes = union(scopes, l.o.Scopes)
	if slices.Contains(l.as.ScopesSupported, "offline_access") { // the name of a refresh token at some servers
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// askPerson sends the person to the sign-in page and waits for the answer.
func (l *login) askPerson(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
	if l.o.Issuer != nil {
		l.o.Issuer(cleanText(l.as.Issuer))
	}
	var why error
	if l.o.Open != nil {
		why = l.o.Open(page)
	}
	if l.o.Open == nil || why != nil {
		l.o.Show(page, why)
		if l.o.Paste != nil {
			warn := l.o.Warn
			if warn == nil {
				warn = func(string) {}
			}
			go l.back.paste(l.o.Paste, warn)
		}
	}
	select {
	case a := <-l.back.answers:
		return a.result, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
