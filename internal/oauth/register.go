package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// The methods of client authentication at a token endpoint, RFC 7591 section 2.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// authMethod returns a method that the authorization server offers, or "". It prefers a
// client without a secret, also if the metadata does not list methods: most of these
// servers expect clients like the broker.
func (l *login) authMethod() string {
	offered := l.as.TokenEndpointAuthMethodsSupported
	known := []string{methodNone, methodBasic, methodPost}
	if l.s.Client.Secret != "" {
		known = []string{methodBasic, methodPost}
	}
	for _, m := range known {
		if slices.Contains(offered, m) {
			return m
		}
	}
	if len(offered) == 0 && l.s.Client.Secret == "" {
		return methodNone
	}
	return ""
}

// styleOf returns how a request identifies the client. With an empty method, the broker
// tries both.
func styleOf(method string) oauth2.AuthStyle {
	switch method {
	case methodBasic:
		return oauth2.AuthStyleInHeader
	case methodPost, methodNone:
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleAutoDetect
}

// register registers the broker at the authorization server, with the scopes that it
// will request. Some servers accept no scopes in a registration, and some accept only
// localhost as the address; register tries these variants.
func (l *login) register(ctx context.Context, r *record) error {
	method := l.authMethod()
	if method == "" {
		return fmt.Errorf("client registration: the authorization server supports none of the broker's authentication methods (%s), only %s",
			strings.Join([]string{methodNone, methodBasic, methodPost}, ", "), cleanText(strings.Join(l.as.TokenEndpointAuthMethodsSupported, ", ")))
	}
	body, err := l.tryToRegister(ctx, method, r.Scopes)
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
	r.ClientID, r.ClientSecret = a.ID, a.Secret
	switch {
	case a.Method == methodNone:
		r.ClientSecret = "" // the method does not use it
	case a.Method == "" && a.Secret != "" && method == methodNone:
		a.Method = methodBasic // default in RFC 7591
	case a.Method == "":
		a.Method = method
	}
	if (a.Method == methodBasic || a.Method == methodPost) && a.Secret == "" {
		return fmt.Errorf("client registration: the authorization server wants %s and gave no secret", a.Method)
	}
	r.AuthStyle = int(styleOf(a.Method))
	return nil
}

// tryToRegister requests a registration in each form that a server may accept, the
// preferred one first. Its error is the error of the first.
func (l *login) tryToRegister(ctx context.Context, method string, scopes []string) (answer []byte, err error) {
	hosts := []string{""}
	if l.back != nil && l.back.host == "" {
		hosts = append(hosts, "localhost")
	}
	first := l.redirect
	for _, host := range hosts {
		if host != "" {
			l.back.host = host
			l.redirect = l.back.redirectURL()
		}
		for _, s := range [][]string{scopes, nil} {
			body, e := l.registration(ctx, method, s)
			if e == nil {
				return body, nil
			}
			if err == nil { // the first error is the most useful
				err = e
			}
			if !refused(e) {
				return nil, err
			}
			if len(scopes) == 0 {
				break
			}
		}
	}
	if l.redirect != first {
		l.back.host, l.redirect = "", first
	}
	return nil, err
}

// refused reports whether an endpoint rejected a request.
func refused(err error) bool {
	e, ok := errors.AsType[*endpointError](err)
	return ok && (e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity)
}

// registration requests a registration and returns the answer.
func (l *login) registration(ctx context.Context, method string, scopes []string) ([]byte, error) {
	body, err := json.Marshal(&oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{l.redirect},
		ApplicationType:         applicationType(l.redirect),
		TokenEndpointAuthMethod: method,
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "broker (MCP)",
		Scope:                   strings.Join(scopes, " "),
		SoftwareID:              "github.com/mcpbroker/mcpbroker",
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.as.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("invalid address of the registration endpoint")
	}
	req.Header.Set("Content-Type", "application/json")
	return ask(l.c, req)
}
