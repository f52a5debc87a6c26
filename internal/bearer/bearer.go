// Package bearer checks the access tokens that an authorization server has issued to
// people: JSON Web Tokens of RFC 9068, signed with keys that the server publishes.
//
// A token is for one resource (its audience) and names its bearer. It is not passed on.
package bearer

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// Options are the accepted issuer, resource and claims of tokens. Issuer and Resource
// are required.
type Options struct {
	Issuer   string // the authorization server, as its metadata names it
	Resource string // the audience that tokens must have
	User     string // the claim that names the person; empty is "sub"
	// Profiles maps values of ProfileClaim, a text or a list of texts, to profiles.
	// Without ProfileClaim a person may use every profile.
	ProfileClaim string
	Profiles     map[string]string
	TeamClaim    string // the claim with the team of the person, or empty

	Now func() time.Time // the clock; nil means time.Now
}

// A Person is the bearer of a token.
type Person struct {
	Name     string
	Subject  string // the issuer's id of the person, independent of Name
	Scopes   []string
	Expires  time.Time
	Limited  bool     // the person may use only Profiles
	Profiles []string // sorted
	Team     string   // may be empty
}

// A Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	o      Options
	client *http.Client

	mu       sync.Mutex
	keys     *keySet // nil until the issuer has answered
	signIn   Endpoints
	failed   error
	failedAt time.Time // time of failed
}

// Endpoints are the sign-in page for browsers and the token endpoint.
type Endpoints struct {
	Authorize, Token string
	// SaysIssuer is set if the responses of the sign-in page name the issuer (RFC
	// 9207).
	SaysIssuer bool
}

const (
	maxMetadata  = 1 << 20
	fetchTimeout = 10 * time.Second
	// retryAfter is the time before an issuer that did not answer, or that was just
	// asked for its keys, is asked again, so that invalid tokens cause few requests to
	// it.
	retryAfter = 5 * time.Second
)

// algorithms are those of RFC 7518 and RFC 8037 with a public key. Algorithms with a secret that
// clients could know are excluded.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA}

var algorithmNames = func() (names []string) {
	for _, a := range algorithms {
		names = append(names, string(a))
	}
	return names
}()

// New returns a verifier, which asks the issuer for its keys on the first token.
func New(o Options) (*Verifier, error) {
	home, err := url.Parse(o.Issuer)
	if err != nil || home.Host == "" {
		return nil, fmt.Errorf("the issuer %q is not a URL", o.Issuer)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	out := outbound.New(outbound.Options{Home: home, MaxBytes: maxMetadata, Timeout: fetchTimeout})
	return &Verifier{o: o, client: &out.Client}, nil
}

// ErrRefused is wrapped by the errors of invalid tokens. Other errors mean that the issuer cannot
// be reached.
var ErrRefused = errors.New("the token is refused")

// Verify returns the bearer of the token.
func (v *Verifier) Verify(ctx context.Context, token string) (Person, error) {
	return v.verify(ctx, token, accessType, func(*oidc.IDToken, map[string]any) error { return nil })
}

// VerifySignIn returns the person of an ID token that answers a sign-in with nonce by the client
// that is Resource.
func (v *Verifier) VerifySignIn(ctx context.Context, token, nonce string) (Person, error) {
	mayBeID := func(typ string) bool { return typ == "" || accessType(typ) }
	return v.verify(ctx, token, mayBeID, func(t *oidc.IDToken, claims map[string]any) error {
		if nonce == "" || subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) != 1 {
			return fmt.Errorf("%w: it answers another sign-in (its nonce is not the one that was sent)", ErrRefused)
		}
		if azp, ok := claims["azp"]; ok && azp != v.o.Resource {
			return fmt.Errorf("%w: it was issued to another client (azp)", ErrRefused)
		}
		return nil
	})
}

