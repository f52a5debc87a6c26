package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// initialize is the question that a server which wants a sign-in answers with
// 401 and a word about where.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpbroker","version":"0"}}}`

// challenge asks s for something without a token and returns a request to it and
// its answer, whose body is closed. Some servers answer POST at an address that
// is for GET only in another way, so both are tried.
func (m *Manager) challenge(ctx context.Context, s Server) (*http.Request, *http.Response, error) {
	var resp *http.Response
	client := *m.http // the headers are for this address only
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		body := ""
		if method == http.MethodPost {
			body = initialize
		}
		req, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
		if err != nil {
			return nil, nil, errors.New("the url of the server does not parse")
		}
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/json")
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range s.Headers {
			req.Header.Set(k, v)
		}
		resp, err = client.Do(req)
		if err != nil {
			return nil, nil, fmt.Errorf("ask %s how to sign in: %w", s.Name, hideURL(err))
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode < 300 {
			break
		}
	}
	plain, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, nil)
	return plain, resp, err
}

// hideURL takes the address out of err: it may hold a key.
func hideURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// authServer finds the authorization server of s from what resp, the answer to
// challenge, and the well-known addresses say.
func (m *Manager) authServer(ctx context.Context, s Server, resp *http.Response) (*oauthex.AuthServerMeta, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the url of the server does not parse")
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	issuer, prmErr := m.issuer(ctx, s, resp)
	if issuer == "" {
		issuer = root.String() // as servers of protocol 2025-03-26 have it
	}
	asm, err := auth.GetAuthServerMetadata(ctx, issuer, m.http)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of the authorization server: %w", err)
	}
	if asm == nil {
		switch {
		case resp.StatusCode != http.StatusUnauthorized:
			return nil, fmt.Errorf("%s asks for no sign-in: it answered HTTP %d without one", s.Name, resp.StatusCode)
		case s.Client.ID == "":
			return nil, fmt.Errorf(`%s does not say where to sign in (%w): give it credentials in its "headers" instead`, s.Name, prmErr)
		}
		asm = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token"}
	}
	for what, address := range map[string]string{"sign-in page": asm.AuthorizationEndpoint, "token endpoint": asm.TokenEndpoint} {
		if err := checkSecure(what, address); err != nil {
			return nil, err
		}
	}
	return asm, nil
}

// issuer is the authorization server that the metadata of the protected
// resource names, or why there is none that can be believed.
func (m *Manager) issuer(ctx context.Context, s Server, resp *http.Response) (string, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "", err
	}
	type place struct{ metadata, resource string }
	var places []place
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" {
			places = append(places, place{at, s.URL})
			break
		}
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	if path := strings.TrimLeft(u.Path, "/"); path != "" {
		places = append(places, place{root.String() + wellKnown + "/" + path, s.URL})
	}
	places = append(places, place{root.String() + wellKnown, root.String()})
	var problem error
	for _, p := range places {
		prm, err := oauthex.GetProtectedResourceMetadata(ctx, p.metadata, p.resource, m.http)
		if err != nil && problem == nil {
			problem = err
		}
		if prm != nil && len(prm.AuthorizationServers) > 0 {
			return prm.AuthorizationServers[0], nil
		}
	}
	return "", cmp.Or(problem, errors.New("its metadata names no authorization server"))
}
