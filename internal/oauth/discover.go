package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// initialize is a request that a server which requires a sign-in answers with 401 and its
// metadata.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpbroker","version":"0"}}}`

// A discovery collects the data for signing in to a server. There is one for each sign-in: all
// endpoints that receive secrets are from one answer of one issuer.
type discovery struct {
	m *Manager
	s Server
	c *outbound.Client // of the server

	refusal  *http.Response // of a request without a token; its body is closed
	known    challenge      // of an earlier refused request
	resource string         // the resource of the token
	scopes   []string       // the scopes that the server requires
	as       *oauthex.AuthServerMeta
}

// discover finds the authorization server of the server at u.
func (d *discovery) discover(ctx context.Context, u *url.URL) error {
	if err := d.challenge(ctx); err != nil {
		return err
	}
	issuer, prmErr := d.protectedResource(ctx, u)
	if issuer == "" {
		issuer = outbound.Origin(u) // the rule of protocol 2025-03-26
	}
	if err := d.authServer(ctx, issuer); err != nil {
		return fmt.Errorf("read the metadata of the authorization server: %w", err)
	}
	if d.as == nil {
		switch {
		case d.refusal.StatusCode != http.StatusUnauthorized:
			return fmt.Errorf("%s requires no sign-in: it answered HTTP %d without one; if one of its tools needs one, call that tool first", d.s.Name, d.refusal.StatusCode)
		case d.s.Client.ID == "":
			return fmt.Errorf(`%s does not say where to sign in (%w): give it credentials in its "headers" instead`, d.s.Name, prmErr)
		}
		d.as = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token"}
	}
	if err := d.checkEndpoints(); err != nil {
		return err
	}
	return d.checkPage(ctx)
}

// challenge sends the server requests without a token. Some servers answer POST differently at an
// address that is for GET only, so it tries both.
func (d *discovery) challenge(ctx context.Context) error {
	client := d.c.Client // the headers are for this address only
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		body := ""
		if method == http.MethodPost {
			body = initialize
		}
		req, err := http.NewRequestWithContext(ctx, method, d.s.URL, strings.NewReader(body))
		if err != nil {
			return errors.New("invalid url of the server")
		}
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/json")
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range d.s.Headers {
			req.Header.Set(k, v)
		}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("ask %s how to sign in: %w", d.s.Name, outbound.Cause(err))
		}
		resp.Body.Close()
		if d.refusal = resp; resp.StatusCode == http.StatusUnauthorized || resp.StatusCode < 300 {
			break
		}
	}
	return nil
}

// protectedResource reads the metadata of the server and returns the authorization
// server that it names, or the reason there is no trustworthy one.
func (d *discovery) protectedResource(ctx context.Context, u *url.URL) (issuer string, problem error) {
	said := challengeOf(d.refusal.Header)
	d.scopes = said.Scopes
	if len(d.scopes) == 0 {
		d.scopes = d.known.Scopes
	}
	var places []string
	for _, named := range []string{said.Metadata, d.known.Metadata} {
		if named != "" {
			places = append(places, metadataAt(named, d.s.URL))
		}
	}
	root := outbound.Origin(u) + wellKnownResource
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" {
		places = append(places, root+"/"+path)
	}
	for _, at := range append(places, root) {
		var prm oauthex.ProtectedResourceMetadata
		found, err := d.get(ctx, at, &prm)
		if err == nil && found && !isResource(prm.Resource, at, d.s.URL) {
			err = fmt.Errorf("its metadata is for another resource: %s", cmp.Or(cleanText(prm.Resource), "(none named)"))
		}
		if err != nil {
			problem = cmp.Or(problem, err)
		} else if found && len(prm.AuthorizationServers) > 0 {
			d.resource = prm.Resource
			if len(d.scopes) == 0 {
				d.scopes = cleanScopes(prm.ScopesSupported)
			}
			if i := slices.IndexFunc(prm.AuthorizationServers, d.trusts); i >= 0 {
				return prm.AuthorizationServers[i], nil
			}
			return prm.AuthorizationServers[0], nil
		}
	}
	return "", cmp.Or(problem, errors.New("its metadata names no authorization server"))
}

