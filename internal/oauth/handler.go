package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

const (
	// A refresh that has been sent is not cancelled immediately with its request: its answer may
	// contain the only valid refresh token.
	refreshGrace = time.Second
	refreshLimit = 30 * time.Second
)

// A handler adds the stored token of one server to its requests.
type handler struct {
	m   *Manager
	s   Server
	key string

	mu      sync.Mutex
	rec     *record // as last read
	stamp   string  // of rec
	read    bool    // rec and stamp are set
	known   bool    // rec exists
	forced  string  // the access token that replaced a refused one
	refused *refusal
}

// Handler returns the handler that adds the stored token for s to requests, renews it
// when it has expired or is refused, and notices a sign-in or sign-out in the meantime.
// It never asks a person: if one is needed, both its methods fail with a *SignInError,
// without repeating known requests. It first asks a server without a sign-in without a
// token.
func (m *Manager) Handler(s Server) auth.OAuthHandler {
	return &handler{m: m, s: s, key: m.store.key(s.Name, s.URL)}
}

// TokenSource returns a source with a valid token, or nil.
func (h *handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	token, err := h.token(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, TokenType: "Bearer"}), nil
}

func (h *handler) token(ctx context.Context) (string, error) {
	rec, err := h.load(ctx)
	if err != nil {
		return "", err
	}
	if err := h.refusedBefore(rec); err != nil {
		return "", err
	}
	switch {
	case rec == nil && h.m.first:
		return "", h.signIn("")
	case rec == nil:
		return "", nil
	case rec.fresh(h.m.now()):
		return rec.AccessToken, nil
	}
	rec, err = h.renew(ctx, rec.AccessToken)
	if err != nil {
		return "", err
	}
	return rec.AccessToken, nil
}

// load returns the record as it is now, reading it only if it has changed.
func (h *handler) load(ctx context.Context) (*record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stamp := h.m.store.stamp(h.key)
	if h.read && stamp == h.stamp {
		return h.rec, nil
	}
	rec, err := h.m.store.loadUntil(ctx, h.key)
	if err != nil {
		return nil, err
	}
	h.rec, h.stamp, h.read = rec, stamp, true
	h.known = h.known || rec != nil
	return rec, nil
}

func (h *handler) signIn(reason string) *SignInError {
	return &SignInError{Server: h.s.Name, Reason: reason}
}

func accessToken(rec *record) string {
	if rec == nil {
		return ""
	}
	return rec.AccessToken
}

// renew returns a record with a fresh access token other than used, which the caller found stale.
// The first caller to hold the lock requests a new one; the others find it stored.
func (h *handler) renew(ctx context.Context, used string) (*record, error) {
	unlock, err := h.m.store.lock(ctx, h.key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	rec, err := h.m.store.loadUntil(ctx, h.key)
	switch {
	case err != nil:
		return nil, err
	case rec == nil:
		return nil, h.signIn("")
	case rec.Ended != "":
		return nil, h.signIn(rec.Ended)
	case rec.AccessToken != used && rec.fresh(h.m.now()):
		return rec, nil
	case rec.RefreshToken == "":
		return nil, h.signIn("the token has expired")
	}
	if err := rec.checkClient(h.s.Client); err != nil {
		return nil, h.signIn(err.Error())
	}
	next := *rec
	ctx, cancel := outlast(ctx)
	defer cancel()
	err = h.m.refresh(ctx, &next, h.s.Client)
	if e, ok := errors.AsType[*endpointError](err); ok && e.final() {
		next.end("the sign-in has ended, " + e.Error())
		if err := h.m.store.save(h.key, &next); err != nil {
			h.m.log.Error("cannot store that a sign-in has ended", "server", h.s.Name, "err", err)
		}
		return nil, h.signIn(next.Ended)
	}
	if err != nil {
		return nil, fmt.Errorf("renew the token for %s: %w", h.s.Name, err)
	}
	if err := h.m.store.save(h.key, &next); err != nil {
		// The new token is valid, but the next process will not have it.
		h.m.log.Error("cannot store the new token", "server", h.s.Name, "err", err)
		h.mu.Lock()
		h.rec, h.stamp, h.read = &next, h.m.store.stamp(h.key), true
		h.mu.Unlock()
	}
	h.m.log.Debug("renewed the token", "server", h.s.Name)
	return &next, nil
}

// outlast returns a context that ends shortly after ctx.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshLimit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(refreshGrace, cancel) })
	return out, func() { stop(); cancel() }
}

// Authorize is called after a request was refused. It returns nil if another token is
// now available.
func (h *handler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // to reuse the connection
	used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	rec, err := h.load(ctx)
	if err != nil {
		return err
	}
	if now := accessToken(rec); now != used && rec.fresh(h.m.now()) {
		return nil // somebody has signed in or renewed it
	}
	if resp.StatusCode == http.StatusForbidden {
		return h.stepUp(ctx, challengedScopes(resp))
	}
	about := subjectOf(req)
	switch {
	case used == "" && rec == nil:
		h.storeChallenge(ctx, about, resp)
		return h.refuse(about, "", "")
	case used != "" && used == h.forcedToken():
		if lacksScopes(rec, challengedScopes(resp)) {
			return h.stepUp(ctx, challengedScopes(resp))
		}
		return h.refuse(about, used, "it refuses a token that the authorization server has just issued")
	case rec != nil && rec.Ended == "" && rec.RefreshToken == "":
		if lacksScopes(rec, challengedScopes(resp)) {
			return h.stepUp(ctx, challengedScopes(resp))
		}
		return h.refuse(about, used, "it refuses the token")
	}
	rec, err = h.renew(ctx, used)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.forced = rec.AccessToken
	h.mu.Unlock()
	return nil
}

func (h *handler) forcedToken() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.forced
}

// lacksScopes reports whether scopes contains one that was not granted.
func lacksScopes(rec *record, scopes []string) bool {
	return rec != nil && slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(rec.Scopes, s) })
}

// stepUp records the scopes that the token lacks, for the next sign-in. It does not repeat those
// that a sign-in has requested in vain.
func (h *handler) stepUp(ctx context.Context, scopes []string) error {
	need := &SignInError{Server: h.s.Name, Scopes: scopes}
	if len(scopes) == 0 {
		need.Scopes = []string{"scopes that it does not name"}
		return need
	}
	unlock, err := h.m.store.lock(ctx, h.key)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := h.m.store.loadUntil(ctx, h.key)
	if err != nil || rec == nil {
		return need
	}
	if len(union(rec.Asked, scopes)) == len(rec.Asked) {
		need.InVain = true
		return need
	}
	wanted := union(rec.Wanted, scopes)
	if len(wanted) == len(rec.Wanted) {
		return need
	}
	next := *rec
	next.Wanted = wanted
	if err := h.m.store.save(h.key, &next); err != nil {
		h.m.log.Error("cannot store the scopes that a server asks for", "server", h.s.Name, "err", err)
	}
	return need
}

// challengedScopes returns the scopes that a response with 401 or 403 requires.
func challengedScopes(resp *http.Response) []string { return challengeOf(resp.Header).Scopes }

// cleanScopes removes invalid scopes: people and models see the names.
func cleanScopes(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return len(s) > 200 || strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) >= 0
	})
}

// union returns a followed by the elements of b that a lacks.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
