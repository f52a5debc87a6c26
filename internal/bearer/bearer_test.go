package bearer_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/bearer"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

const resource = "https://broker.example.com/mcp"

func verifier(t testing.TB, o bearer.Options) *bearer.Verifier {
	t.Helper()
	o.Resource = resource
	v, err := bearer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPeople(t *testing.T) {
	issuer := fakeauth.NewIssuer(t)
	v := verifier(t, bearer.Options{Issuer: issuer.URL, User: "email", ProfileClaim: "groups", Profiles: map[string]string{"platform": "work", "build": "ci", "night": "ci"}})
	p, err := v.Verify(t.Context(), issuer.Token(t, resource, "17", map[string]any{
		"email": "ann@example.com", "email_verified": true, "scope": "mcp openid", "groups": []string{"platform", "night", "build", "golf"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "ann@example.com" || !p.Limited || !slices.Equal(p.Profiles, []string{"ci", "work"}) || !slices.Equal(p.Scopes, []string{"mcp", "openid"}) {
		t.Errorf("got %+v", p)
	}
	if p, err = v.Verify(t.Context(), issuer.Token(t, resource, "18", map[string]any{"email": "bob@example.com", "groups": "golf"})); err != nil || !p.Limited || len(p.Profiles) > 0 {
		t.Errorf("somebody without a profile: %+v, %v", p, err)
	}
	for _, yes := range []any{true, "true", "True", nil} {
		if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "17", map[string]any{"email": "ann@example.com", "email_verified": yes})); err != nil {
			t.Errorf("email_verified %#v: %v", yes, err)
		}
	}
	for what, claims := range map[string]map[string]any{
		"an address that is not verified":       {"email": "ann@example.com", "email_verified": false},
		"one that is not verified, as a text":   {"email": "ann@example.com", "email_verified": "false"},
		"one that is not, in capitals":          {"email": "ann@example.com", "email_verified": "FALSE"},
		"one that is not, as a number":          {"email": "ann@example.com", "email_verified": 0},
		"one about which nothing clear is said": {"email": "ann@example.com", "email_verified": "unknown"},
		"one about which an empty text is said": {"email": "ann@example.com", "email_verified": ""},
		"one about which there is an object":    {"email": "ann@example.com", "email_verified": map[string]any{"value": true}},
		"nobody":                                {},
		"a name that is not a text":             {"email": 7},
	} {
		if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "17", claims)); !errors.Is(err, bearer.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	issuer, other := fakeauth.NewIssuer(t), fakeauth.NewIssuer(t)
	v := verifier(t, bearer.Options{Issuer: issuer.URL})
	good := issuer.Token(t, resource, "ann", nil)
	if p, err := v.Verify(t.Context(), good); err != nil || p.Name != "ann" || p.Limited {
		t.Fatalf("a good token: %+v, %v", p, err)
	}
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`))
	for what, token := range map[string]string{
		"for somebody else":    issuer.Token(t, "https://other.example.com/mcp", "ann", nil),
		"of another issuer":    other.Token(t, resource, "ann", nil),
		"that names another":   issuer.Token(t, resource, "ann", map[string]any{"iss": other.URL}),
		"expired":              issuer.Token(t, resource, "ann", map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"without an end":       issuer.Token(t, resource, "ann", map[string]any{"exp": nil}),
		"for later":            issuer.Token(t, resource, "ann", map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"forged":               issuer.Forged(t, resource, "ann"),
		"without a signature":  none + "." + parts[1] + ".",
		"with another payload": parts[0] + "." + strings.Split(issuer.Token(t, resource, "root", nil), ".")[1] + "." + parts[2],
		"without a subject":    issuer.Token(t, resource, "", nil),
		"with a null subject":  issuer.Token(t, resource, "ann", map[string]any{"sub": nil}),
		"a logout token":       issuer.Typed(t, "logout+jwt", resource, "ann", map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}),
		"a security event":     issuer.Typed(t, "secevent+jwt", resource, "ann", nil),
		"a proof":              issuer.Typed(t, "dpop+jwt", resource, "ann", nil),
		"an introspection":     issuer.Typed(t, "application/token-introspection+jwt", resource, "ann", nil),
		"without a type":       issuer.Typed(t, "", resource, "ann", nil),
		"empty":                "",
		"no token":             strings.Repeat("a.", 5000),
	} {
		if p, err := v.Verify(t.Context(), token); !errors.Is(err, bearer.ErrRefused) {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
	}
}

// Access tokens have their own type, or that of any JSON Web Token.
func TestTypesOfTokens(t *testing.T) {
	issuer := fakeauth.NewIssuer(t)
	v := verifier(t, bearer.Options{Issuer: issuer.URL})
	for _, typ := range []string{"at+jwt", "application/at+jwt", "AT+JWT", "JWT", "jwt", "application/jwt"} {
		if p, err := v.Verify(t.Context(), issuer.Typed(t, typ, resource, "ann", nil)); err != nil || p.Name != "ann" {
			t.Errorf("%s: %+v, %v", typ, p, err)
		}
	}
	// Issuers omit the type of ID tokens; another type is refused there too.
	for typ, want := range map[string]bool{"": true, "JWT": true, "logout+jwt": false, "secevent+jwt": false} {
		if _, err := v.VerifySignIn(t.Context(), issuer.Typed(t, typ, resource, "ann", map[string]any{"nonce": "n"}), "n"); (err == nil) != want {
			t.Errorf("an ID token of type %q: %v", typ, err)
		}
	}
}

// A clock returns the same time until it is set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// A withdrawn key is refused some minutes later, even if all requests have tokens that
// it signed.
func TestWithdrawnKeys(t *testing.T) {
	issuer, c := fakeauth.NewIssuer(t), &clock{time.Now()}
	v := verifier(t, bearer.Options{Issuer: issuer.URL, Now: c.now})
	stolen := issuer.Token(t, resource, "eve", nil)
	if _, err := v.Verify(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	issuer.Rotate(t)
	issuer.Withdraw()
	for range 10 { // must not prolong its life
		c.at = c.at.Add(30 * time.Second)
		_, _ = v.Verify(t.Context(), stolen)
	}
	if _, err := v.Verify(t.Context(), stolen); !errors.Is(err, bearer.ErrRefused) {
		t.Errorf("a token of a withdrawn key, after 5 minutes: %v", err)
	}
	if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "ann", nil)); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
	asked := issuer.Asked("/keys")
	for range 100 {
		if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "ann", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := issuer.Asked("/keys") - asked; n != 0 {
		t.Errorf("the keys were read %d times for 100 tokens of a known key", n)
	}
	// A new key is known at once.
	c.at = c.at.Add(10 * time.Second)
	issuer.Rotate(t)
	if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "ann", nil)); err != nil {
		t.Errorf("a token of a new key: %v", err)
	}
}

// fronted returns a verifier with its clock, and a token that it has verified. The keys
// come from a server that calls fails first, which reports whether it has answered.
func fronted(t *testing.T, fails func(http.ResponseWriter) bool) (*bearer.Verifier, *clock, string) {
	t.Helper()
	keys := fakeauth.NewIssuer(t)
	var front *httptest.Server
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case fails(w):
		case r.URL.Path == "/keys":
			keys.ServeHTTP(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": "%s/keys"}`, front.URL, front.URL)
		}
	}))
	t.Cleanup(front.Close)
	c := &clock{time.Now()}
	v := verifier(t, bearer.Options{Issuer: front.URL, Now: c.now})
	token := keys.Token(t, resource, "ann", map[string]any{"iss": front.URL, "exp": time.Now().Add(24 * time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return v, c, token
}

// While the issuer is unreachable, keys that were read recently stay valid for an hour.
func TestIssuerThatIsAwayForAWhile(t *testing.T) {
	asked, away := 0, false
	v, c, token := fronted(t, func(w http.ResponseWriter) bool {
		if asked++; away {
			http.Error(w, "away", http.StatusBadGateway)
		}
		return away
	})
	away, asked = true, 0
	for _, after := range []time.Duration{6 * time.Minute, 10 * time.Second, 30 * time.Minute} {
		c.at = c.at.Add(after)
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("%s later: %v", after, err)
		}
	}
	if asked != 2 {
		t.Errorf("an issuer that is away was asked %d times, want 2", asked)
	}
	c.at = c.at.Add(time.Hour)
	if _, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, bearer.ErrRefused) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("after an hour: %v", err)
	}
	away = false
	c.at = c.at.Add(time.Minute)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

