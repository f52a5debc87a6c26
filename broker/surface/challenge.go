package surface

import (
	"fmt"
	"net/http"
	"strings"
)

// challenge returns the WWW-Authenticate header of a 401 or 403 response (RFC 6750, RFC
// 9728).
func challenge(status int, r *http.Request, s *SignIn) string {
	params := []string{`realm="broker"`}
	switch {
	case status == http.StatusForbidden:
		params = append(params, `error="insufficient_scope"`)
	case r.Header.Get("Authorization") != "": // RFC 6750, section 3.1: without credentials there is no error code
		params = append(params, `error="invalid_token"`)
	}
	if s != nil {
		if at := s.metadataURL(); at != "" {
			params = append(params, fmt.Sprintf("resource_metadata=%q", at))
		}
		if len(s.Scopes) > 0 {
			params = append(params, fmt.Sprintf("scope=%q", strings.Join(s.Scopes, " ")))
		}
	}
	return "Bearer " + strings.Join(params, ", ")
}

// A challengingWriter adds the header to the refusals of a token check.
type challengingWriter struct {
	http.ResponseWriter
	r      *http.Request
	signIn *SignIn
}

// WriteHeader implements http.ResponseWriter.
func (w *challengingWriter) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.Header().Set("WWW-Authenticate", challenge(status, w.r, w.signIn))
	}
	w.ResponseWriter.WriteHeader(status)
}

// withChallenge returns a handler that adds the header to the refusals of check, but
// not to responses of the handler behind check.
func withChallenge(check func(http.Handler) http.Handler, next http.Handler, s *SignIn) http.Handler {
	checked := check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := w.(*challengingWriter); ok {
			w = c.ResponseWriter
		}
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		checked.ServeHTTP(&challengingWriter{w, r, s}, r)
	})
}
