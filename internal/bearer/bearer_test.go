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
	for what, claims := range map[string]map[string]any{
		"an address that is not verified": {"email": "ann@example.com", "email_verified": false},
		"nobody":                          {},
		"a name that is not a text":       {"email": 7},
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
		"empty":                "",
		"no token":             strings.Repeat("a.", 5000),
	} {
		if p, err := v.Verify(t.Context(), token); !errors.Is(err, bearer.ErrRefused) {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
	}
}

// Whoever sends tokens with invented keys would have the issuer asked for each.
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
