package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// LoginOptions say how a person is asked. Show is required.
type LoginOptions struct {
	// Open starts a browser; nil means that none is to be started.
	Open func(url string) error
	// Show shows the address of the sign-in page, and why no browser was
	// started if that was tried. It is called when no browser is.
	Show func(url string, why error)
	// Paste is where a person without a browser on this machine pastes the
	// address that theirs was sent to; nil means nowhere. It is read only when
	// no browser was started, and may still be being read when Login returns.
	Paste io.Reader
	// Warn is told what was wrong with something pasted; nil ignores it.
	Warn func(text string)
	// Scopes are asked for beyond those of the configuration or the server.
	Scopes []string
}

// Login signs in to s with the help of a person, replacing what is stored for
// it. It ends with ctx. Its errors hold no code, token or secret.
func (m *Manager) Login(ctx context.Context, s Server, o LoginOptions) (Status, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return Status{}, errors.New("the url of the server does not parse")
	}
	d := &discovery{m: m, s: s, c: newClient(u), resource: s.URL}
	defer d.c.CloseIdleConnections()
	if err := d.discover(ctx, u); err != nil {
		return Status{}, err
	}
	key := m.store.key(s.Name, s.URL)
	old, _ := m.store.load(key) // one that cannot be read is replaced
	if err := d.checkIssuer(old); err != nil {
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	back, err := listen(s.Name, s.Client.CallbackPort)
	if err != nil {
		return Status{}, err
	}
	stop := back.serve()
	defer stop()
	l := &login{discovery: d, o: o, back: back, old: old}
	rec, err := l.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
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

// checkIssuer refuses an authorization server that a configured client is not
// for. Where the configuration does not say, that is who was signed in to before.
func (d *discovery) checkIssuer(old *record) error {
	c := d.s.Client
	want, hint := c.Issuer, `"issuer" in its "oauth" has`
	if want == "" && c.Secret != "" && old != nil && old.Configured && old.ClientID == c.ID {
		want, hint = old.Issuer, "it was signed in to before; to change that, type broker auth logout "+Quote(d.s.Name)+" first:"
	}
	if want == "" || c.ID == "" || sameIssuer(want, d.as.Issuer) {
		return nil
	}
	return fmt.Errorf("its authorization server is now %s, but the client secret is for %s (%s)", cleanText(d.as.Issuer), cleanText(want), hint)
}

// A login is one sign-in under way.
type login struct {
	*discovery
	o    LoginOptions
	back *callback
	old  *record // of the sign-in before; may be nil
}

// run goes through the sign-in page and returns what is to be kept.
func (l *login) run(ctx context.Context) (*record, error) {
	r, err := l.client(ctx)
	if err != nil {
		return nil, err
	}
	page, err := url.Parse(l.as.AuthorizationEndpoint)
	if err != nil {
		return nil, errors.New("the address of the sign-in page does not parse")
	}
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	q := page.Query()
	for k, v := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": l.back.redirectURL(), "state": state, "resource": l.resource,
		"code_challenge": oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method": "S256",
	} {
		q.Set(k, v)
	}
	if len(r.Scopes) > 0 {
		q.Set("scope", strings.Join(r.Scopes, " "))
	}
	page.RawQuery, page.Fragment = q.Encode(), ""
	l.back.expect(state)
	a, err := l.person(ctx, page.String())
	if err != nil {
		return nil, err
	}
	switch { // RFC 9207: an answer of another authorization server is not taken
	case a.Iss == "" && l.as.AuthorizationResponseIssParameterSupported:
		return nil, errors.New("the answer of the sign-in page does not say which authorization server it is of")
	case a.Iss != "" && a.Iss != l.as.Issuer:
		return nil, fmt.Errorf("the answer is of %s, which does not match expected issuer %s", cleanText(a.Iss), cleanText(l.as.Issuer))
	}
	err = l.m.exchange(ctx, l.c, r, l.s.Client, url.Values{
		"grant_type": {"authorization_code"}, "code": {a.Code}, "redirect_uri": {l.back.redirectURL()},
		"code_verifier": {verifier}, "resource": {l.resource},
	})
	r.Scopes = slices.Sorted(slices.Values(r.Scopes))
	return r, err
}

// client returns a record with everything but tokens: what the broker is to the
// authorization server, which it may have to be registered at.
func (l *login) client(ctx context.Context) (*record, error) {
	c := l.s.Client
	r := &record{
		Server: l.s.Name, Issuer: l.as.Issuer, Bound: true, Resource: l.resource,
		TokenURL: l.as.TokenEndpoint, RevocationURL: l.as.RevocationEndpoint, Scopes: l.wanted(),
	}
	if l.old != nil {
		r.Asked = union(l.old.Asked, l.old.Wanted)
	}
	switch {
	case c.MetadataURL != "" && l.as.ClientIDMetadataDocumentSupported:
		r.ClientID = c.MetadataURL
	case c.ID != "":
		r.ClientID, r.Configured = c.ID, true
		switch methods := l.as.TokenEndpointAuthMethodsSupported; {
		case slices.Contains(methods, "client_secret_post"):
			r.AuthStyle = int(oauth2.AuthStyleInParams)
		case slices.Contains(methods, "client_secret_basic"):
			r.AuthStyle = int(oauth2.AuthStyleInHeader)
		}
	case l.as.RegistrationEndpoint != "":
		return r, l.register(ctx, r)
	default:
		return nil, errors.New(`the authorization server offers no client registration: register a client by hand and give its "clientId" in "oauth"`)
	}
	return r, nil
}

// register makes the broker known to the authorization server.
func (l *login) register(ctx context.Context, r *record) error {
	body, err := json.Marshal(&oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{l.back.redirectURL()},
		ApplicationType:         "native",
		TokenEndpointAuthMethod: "none",
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "broker (MCP)",
		SoftwareID:              "github.com/mcpbroker/mcpbroker",
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.as.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the registration does not parse")
	}
	req.Header.Set("Content-Type", "application/json")
	body, err = ask(l.c, req)
	if err != nil {
		return fmt.Errorf("client registration: %w", err)
	}
	var a struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if json.Unmarshal(body, &a) != nil || a.ID == "" {
		return errors.New("client registration: the authorization server answered without a client")
	}
	r.ClientID, r.ClientSecret, r.AuthStyle = a.ID, a.Secret, int(oauth2.AuthStyleInHeader)
	if a.Method == "client_secret_post" || a.Method == "none" {
		r.AuthStyle = int(oauth2.AuthStyleInParams)
	}
	return nil
}

// wanted chooses the scopes to ask for. What was granted before is kept when the
// server has asked for more.
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
	if slices.Contains(l.as.ScopesSupported, "offline_access") { // what some servers call a refresh token
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// person sends the person to the sign-in page and waits for the answer.
func (l *login) person(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
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
