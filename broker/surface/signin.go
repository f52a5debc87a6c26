package surface

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A SignIn configures the access tokens that the endpoint, a resource server of OAuth
// 2.1, accepts. Clients find the authorization server by the metadata of RFC 9728.
type SignIn struct {
	Issuer   string   // the authorization server
	Resource string   // what clients call the endpoint, and the audience of tokens
	Scopes   []string // which tokens must have
	// Verify returns who bears a token, or an error that is shown to the client. One
	// that wraps ErrToken is about the token.
	Verify func(ctx context.Context, token string) (Bearer, error)
}

// A Bearer is whom a token names.
type Bearer struct {
	Name     string
	Subject  string // as the issuer calls the person
	Expires  time.Time
	Scopes   []string
	Limited  bool     // whether Profiles are all that the person may use
	Profiles []string // sorted
	Team     string   // team whose quota counts, or empty
}

// ErrToken is wrapped by errors of Verify that are about the token.
var ErrToken = errors.New("the token is refused")

// unnamed are the names of clients without a token, which no token may have.
var unnamed = []string{"http", "stdio", "exec", "admin", "console"}

// maxName bounds the name of a person in bytes.
const maxName = 200

// MayBeNamed reports whether a person or a program can have a name: not one of those
// that clients without a name have.
func MayBeNamed(name string) bool {
	return strings.TrimSpace(name) != "" && !slices.Contains(unnamed, name) && len(name) <= maxName &&
		!strings.ContainsFunc(name, unicode.IsControl) && utf8.ValidString(name)
}

// wellKnown is where the metadata is, RFC 9728 section 3.
const wellKnown = "/.well-known/oauth-protected-resource"

// profilesKey holds, in what is known of a token, the profiles that it is limited
// to.
const profilesKey = "profiles"

// personKey is the context key of the person who owns the token.
const personKey = "person"

// teamKey holds, there too, the team.
const teamKey = "team"

func ofToken(client string, l TokenLimits) map[string]any {
	extra := map[string]any{teamKey: l.Team, personKey: &upstream.Person{Subject: client, Name: client}}
	if l.Profile != "" {
		extra[profilesKey] = []string{l.Profile}
	}
	return extra
}

// forPerson carries out a request for the person who owns its token.
func forPerson(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
			if p, ok := extra.TokenInfo.Extra[personKey].(*upstream.Person); ok {
				ctx = upstream.WithPerson(ctx, p)
			}
		}
		return next(ctx, method, req)
	}
}

// forBearer answers a request for the person who owns its token.
func forBearer(answer func(w http.ResponseWriter, r *http.Request, p *upstream.Person)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := auth.TokenInfoFromContext(r.Context())
		if info == nil {
			w.Header().Set("WWW-Authenticate", challenge(http.StatusUnauthorized, r, nil))
			http.Error(w, "a token is needed", http.StatusUnauthorized)
			return
		}
		p, ok := info.Extra[personKey].(*upstream.Person)
		if !ok {
			http.Error(w, "this token names nobody", http.StatusForbidden)
			return
		}
		answer(w, r, p)
	})
}

// info returns the SDK's information about a token. It refuses a person with the name
// of a client of the config, who would get its sessions and runs.
func (s *SignIn) info(ctx context.Context, token string, named func(string) bool) (*auth.TokenInfo, error) {
	b, err := s.Verify(ctx, token)
	switch {
	case errors.Is(err, ErrToken):
		return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	case err != nil:
		return nil, err
	}
	switch {
	case named(b.Name):
		return nil, fmt.Errorf("%w: %q is the name of a token of the broker", auth.ErrInvalidToken, b.Name)
	case !MayBeNamed(b.Name):
		return nil, fmt.Errorf("%w: %.40q cannot be the name of a person", auth.ErrInvalidToken, b.Name)
	}
	info := &auth.TokenInfo{UserID: b.Name, Scopes: b.Scopes, Extra: map[string]any{teamKey: b.Team}}
	if b.Subject != "" { // else two people could be one
		info.Extra[personKey] = &upstream.Person{Issuer: s.Issuer, Subject: b.Subject, Name: b.Name, Token: token, Expires: b.Expires}
	}
	if b.Limited {
		info.Extra[profilesKey] = b.Profiles
	}
	return info, nil
}

// profilesOf returns the profiles that the token of a request is limited to.
func profilesOf(r *http.Request) (names []string, limited bool) {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		names, limited = info.Extra[profilesKey].([]string)
	}
	return names, limited
}

func (s *SignIn) metadataURL() string {
	u, err := url.Parse(s.Resource)
	if err != nil {
		return ""
	}
	u.Path, u.RawQuery, u.Fragment = wellKnown+strings.TrimSuffix(u.Path, "/"), "", ""
	return u.String()
}

// metadata answers for the endpoint of each profile too: they are one resource.
func (s *SignIn) metadata() http.Handler {
	return auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.Resource, AuthorizationServers: []string{s.Issuer}, ScopesSupported: slices.Clone(s.Scopes), BearerMethodsSupported: []string{"header"},
	})
}

// TokenLimits say what a token is good for.
type TokenLimits struct {
	// Profile is the only one that it can use; empty for any.
	Profile string
	// Team is the team whose quota counts, or empty.
	Team string
	// Expires is when it ends; zero is never.
	Expires time.Time
}

// Expired reports whether the token is good for nothing any more.
func (l TokenLimits) Expired() bool { return !l.Expires.IsZero() && !time.Now().Before(l.Expires) }

// Issued are tokens beside those of the config. It is safe for concurrent use.
type Issued interface {
	// Owner returns the client of a token, and what it is good for.
	Owner(token string) (client string, l TokenLimits, ok bool)
	// Has reports whether a client has that name.
	Has(client string) bool
	// Any reports whether there are some, or were.
	Any() bool
}

// challenge returns the WWW-Authenticate header of a 401 or 403 response (RFC 6750, RFC
// 9728).
func challenge(status int, r *http.Request, s *SignIn) string {
	params := []string{`realm="broker"`}
	switch {
	case status == http.StatusForbidden:
		params = append(params, `error="insufficient_scope"`)
	case r.Header.Get("Authorization") != "": // RFC 6750, section 3.1: a request without credentials gets no error code
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
