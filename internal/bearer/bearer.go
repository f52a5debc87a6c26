// Package bearer checks the access tokens that an authorization server has
// issued to people: JSON Web Tokens of RFC 9068, whose keys the server publishes.
//
// A token is for one resource (its audience) and names who bears it. Nothing of it
// is passed on to anybody.
package bearer

import (
	"cmp"
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

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// Options say whose tokens are good, and for what. Issuer and Resource are
// required.
type Options struct {
	Issuer   string // the authorization server, as its metadata names it
	Resource string // the audience that tokens must have
	User     string // the claim that names the person; empty is "sub"
	// Profiles maps values of ProfileClaim, a text or a list of texts, to profiles.
	// Without ProfileClaim a person may use every profile.
	ProfileClaim string
	Profiles     map[string]string
	TeamClaim    string // the claim with the team of the person; empty for none
}

// A Person is who bears a token.
type Person struct {
	Name     string
	Subject  string // as the issuer calls the person, whatever Name is
	Scopes   []string
	Expires  time.Time
	Limited  bool     // whether Profiles are all that the person may use
	Profiles []string // sorted
	Team     string   // empty for none
}

// A Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	o      Options
	client *http.Client

	mu     sync.Mutex
	tokens *oidc.IDTokenVerifier // nil until the issuer has answered
	// authorize and token are where people sign in, and where codes become tokens.
	authorize, token string
	failed           error
	at               time.Time // of failed
}

const (
	maxMetadata  = 1 << 20
	fetchTimeout = 10 * time.Second
	// retryAfter is how long an issuer that did not answer, and one whose keys were
	// just read, is not asked again: tokens that nobody has signed cost it nothing.
	retryAfter = 5 * time.Second
)

// algorithms are those of RFC 7518 and RFC 8037 with a public key. None has a
// secret that a client could know.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// New returns a verifier, which asks the issuer for its keys at the first token.
func New(o Options) (*Verifier, error) {
	home, err := url.Parse(o.Issuer)
	if err != nil || home.Host == "" {
		return nil, fmt.Errorf("the issuer %q is not a URL", o.Issuer)
	}
	out := outbound.New(outbound.Options{Home: home, MaxBytes: maxMetadata, Timeout: fetchTimeout})
	out.Transport = &calm{next: out.Transport, last: make(map[string]attempt)}
	return &Verifier{o: o, client: &out.Client}, nil
}

// ErrRefused is wrapped by the errors of tokens that are not good. Other errors
// are those of an issuer that cannot be reached.
var ErrRefused = errors.New("the token is refused")

// Verify returns who bears the token.
func (v *Verifier) Verify(ctx context.Context, token string) (Person, error) {
	return v.verify(ctx, token, func(*oidc.IDToken, map[string]any) error { return nil })
}

// VerifySignIn returns whom an ID token names, which answers a sign-in with nonce by
// the client that Resource is.
func (v *Verifier) VerifySignIn(ctx context.Context, token, nonce string) (Person, error) {
	return v.verify(ctx, token, func(t *oidc.IDToken, claims map[string]any) error {
		if nonce == "" || subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) != 1 {
			return fmt.Errorf("%w: it answers another sign-in (its nonce is not the one that was sent)", ErrRefused)
		}
		if azp, ok := claims["azp"]; ok && azp != v.o.Resource {
			return fmt.Errorf("%w: it was issued to another client (azp)", ErrRefused)
		}
		return nil
	})
}

func (v *Verifier) verify(ctx context.Context, token string, check func(*oidc.IDToken, map[string]any) error) (Person, error) {
	verifier, err := v.verifier(ctx)
	if err != nil {
		return Person{}, err
	}
	t, err := verifier.Verify(oidc.ClientContext(ctx, v.client), token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return Person{}, fmt.Errorf("%w: it expired at %s", ErrRefused, expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil && strings.Contains(err.Error(), "fetching keys") && !strings.Contains(err.Error(), errCalm.Error()):
		return Person{}, fmt.Errorf("the keys of %s cannot be read", v.o.Issuer)
	case err != nil:
		return Person{}, fmt.Errorf("%w: it is not one that %s has issued for %s", ErrRefused, v.o.Issuer, v.o.Resource)
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

// Endpoints returns where people sign in with a browser, and where codes become
// tokens.
func (v *Verifier) Endpoints(ctx context.Context) (authorize, token string, err error) {
	if _, err := v.verifier(ctx); err != nil {
		return "", "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.authorize == "" || v.token == "" {
		return "", "", fmt.Errorf("the metadata of %s says nothing of a sign-in page", v.o.Issuer)
	}
	return v.authorize, v.token, nil
}

func (v *Verifier) person(t *oidc.IDToken, claims map[string]any) (Person, error) {
	p := Person{Name: t.Subject, Subject: t.Subject, Expires: t.Expiry, Scopes: words(claims["scope"]), Limited: v.o.ProfileClaim != ""}
	if user := v.o.User; user != "" {
		p.Name, _ = claims[user].(string)
	}
	if verified, said := claims["email_verified"].(bool); said && !verified && (v.o.User == "email" || v.o.ProfileClaim == "email") {
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

// words are the parts of a scope, RFC 6749 section 3.3.
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

// verifier asks the issuer for its metadata, once.
func (v *Verifier) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tokens != nil {
		return v.tokens, nil
	}
	if v.failed != nil && time.Since(v.at) < retryAfter {
		return nil, v.failed
	}
	// The keys are read with this context later on.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.client), v.o.Issuer)
	if err != nil {
		v.failed, v.at = fmt.Errorf("the metadata of %s cannot be read", v.o.Issuer), time.Now()
		return nil, v.failed
	}
	v.authorize, v.token = provider.Endpoint().AuthURL, provider.Endpoint().TokenURL
	v.tokens = provider.Verifier(&oidc.Config{ClientID: v.o.Resource, SupportedSigningAlgs: algorithms})
	return v.tokens, nil
}

// A calm transport does not ask for the same again within retryAfter: whoever
// sends tokens with invented keys would have it ask for each of them.
type calm struct {
	next http.RoundTripper

	mu   sync.Mutex
	last map[string]attempt
}

type attempt struct {
	at  time.Time
	err error
}

var errCalm = errors.New("asked a moment ago")

func (c *calm) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock() // the issuer is asked for one thing at a time
	address := req.URL.String()
	if last, ok := c.last[address]; ok && time.Since(last.at) < retryAfter {
		return nil, cmp.Or(last.err, errCalm)
	}
	resp, err := c.next.RoundTrip(req)
	c.last[address] = attempt{time.Now(), err}
	return resp, err
}
