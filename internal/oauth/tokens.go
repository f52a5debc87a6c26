package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// An endpointError is the refusal of a request by an authorization server.
type endpointError struct {
	status int
	code   string // such as "invalid_grant", or ""
}

func (e *endpointError) Error() string {
	if e.code == "" {
		return fmt.Sprintf("the authorization server answered HTTP %d", e.status)
	}
	return "the authorization server says " + e.code
}

// final reports whether trying again later is useless. Errors of a busy or broken server are not
// final.
func (e *endpointError) final() bool {
	busy := e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout
	return !busy && e.code != "" && e.code != "temporarily_unavailable" && e.code != "server_error" && e.code != "slow_down"
}

// A tokenAnswer is the answer of a token endpoint.
type tokenAnswer struct {
	AccessToken  string      `json:"access_token"`
	RefreshToken string      `json:"refresh_token"`
	ExpiresIn    json.Number `json:"expires_in"` // some servers send a string
	Scope        string      `json:"scope"`
	Error        string      `json:"error"`
}

// exchange gets the first tokens for r in exchange for a code, as the client of the sign-in.
func (m *Manager) exchange(ctx context.Context, http *outbound.Client, r *record, c Client, form url.Values) error {
	asked := m.now()
	body, err := m.post(ctx, http, r.TokenURL, form, r, c)
	if err != nil {
		return err
	}
	return r.take(body, asked)
}

// refresh gets a new access token for r. On an error r does not change.
func (m *Manager) refresh(ctx context.Context, r *record, c Client) error {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.RefreshToken}}
	if r.Resource != "" {
		form.Set("resource", r.Resource)
	}
	asked := m.now()
	body, err := m.postHome(ctx, r.TokenURL, form, r, c)
	if err != nil {
		return err
	}
	return r.take(body, asked)
}

// take stores the tokens of an answer in r. On an error r does not change.
func (r *record) take(body []byte, asked time.Time) error {
	var a tokenAnswer
	if err := json.Unmarshal(body, &a); err != nil || a.AccessToken == "" {
		return errors.New("the authorization server answered without a token")
	}
	r.AccessToken, r.Expiry, r.Ended = a.AccessToken, time.Time{}, ""
	if seconds, err := a.ExpiresIn.Float64(); err == nil && seconds > 0 {
		r.Expiry = asked.Add(time.Duration(min(seconds, 1e9)) * time.Second)
	}
	if a.RefreshToken != "" { // otherwise the old one remains valid
		r.RefreshToken = a.RefreshToken
	}
	if a.Scope != "" {
		r.Scopes = slices.Sorted(slices.Values(cleanScopes(strings.Fields(a.Scope))))
	}
	return nil
}

// revoke revokes the refresh token, and with it the access token, or otherwise the access token.
func (m *Manager) revoke(ctx context.Context, r *record, c Client) error {
	form := url.Values{"token": {r.RefreshToken}, "token_type_hint": {"refresh_token"}}
	if r.RefreshToken == "" {
		form = url.Values{"token": {r.AccessToken}, "token_type_hint": {"access_token"}}
	}
	_, err := m.postHome(ctx, r.revocation(), form, r, c)
	return err
}

// postHome is like post, to an address that was stored at the sign-in.
func (m *Manager) postHome(ctx context.Context, address string, form url.Values, r *record, c Client) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("invalid stored address of the authorization server")
	}
	client := newClient(u)
	defer client.CloseIdleConnections()
	return m.post(ctx, client, address, form, r, c)
}

// post sends a form as the client of r, which may need two attempts.
func (m *Manager) post(ctx context.Context, client *outbound.Client, address string, form url.Values, r *record, c Client) ([]byte, error) {
	secret := r.ClientSecret
	if r.Configured {
		secret = c.Secret
	}
	style := oauth2.AuthStyle(r.AuthStyle)
	if secret == "" {
		style = oauth2.AuthStyleInParams
	}
	if style != oauth2.AuthStyleAutoDetect {
		return postAs(ctx, client, address, form, r.ClientID, secret, style)
	}
	body, err := postAs(ctx, client, address, form, r.ClientID, secret, oauth2.AuthStyleInHeader)
	if e, ok := errors.AsType[*endpointError](err); ok && (e.code == "invalid_client" || e.status == http.StatusUnauthorized) {
		return postAs(ctx, client, address, form, r.ClientID, secret, oauth2.AuthStyleInParams)
	}
	return body, err
}

func postAs(ctx context.Context, client *outbound.Client, address string, form url.Values, id, secret string, style oauth2.AuthStyle) ([]byte, error) {
	if err := checkSecure("authorization server at", address); err != nil {
		return nil, err
	}
	form = url.Values(http.Header(form).Clone())
	if style == oauth2.AuthStyleInParams {
		form.Set("client_id", id)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("invalid address of the authorization server")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
	return ask(client, req)
}

// ask sends a request to an authorization server and returns the body of a success. Of the answer,
// its errors contain only an error code.
func ask(client *outbound.Client, req *http.Request) ([]byte, error) {
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the authorization server: %w", outbound.Cause(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("ask the authorization server: %w", outbound.Cause(err))
	}
	var a tokenAnswer
	_ = json.Unmarshal(body, &a) // an answer other than JSON has no error code
	if resp.StatusCode/100 != 2 || a.Error != "" {
		return nil, &endpointError{status: resp.StatusCode, code: cleanCode(a.Error)}
	}
	return body, nil
}

// cleanCode returns code if it looks like an error code. Other texts might repeat the request.
func cleanCode(code string) string {
	if len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "an error that is not an OAuth error code"
	}
	return code
}
