package upstream

import (
	"context"
	"errors"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// failure returns the state of a server after err, the advice, and whether an OAuth
// handler reported err, which decides itself when to ask again.
func failure(err error) (state State, hint string, handled bool, cause error) {
	if e, ok := errors.AsType[*link.Error](err); ok {
		state = StateFailed
		if e.SignIn {
			state = StateNeedsSignIn
		}
		return state, e.Hint, e.Handled, err
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
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: link.AuthHint, Err: sess.Hide.InErr(e)}
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
		s.pool.run(func(context.Context) { sess.Shut() })
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
