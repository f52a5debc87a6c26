package upstream

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// oauth returns the handler for requests to t, or nil if the configuration has its own
// Authorization. It returns the same handler while the address stays the same, since
// the handler remembers refused tokens.
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

// signInError is err with what the server answered, or what the OAuth handler
// said if it was asked in vain.
func signInError(r *transport.HTTP, err error) error {
	if need := r.SignInNeeded(); need != nil {
		return &dialError{err: need, hint: need.SignInHint(), signIn: true, handled: true}
	}
	return withStatus(r.Status(), err)
}

// authHint is what to do about a *transport.AuthError.
const authHint = "try again later; broker auth status says how the sign-in stands"

// failure returns the state of a server after err, the advice, and whether an OAuth
// handler reported err, which decides itself when to ask again.
func failure(err error) (state State, hint string, handled bool, cause error) {
	if e, ok := errors.AsType[*dialError](err); ok {
		state = StateFailed
		if e.signIn {
			state = StateNeedsSignIn
		}
		return state, e.hint, e.handled, err
	}
	if need, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return StateNeedsSignIn, need.SignInHint(), true, need
	}
	return StateFailed, "", false, err
}

// authFailed returns the error of a call that lacked a token or a sufficient one, or
// nil if err has another cause. The tool has not run. If tools/list needs a sign-in
// too, authFailed closes the session, and the next call asks for the token again. Other
// servers need one for only some of their tools.
func (s *server) authFailed(ctx context.Context, sess *session, err error) error {
	need, ok := errors.AsType[transport.SignInNeeded](err)
	if !ok {
		if e, ok := errors.AsType[*transport.AuthError](err); ok {
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: authHint, Err: sess.hide.InErr(e)}
		}
		return nil
	}
	if !need.Partial() && s.wantsSignIn(ctx, sess) {
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

// isPartial reports whether only this request needs a sign-in.
func isPartial(err error) bool {
	need, ok := errors.AsType[transport.SignInNeeded](err)
	return ok && need.Partial()
}

// wantsSignIn reports whether tools/list needs a sign-in in sess.
func (s *server) wantsSignIn(ctx context.Context, sess *session) bool {
	_, wants := errors.AsType[transport.SignInNeeded](s.probe(ctx, sess))
	return wants
}
