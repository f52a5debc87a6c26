package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// An Exchange is an endpoint that exchanges the tokens of people, RFC 8693.
type Exchange struct {
	Endpoint string // the token endpoint
	Audience string // the audience of the new tokens; may be empty
	Client   Client // its Scopes are requested
}

// An Exchanger exchanges the tokens of people. It caches the results in memory until shortly
// before they expire. It is safe for concurrent use.
type Exchanger struct {
	m *Manager

	mu     sync.Mutex
	tokens map[exchangeKey]*exchanged
}

type exchangeKey [sha256.Size]byte

// An exchanged is a token, or the reason there is none; it is complete when ready is closed.
type exchanged struct {
	ready  chan struct{}
	token  string
	expiry time.Time // of the token, or of the error
	err    error
}

const (
	// maxExchanged bounds the cached tokens.
	maxExchanged = 10_000
	// unknownLife is the time for which a token without an expiry is cached, and refusedLife that
	// of a refusal.
	unknownLife = time.Minute
	refusedLife = 10 * time.Second
)

// NewExchanger returns an exchanger. Nil options are the zero value.
func NewExchanger(o *Options) *Exchanger {
	return &Exchanger{m: New(nil, "", o), tokens: make(map[exchangeKey]*exchanged)}
}

// Handler adds tokens to requests to s, with its URL as the resource: tokens issued in exchange
// for token, which is valid until expires, or for an empty token those of the broker itself
// (client credentials). If there are none, both methods of the handler return an *ExchangeError.
func (x *Exchanger) Handler(s Server, e Exchange, token string, expires time.Time) auth.OAuthHandler {
	text, _ := json.Marshal([]any{s.Name, s.URL, e, token}) // strings always marshal
	if token == "" {
		expires = time.Time{}
	}
	return &exchangeHandler{x: x, s: s, e: e, subject: token, expires: expires, key: sha256.Sum256(text)}
}

// An ExchangeError means that no token was issued, or that the server refuses it.
type ExchangeError struct {
	Reason string
	Own    bool // it concerns the broker's own token
}

// Error returns the reason. It contains no token.
func (e *ExchangeError) Error() string {
	if e.Own {
		return "no token for the broker itself, which lists the tools: " + e.Reason
	}
	return "no token for this person: " + e.Reason
}

// SignInHint returns advice for the user.
func (e *ExchangeError) SignInHint() string {
	if e.Own {
		return "the operator of the broker has to allow its client tokens of its own (client credentials) for this server"
	}
	return "ask the user to sign in to the broker again; if that does not help, its operator has to allow the exchange of tokens for this server"
}

// Partial reports false: no other request has a better token.
func (e *ExchangeError) Partial() bool { return false }

type exchangeHandler struct {
	x       *Exchanger
	s       Server
	e       Exchange
	subject string
	expires time.Time
	key     exchangeKey

	mu     sync.Mutex
	forced string // the token that replaced a refused one
}

// TokenSource implements auth.OAuthHandler.
func (h *exchangeHandler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	token, err := h.token(ctx)
	if err != nil {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, TokenType: "Bearer"}), nil
}

func (h *exchangeHandler) token(ctx context.Context) (string, error) {
	k, mine := h.x.find(h.key)
	if mine {
		ctx, cancel := outlast(ctx) // other calls may wait for it
		k.token, k.expiry, k.err = h.ask(ctx)
		cancel()
		close(k.ready)
	}
	select {
	case <-k.ready:
		return k.token, k.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (h *exchangeHandler) failed(why string) error {
	return &ExchangeError{Reason: why, Own: h.subject == ""}
}

// Authorize implements auth.OAuthHandler: it replaces a refused token, once.
func (h *exchangeHandler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // to reuse the connection
	if resp.StatusCode == http.StatusForbidden {
		return h.failed("the server does not let it do this")
	}
	used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	h.mu.Lock()
	forced := h.forced
	h.mu.Unlock()
	if used != "" && used == forced {
		return h.failed("the server refuses a token that was just issued")
	}
	h.x.forget(h.key, used)
	token, err := h.token(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.forced = token
	h.mu.Unlock()
	return nil
}

// ask exchanges the token.
func (h *exchangeHandler) ask(ctx context.Context) (token string, expiry time.Time, err error) {
	now := h.x.m.now()
	if !h.expires.IsZero() && !now.Before(h.expires) {
		return "", now.Add(refusedLife), h.failed("the token that the person came with has expired")
	}
	form := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":        {h.subject},
		"subject_token_type":   {accessToken8693},
		"requested_token_type": {accessToken8693},
		"resource":             {h.s.URL},
	}
	if h.subject == "" {
		form = url.Values{"grant_type": {"client_credentials"}, "resource": {h.s.URL}}
	}
	if h.e.Audience != "" {
		form.Set("audience", h.e.Audience)
	}
	if len(h.e.Client.Scopes) > 0 {
		form.Set("scope", strings.Join(h.e.Client.Scopes, " "))
	}
	r := &record{ClientID: h.e.Client.ID, Configured: true}
	body, err := h.x.m.postHome(ctx, h.e.Endpoint, form, r, h.e.Client)
	if e, ok := errors.AsType[*endpointError](err); ok && e.final() {
		return "", now.Add(refusedLife), h.failed(e.Error())
	}
	if err != nil {
		return "", now, fmt.Errorf("exchange the token of a person for %s: %w", h.s.Name, err)
	}
	if err := r.take(body, now); err != nil {
		return "", now.Add(refusedLife), h.failed(err.Error())
	}
	if r.AccessToken == h.subject { // it is for the broker only
		return "", now.Add(refusedLife), h.failed("the authorization server gave the same token back")
	}
	expiry = now.Add(unknownLife)
	if !r.Expiry.IsZero() {
		expiry = r.Expiry.Add(-expiryMargin)
	}
	if !h.expires.IsZero() && h.expires.Before(expiry) {
		expiry = h.expires
	}
	return r.AccessToken, expiry, nil
}

const accessToken8693 = "urn:ietf:params:oauth:token-type:access_token"

// find returns the entry for key; mine means that the caller must fill it.
func (x *Exchanger) find(key exchangeKey) (k *exchanged, mine bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.m.now()
	if k := x.tokens[key]; k != nil && k.good(now) {
		return k, false
	}
	if len(x.tokens) >= maxExchanged {
		for other, k := range x.tokens {
			if !k.good(now) || len(x.tokens) >= maxExchanged {
				delete(x.tokens, other)
			}
		}
	}
	k = &exchanged{ready: make(chan struct{})}
	x.tokens[key] = k
	return k, true
}

// good reports whether the entry is pending, or usable.
func (k *exchanged) good(now time.Time) bool {
	select {
	case <-k.ready:
		return now.Before(k.expiry)
	default:
		return true
	}
}

// forget removes a token, unless it has been replaced already.
func (x *Exchanger) forget(key exchangeKey, used string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.tokens[key]
	if k == nil {
		return
	}
	select {
	case <-k.ready:
		if k.token == used {
			delete(x.tokens, key)
		}
	default: // pending
	}
}
