package main

import (
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/secret"
)

// keyring is the system's, opened once: one that hangs is not asked again.
var keyring = sync.OnceValue(oauth.SystemKeyring)

// programs are asked for secrets that the config refers to.
var programs secret.Programs

// expand resolves references from the environment, the keyring and programs.
func expand(s string) (string, error) { return sources().Expand(s) }

func sources() config.Sources {
	return config.Sources{
		Env:     lookupVariable,
		Keyring: func(name string) (string, error) { return oauth.Secret(keyring(), name) },
		Program: programs.Get,
	}
}

// signer gives the upstream layer the stored tokens of m.
func signer(m *oauth.Manager, expand func(string) (string, error)) func(upstream.Config, string) (auth.OAuthHandler, error) {
	return func(c upstream.Config, url string) (auth.OAuthHandler, error) {
		client, err := oauthClient(c.OAuth, expand)
		if err != nil {
			return nil, err
		}
		return m.Handler(oauth.Server{Name: c.Name, URL: url, Client: client}), nil
	}
}

// oauthClient resolves the references of a configured client.
func oauthClient(c upstream.OAuthClient, expand func(string) (string, error)) (oauth.Client, error) {
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

// upstreamOAuth is a configured client as the upstream layer carries it.
func upstreamOAuth(o config.OAuth) upstream.OAuthClient {
	return upstream.OAuthClient{
		ID: o.ClientID, Secret: o.ClientSecret, Scopes: o.Scopes,
		CallbackPort: o.CallbackPort, CallbackHost: o.CallbackHost, Resource: o.Resource, MetadataURL: o.ClientMetadataURL, Issuer: o.Issuer,
		TokenEndpoint: o.TokenEndpoint, Audience: o.Audience,
	}
}

// oauthServer resolves what signing in to a configured server needs.
func oauthServer(s *config.Server) (oauth.Server, error) {
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
	if out.Client, err = oauthClient(upstreamOAuth(s.OAuth), expand); err != nil {
		return out, fmt.Errorf("%w, in server %s", err, s.Name)
	}
	return out, nil
}
