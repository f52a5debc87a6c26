package fakeauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An Issuer signs access tokens that anybody can check, by OpenID Connect Discovery
// and RFC 9068.
type Issuer struct {
	URL string

	mu    sync.Mutex
	keys  []jose.JSONWebKey
	asked map[string]int
}

// NewIssuer starts an issuer, which ends with the test.
func NewIssuer(t testing.TB) *Issuer {
	i := &Issuer{asked: make(map[string]int)}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.Rotate(t)
	return i
}

func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked[r.URL.Path]++
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer(w, http.StatusOK, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token"})
	case "/keys":
		set := jose.JSONWebKeySet{}
		for _, k := range i.keys {
			set.Keys = append(set.Keys, k.Public())
		}
		answer(w, http.StatusOK, set)
	default:
		http.NotFound(w, r)
	}
}

// Asked is how often a path was asked for.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

// Rotate adds a key, with which tokens are signed from then on.
func (i *Issuer) Rotate(t testing.TB) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, newKey(t))
}

func newKey(t testing.TB) jose.JSONWebKey {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

// Token signs claims, which replace those of a token for audience that names
// subject and is good for an hour.
func (i *Issuer) Token(t testing.TB, audience, subject string, claims map[string]any) string {
	i.mu.Lock()
	key := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: key}, i.claims(audience, subject, claims))
}

// Forged is a token as Token makes it, by a key that the issuer does not have.
func (i *Issuer) Forged(t testing.TB, audience, subject string) string {
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: newKey(t)}, i.claims(audience, subject, nil))
}

func (i *Issuer) claims(audience, subject string, more map[string]any) map[string]any {
	claims := map[string]any{"iss": i.URL, "aud": audience, "sub": subject, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	return claims
}

func sign(t testing.TB, key jose.SigningKey, claims map[string]any) string {
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