// verify checks a token. may reports whether its type is accepted.
func (v *Verifier) verify(ctx context.Context, token string, may func(typ string) bool, check func(*oidc.IDToken, map[string]any) error) (Person, error) {
	keys, _, err := v.issuer(ctx)
	if err != nil {
		return Person{}, err
	}
	payload, typ, err := keys.verify(ctx, token)
	if errors.Is(err, errKeys) {
		return Person{}, fmt.Errorf("the keys of %s cannot be read", v.o.Issuer)
	}
	var t *oidc.IDToken
	if err == nil {
		config := &oidc.Config{ClientID: v.o.Resource, SupportedSigningAlgs: algorithmNames, Now: v.o.Now}
		t, err = oidc.NewVerifier(v.o.Issuer, verified(payload), config).Verify(ctx, token)
	}
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return Person{}, fmt.Errorf("%w: it expired at %s", ErrRefused, expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return Person{}, fmt.Errorf("%w: it is not one that %s has issued for %s", ErrRefused, v.o.Issuer, v.o.Resource)
	case !may(typ):
		return Person{}, fmt.Errorf("%w: its type (typ) is %q, not at+jwt or JWT", ErrRefused, gate.Cut(gate.Line(typ), 40))
	case t.Subject == "":
		return Person{}, fmt.Errorf("%w: it has no subject (sub)", ErrRefused)
	}
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("%w: its claims are not an object", ErrRefused)
	}
	if err := check(t, claims); err != nil {
		return Person{}, err
	}
	return v.person(t, claims)
}

// Endpoints returns the sign-in page for browsers and the token endpoint.
func (v *Verifier) Endpoints(ctx context.Context) (Endpoints, error) {
	_, e, err := v.issuer(ctx)
	if err == nil && (e.Authorize == "" || e.Token == "") {
		err = fmt.Errorf("the metadata of %s does not name a sign-in page", v.o.Issuer)
	}
	return e, err
}

func (v *Verifier) person(t *oidc.IDToken, claims map[string]any) (Person, error) {
	p := Person{Name: t.Subject, Subject: t.Subject, Expires: t.Expiry, Scopes: words(claims["scope"]), Limited: v.o.ProfileClaim != ""}
	if user := v.o.User; user != "" {
		p.Name, _ = claims[user].(string)
	}
	if by := []string{v.o.User, v.o.ProfileClaim, v.o.TeamClaim}; slices.Contains(by, "email") && !mayBeVerified(claims["email_verified"]) {
		return Person{}, fmt.Errorf("%w: its e-mail address is not verified", ErrRefused)
	}
	if p.Name == "" {
		return Person{}, fmt.Errorf("%w: it does not name anybody", ErrRefused)
	}
	for _, value := range values(claims[v.o.ProfileClaim]) {
		if name, ok := v.o.Profiles[value]; ok && p.Limited {
			p.Profiles = append(p.Profiles, name)
		}
	}
	if teams := values(claims[v.o.TeamClaim]); v.o.TeamClaim != "" && len(teams) > 0 {
		p.Team = teams[0]
	}
	slices.Sort(p.Profiles)
	p.Profiles = slices.Compact(p.Profiles)
	return p, nil
}

// mayBeVerified reports whether the claim email_verified allows the address. Some
// issuers write a string; an issuer without the claim vouches for all its addresses.
func mayBeVerified(claim any) bool {
	switch claim := claim.(type) {
	case nil:
		return true
	case bool:
		return claim
	case string:
		return strings.EqualFold(claim, "true")
	}
	return false
}

// words returns the parts of a scope, RFC 6749 section 3.3.
func words(v any) []string {
	s, _ := v.(string)
	return strings.Fields(s)
}

func values(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

// issuer reads the metadata of the issuer, once.
func (v *Verifier) issuer(ctx context.Context) (*keySet, Endpoints, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		return v.keys, v.signIn, nil
	}
	if v.failed != nil && v.o.Now().Sub(v.failedAt) < retryAfter {
		return nil, Endpoints{}, v.failed
	}
	var more struct {
		Keys       string `json:"jwks_uri"`
		SaysIssuer bool   `json:"authorization_response_iss_parameter_supported"`
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.client), v.o.Issuer)
	if err == nil {
		err = provider.Claims(&more)
	}
	if err != nil {
		v.failed, v.failedAt = fmt.Errorf("the metadata of %s cannot be read", v.o.Issuer), v.o.Now()
		return nil, Endpoints{}, v.failed
	}
	v.keys = &keySet{client: v.client, url: more.Keys, now: v.o.Now}
	v.signIn = Endpoints{Authorize: provider.Endpoint().AuthURL, Token: provider.Endpoint().TokenURL, SaysIssuer: more.SaysIssuer}
	return v.keys, v.signIn, nil
}
