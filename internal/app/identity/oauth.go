package identity

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// Signer gives the upstream layer the stored tokens of m.
func Signer(m *oauth.Manager, expand func(string) (string, error)) func(upstream.Config, string) (auth.OAuthHandler, error) {
	return func(c upstream.Config, url string) (auth.OAuthHandler, error) {
		client, err := newClient(c.OAuth, expand)
		if err != nil {
			return nil, err
		}
		return m.Handler(oauth.Server{Name: c.Name, URL: url, Client: client}), nil
	}
}

// newClient resolves the references of a configured client.
func newClient(c upstream.OAuthClient, expand func(string) (string, error)) (oauth.Client, error) {
	id, err := expand(c.ID)
	if err != nil {
		return oauth.Client{}, fmt.Errorf("oauth.clientId: %w", err)
	}
	secret, err := expand(c.Secret)
	if err != nil {
		return oauth.Client{}, fmt.Errorf("oauth.clientSecret: %w", err)
	}
	issuer, err := expand(c.Issuer)
	if err != nil {
		return oauth.Client{}, fmt.Errorf("oauth.issuer: %w", err)
	}
	resource, err := expand(c.Resource)
	if err != nil {
		return oauth.Client{}, fmt.Errorf("oauth.resource: %w", err)
	}
	return oauth.Client{ID: id, Issuer: issuer, Secret: secret, Scopes: c.Scopes, Resource: resource,
		CallbackPort: c.CallbackPort, CallbackHost: c.CallbackHost, MetadataURL: c.MetadataURL}, nil
}

// Upstream returns a configured client for the upstream layer.
func Upstream(o config.OAuth) upstream.OAuthClient {
	return upstream.OAuthClient{
		ID: o.ClientID, Secret: o.ClientSecret, Scopes: o.Scopes,
		CallbackPort: o.CallbackPort, CallbackHost: o.CallbackHost, Resource: o.Resource, MetadataURL: o.ClientMetadataURL, Issuer: o.Issuer,
		TokenEndpoint: o.TokenEndpoint, Audience: o.Audience,
	}
}

// Server resolves what signing in to a configured server needs.
func Server(s *config.Server, expand func(string) (string, error)) (oauth.Server, error) {
	out := oauth.Server{Name: s.Name, Headers: make(map[string]string)}
	var err error
	if out.URL, err = expand(s.URL); err != nil {
		return out, fmt.Errorf("url of %s: %w", s.Name, err)
	}
	for k, v := range s.Headers {
		if out.Headers[k], err = expand(v); err != nil {
			return out, fmt.Errorf("headers.%s of %s: %w", k, s.Name, err)
		}
	}
	if out.Client, err = newClient(Upstream(s.OAuth), expand); err != nil {
		return out, fmt.Errorf("%w, in server %s", err, s.Name)
	}
	return out, nil
}