// authServer reads the metadata of issuer. It accepts a document that names another
// issuer if the metadata of that issuer agrees, since the server could have named it
// directly. It returns nil without an error if there is no metadata.
func (d *discovery) authServer(ctx context.Context, issuer string) error {
	as, err := d.metadataOf(ctx, issuer)
	if err != nil || as == nil {
		return err
	}
	if !sameIssuer(as.Issuer, issuer) {
		other := as.Issuer
		if as, err = d.metadataOf(ctx, other); err != nil || as == nil || !sameIssuer(as.Issuer, other) {
			return fmt.Errorf("it is the metadata of %q, not of %q", cleanText(other), cleanText(issuer))
		}
	}
	// OpenID Connect Discovery does not define the field. A user who configures the issuer knows
	// that it checks the challenge.
	trusted := len(as.CodeChallengeMethodsSupported) == 0 && d.trusts(as.Issuer)
	if !trusted && !slices.Contains(as.CodeChallengeMethodsSupported, "S256") {
		return errors.New(`the authorization server does not support PKCE ("issuer" in "oauth" of the server allows one whose metadata says nothing about it)`)
	}
	d.as = as
	return nil
}

// metadataOf reads the metadata at issuer, or nil if there is none. It does not check
// which issuer the metadata names.
func (d *discovery) metadataOf(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("the issuer is not a URL")
	}
	var problem error
	for _, address := range metadataAddresses(u) {
		var as oauthex.AuthServerMeta
		found, err := d.get(ctx, address, &as)
		if found && err == nil {
			return &as, nil
		}
		problem = cmp.Or(problem, err)
	}
	return nil, problem
}

// metadataAddresses returns the addresses at which OAuth and OpenID Connect publish the
// metadata of an issuer.
func metadataAddresses(issuer *url.URL) []string {
	const oauth, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	root, path := outbound.Origin(issuer), strings.Trim(issuer.EscapedPath(), "/")
	if path == "" {
		return []string{root + oauth, root + openID}
	}
	return []string{root + oauth + "/" + path, root + openID + "/" + path, root + "/" + path + openID}
}

// sameIssuer reports whether a and b are the same issuer in different spellings.
func sameIssuer(a, b string) bool { return sameAddress(a, b) }

// get reads a JSON document. Another document counts as not found. Errors contain no path, which
// may be secret.
func (d *discovery) get(ctx context.Context, address string, into any) (found bool, err error) {
	if err := checkSecure("metadata", address); err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, errors.New("invalid address of the metadata")
	}
	resp, err := d.c.Do(req)
	if err != nil {
		return false, fmt.Errorf("ask %s: %w", req.URL.Host, outbound.Cause(err))
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500:
		return false, fmt.Errorf("%s answered HTTP %d", req.URL.Host, resp.StatusCode)
	case resp.StatusCode != http.StatusOK || kind == "text/html":
		return false, nil
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, fmt.Errorf("ask %s: %w", req.URL.Host, outbound.Cause(err))
	}
	if json.Unmarshal(data, into) == nil {
		return true, nil
	}
	if kind != "application/json" { // file servers and pages may use any type
		return false, nil
	}
	return false, fmt.Errorf("%s answered invalid JSON", req.URL.Host)
}

// checkEndpoints refuses addresses that must not receive secrets, or that are nearer to this
// machine than the server.
func (d *discovery) checkEndpoints() error {
	if _, err := outbound.Page(d.as.AuthorizationEndpoint); err != nil {
		return fmt.Errorf("the sign-in page is refused: %w", err)
	}
	for _, e := range []struct{ what, address string }{
		{"sign-in page", d.as.AuthorizationEndpoint}, {"token endpoint", d.as.TokenEndpoint},
		{"registration endpoint", d.as.RegistrationEndpoint}, {"revocation endpoint", d.as.RevocationEndpoint},
	} {
		if e.address == "" && e.what != "sign-in page" && e.what != "token endpoint" {
			continue
		}
		if err := checkSecure(e.what, e.address); err != nil {
			return err
		}
		u, err := url.Parse(e.address)
		if err == nil {
			err = d.c.Check(u)
		}
		if err != nil {
			return fmt.Errorf("the %s is refused: %w", e.what, err)
		}
	}
	return nil
}
