package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A SignInNeeded is an error of an OAuth handler after which only a person can
// go on. Handlers return it, as it is or wrapped, from both their methods.
type SignInNeeded interface {
	error
	// SignInHint is the command that mends it.
	SignInHint() string
	// Partial reports that just this request needs more rights than the token
	// has; others may go through with it.
	Partial() bool
}

// maxAuthorize is how often a handler is asked about one request: once for a
// token that has changed meanwhile, once for a new one.
const maxAuthorize = 2

// oauth returns the handler for requests to t, nil for none: no sign-in where
// the configuration has its own Authorization. The handler is kept for as long
// as the address is the same, since it remembers which tokens were refused.
func (d *dialer) oauth(t *target) (auth.OAuthHandler, error) {
	if d.opts.OAuth == nil {
		return nil, nil
	}
	for k := range t.headers {
		if strings.EqualFold(k, "Authorization") {
			return nil, nil
		}
	}
	if d.signIn == nil || d.signInURL != t.url {
		h, err := d.opts.OAuth(d.cfg, t.url)
		if err != nil {
			return nil, &dialError{err: err, hint: `check "oauth" of the server`}
		}
		d.signIn, d.signInURL = h, t.url
	}
	return d.signIn, nil
}

// authorized sends a request to the server's own origin with the token that the
// handler has, and once more if it has another one when that is refused.
func (r *remote) authorized(req *http.Request) (*http.Response, error) {
	for asked := 0; ; asked++ {
		out, err := r.sign(req, asked)
		if err != nil {
			return nil, err
		}
		resp, err := r.base.RoundTrip(out)
		if err != nil || asked == maxAuthorize || !wantsSignIn(resp) {
			return resp, err
		}
		if err := r.auth.Authorize(req.Context(), out, resp); err != nil {
			return nil, r.note(err)
		}
		if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
			return nil, errors.New("the server wants another token, and the request cannot be repeated")
		}
	}
}

// sign returns req with a token, if there is one, and with its body as new.
func (r *remote) sign(req *http.Request, asked int) (*http.Request, error) {
	source, err := r.auth.TokenSource(req.Context())
	if err != nil {
		return nil, r.note(err)
	}
	out := req.Clone(req.Context())
	if asked > 0 && req.GetBody != nil {
		if out.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return out, nil
	}
	token, err := source.Token()
	if err != nil {
		return nil, r.note(err)
	}
	token.SetAuthHeader(out)
	return out, nil
}

// note remembers that a sign-in is needed, since not every way through the SDK
// keeps the error.
func (r *remote) note(err error) error {
	if need, ok := errors.AsType[SignInNeeded](err); ok {
		r.need.Store(&need)
		return err
	}
	return &dialError{err: fmt.Errorf("authorize the request: %w", err), hint: "try again later; broker auth status says how the sign-in stands"}
}

// wantsSignIn reports whether another token might be taken. A plain 403 is for
// what the user may not do, whatever the token.
func wantsSignIn(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		for _, v := range resp.Header.Values("WWW-Authenticate") {
			if strings.Contains(v, "insufficient_scope") {
				return true
			}
		}
	}
	return false
}

// signInError is err, or what the handler said if it was asked in vain.
func (r *remote) signInError(err error) error {
	if need := r.need.Load(); need != nil {
		return &dialError{err: *need, hint: (*need).SignInHint(), signIn: true, handled: true}
	}
	return err
}

// failure says what err makes of a server: its state, what mends it, and whether
// an OAuth handler was at work, which knows by itself when to ask again.
func failure(err error) (state State, hint string, handled bool, cause error) {
	if e, ok := errors.AsType[*dialError](err); ok {
		state = StateFailed
		if e.signIn {
			state = StateNeedsSignIn
		}
		return state, e.hint, e.handled, err
	}
	if need, ok := errors.AsType[SignInNeeded](err); ok {
		return StateNeedsSignIn, need.SignInHint(), true, need
	}
	return StateFailed, "", false, err
}

// authFailed is the error of a call for which there was no token, or that was
// refused for want of a better one, nil if err is another. The tool has not run.
// Unless other calls may still go through, a session that needs a sign-in is
// given up: the next call asks for the token again.
func (s *server) authFailed(sess *session, err error) error {
	need, ok := errors.AsType[SignInNeeded](err)
	if !ok {
		if e, ok := errors.AsType[*dialError](err); ok {
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: e.hint, Err: sess.hide.inErr(e.err)}
		}
		return nil
	}
	if !need.Partial() {
		s.mu.Lock()
		if s.sess == sess {
			s.sess = nil
			s.setState(StateNeedsSignIn, need, need.SignInHint())
		}
		s.mu.Unlock()
		s.pool.run(func(context.Context) { sess.shut() })
	}
	return &ConnectError{Server: s.cfg.Name, State: StateNeedsSignIn, Hint: need.SignInHint(), Err: need}
}