// One request waits for an issuer that hangs, and the others go on with the known keys.
func TestIssuerThatHangsDelaysOneRequest(t *testing.T) {
	hangs, arrived, release := false, make(chan struct{}, 1), make(chan struct{})
	v, c, token := fronted(t, func(w http.ResponseWriter) bool {
		if hangs {
			arrived <- struct{}{}
			<-release
			http.Error(w, "away", http.StatusBadGateway)
		}
		return hangs
	})
	hangs = true
	c.at = c.at.Add(6 * time.Minute)
	first := make(chan error, 1)
	go func() {
		_, err := v.Verify(t.Context(), token)
		first <- err
	}()
	<-arrived
	for range 3 {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("while another request waits: %v", err)
		}
	}
	select {
	case err := <-first:
		t.Errorf("the first request did not wait: %v", err)
	default:
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
}

// Tokens with invented keys must not cause a request to the issuer each.
func TestForgedTokensCostTheIssuerNothing(t *testing.T) {
	issuer := fakeauth.NewIssuer(t)
	v := verifier(t, bearer.Options{Issuer: issuer.URL})
	for range 50 {
		if _, err := v.Verify(t.Context(), issuer.Forged(t, resource, "ann")); !errors.Is(err, bearer.ErrRefused) {
			t.Fatal(err)
		}
	}
	if n := issuer.Asked("/keys"); n != 1 {
		t.Errorf("the keys were read %d times for 50 forged tokens", n)
	}
	if _, err := v.Verify(t.Context(), issuer.Token(t, resource, "ann", nil)); err != nil {
		t.Errorf("a good token after them: %v", err)
	}
}

func TestIssuerThatDoesNotAnswer(t *testing.T) {
	asked := 0
	dead := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; http.Error(w, "secret trouble", 500) }))
	defer dead.Close()
	v := verifier(t, bearer.Options{Issuer: dead.URL})
	for range 3 {
		_, err := v.Verify(t.Context(), "a.b.c")
		if err == nil || errors.Is(err, bearer.ErrRefused) || !strings.Contains(err.Error(), dead.URL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func Example() {
	v, err := bearer.New(bearer.Options{Issuer: "https://id.example.com", Resource: "https://broker.example.com/mcp"})
	fmt.Println(v != nil, err)
	// Output: true <nil>
}
