package transport

import (
	"errors"
	"net/http"
	"strings"
)

// A SignInNeeded is an error of an OAuth handler that only a person can resolve.
// Handlers return it, possibly wrapped, from both their methods.
type SignInNeeded interface {
	error
	// SignInHint is the command that signs in.
	SignInHint() string
	// Partial reports that just this request needs more rights than the token
	// has; others may go through with it.
	Partial() bool
}

// MaxAuthorize is how often a handler is asked about one request: once for a
// token that has changed meanwhile, once for a new one.
const MaxAuthorize = 2

// An AuthError means that an OAuth handler failed for another reason than that a
// person has to sign in.
type AuthError struct{ Err error }

// Error names the cause.
func (e *AuthError) Error() string { return "authorize the request: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *AuthError) Unwrap() error { return e.Err }

// SignInNeeded is what the OAuth handler said last if a sign-in is needed, else
// nil: not every way through the SDK keeps the error.
func (r *HTTP) SignInNeeded() SignInNeeded {
	if need := r.need.Load(); need != nil {
		return *need
	}
	return nil
}

// authorized sends a request to the server's own origin with the handler's token, and
// once more if that is refused and the handler has another one. A refusal of the
// optional stream of Streamable HTTP is an answer like any other.
//
// A refusal of server/discover, which only the broker sends, is not remembered: a
// server that does not know the method may answer anything.
func (r *HTTP) authorized(req *http.Request, m *outgoing) (*http.Response, error) {
	for asked := 0; ; asked++ {
		note := r.note
		if m != nil && m.method == methodDiscover {
			note = func(err error) error { return err }
		}
		out, err := r.sign(req, asked, note)
		if err != nil {
			return nil, err
		}
		resp, err := r.base.RoundTrip(out)
		if err != nil || asked == MaxAuthorize || !wantsSignIn(resp) || req.Method == http.MethodGet && !r.o.SSE {
			return resp, err
		}
		if err := r.o.Auth.Authorize(req.Context(), out, resp); err != nil {
			return nil, note(err)
		}
		if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
			return nil, errors.New("the server wants another token, and the request cannot be repeated")
		}
	}
}

// sign returns req with a token, if there is one, and with its body as new.
func (r *HTTP) sign(req *http.Request, asked int, note func(error) error) (*http.Request, error) {
	source, err := r.o.Auth.TokenSource(req.Context())
	if err != nil {
		return nil, note(err)
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
		return nil, note(err)
	}
	token.SetAuthHeader(out)
	return out, nil
}

// note remembers that a sign-in is needed.
func (r *HTTP) note(err error) error {
	if need, ok := errors.AsType[SignInNeeded](err); ok {
		r.need.Store(&need)
		return err
	}
	return &AuthError{err}
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
