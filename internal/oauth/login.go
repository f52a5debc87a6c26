package oauth

import (
	"context"
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
	req, resp, err := m.challenge(ctx, s)
	if err != nil {
		return Status{}, err
	}
	asm, err := m.authServer(ctx, s, resp)
	if err != nil {
		return Status{}, err
	}
	key := m.store.key(s.Name, s.URL)
	old, _ := m.store.load(key) // one that cannot be read is replaced
	back, err := listen(s.Name, s.Client.CallbackPort)
	if err != nil {
		return Status{}, err
	}
	stop := back.serve()
	defer stop()
	l := &login{m: m, s: s, o: o, back: back, old: old}
	flow, err := auth.NewAuthorizationCodeHandler(l.config())
	if err != nil {
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, err)
	}
	// A server that answers its first question without a token may still say
	// where to get one.
	refused := *resp
	refused.StatusCode, refused.Body = http.StatusUnauthorized, http.NoBody
	if err := flow.Authorize(ctx, req, &refused); err != nil {
		return Status{}, fmt.Errorf("sign in to %s: %w", s.Name, l.clean(ctx, err))
	}
	rec := l.record(asm)
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

// A login is one sign-in under way.
type login struct {
	m    *Manager
	s    Server
	o    LoginOptions
	back *callback
	old  *record // of the sign-in before; may be nil

	resource string // that the token is for
	conf     *oauth2.Config
	token    *oauth2.Token
}

func (l *login) config() *auth.AuthorizationCodeHandlerConfig {
	c := l.s.Client
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:              l.back.redirectURL(),
		AuthorizationCodeFetcher: l.fetch,
		ScopeFilter:              l.scopes,
		RequestRefreshToken:      true,
		AcceptUnadvertisedIss:    true,
		Client:                   l.m.http,
		NewTokenSource: func(_ context.Context, conf *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			l.conf, l.token = conf, t
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if c.MetadataURL != "" {
		cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: c.MetadataURL}
	}
	if c.ID != "" {
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: c.ID}
		if c.Secret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.Secret}
		}
		return cfg
	}
	cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{cfg.RedirectURL},
		TokenEndpointAuthMethod: "none",
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "broker (MCP)",
		SoftwareID:              "github.com/mcpbroker/mcpbroker",
	}}
	return cfg
}

// scopes chooses what to ask for. What was granted before is kept when the
// server has asked for more.
func (l *login) scopes(discovered []string) []string {
	scopes := discovered
	if len(l.s.Client.Scopes) > 0 {
		scopes = l.s.Client.Scopes
	}
	if l.old != nil && len(l.old.Wanted) > 0 {
		scopes = union(union(scopes, l.old.Scopes), l.old.Wanted)
	}
	return union(scopes, l.o.Scopes)
}

// fetch sends the person to the sign-in page and waits for the answer.
func (l *login) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil {
		return nil, errors.New("the address of the sign-in page does not parse")
	}
	if err := checkSecure("sign-in page", args.URL); err != nil {
		return nil, err
	}
	l.resource = u.Query().Get("resource")
	l.back.expect(u.Query().Get("state"))
	var why error
	if l.o.Open != nil {
		why = l.o.Open(args.URL)
	}
	if l.o.Open == nil || why != nil {
		l.o.Show(args.URL, why)
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

// record is what is kept of a sign-in that went well.
func (l *login) record(asm *oauthex.AuthServerMeta) *record {
	r := &record{
		Server: l.s.Name, Issuer: asm.Issuer, Resource: l.resource,
		TokenURL: l.conf.Endpoint.TokenURL, RevocationURL: asm.RevocationEndpoint,
		ClientID: l.conf.ClientID, AuthStyle: int(l.conf.Endpoint.AuthStyle),
		Scopes:      l.conf.Scopes,
		AccessToken: l.token.AccessToken, RefreshToken: l.token.RefreshToken, Expiry: l.token.Expiry,
	}
	if r.Configured = l.s.Client.ID != "" && r.ClientID == l.s.Client.ID; !r.Configured {
		r.ClientSecret = l.conf.ClientSecret
	}
	if granted, ok := l.token.Extra("scope").(string); ok && granted != "" {
		r.Scopes = cleanScopes(strings.Fields(granted))
	}
	r.Scopes = slices.Sorted(slices.Values(r.Scopes))
	return r
}

// clean frees err of what an authorization server may have echoed.
func (l *login) clean(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		refused := &endpointError{code: cleanCode(e.ErrorCode)}
		if e.Response != nil {
			refused.status = e.Response.StatusCode
		}
		return refused
	}
	text := err.Error()
	if secret := l.s.Client.Secret; len(secret) >= 6 {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return errors.New(cleanText(text))
}
