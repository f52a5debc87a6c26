package fakeauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An Issuer issues access tokens by OpenID Connect Discovery and RFC 9068, which anybody can
// check.
type Issuer struct {
	URL string

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	asked  map[string]int
	codes  map[string]issued
	id     map[string]any // claims of ID tokens
	secret string         // of clients
	t      testing.TB
}

// An issued code belongs to a browser whose cookie "person" names somebody, and whose cookie
// "groups" is a claim of the person's ID token.
type issued struct{ subject, groups, client, nonce, resource, redirect, challenge, scope string }

// NewIssuer starts an issuer, which ends with the test.
func NewIssuer(t testing.TB) *Issuer {
	i := &Issuer{asked: make(map[string]int), codes: make(map[string]issued), t: t}
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
	case "/authorize":
		i.authorize(w, r)
	case "/token":
		i.redeem(w, r)
	default:
		http.NotFound(w, r)
	}
}

// authorize signs in the person that the browser's cookie names.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	oidc := slices.Contains(strings.Fields(q.Get("scope")), "openid")
	if q.Get("code_challenge_method") != "S256" || !oidc && q.Get("resource") == "" || oidc && q.Get("nonce") == "" || cookie(r, "person") == "" {
		http.Error(w, "not a request to sign in", http.StatusBadRequest)
		return
	}
	code := newSecret("code")
	i.codes[code] = issued{cookie(r, "person"), cookie(r, "groups"), q.Get("client_id"), q.Get("nonce"), q.Get("resource"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("scope")}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode(), http.StatusFound)
}

// redeem exchanges a code for an access token.
func (i *Issuer) redeem(w http.ResponseWriter, r *http.Request) {
	_, secret, _ := r.BasicAuth()
	if secret == "" {
		secret = r.PostFormValue("client_secret")
	}
	if i.secret != "" && secret != i.secret {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	c, ok := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || c.redirect != r.PostFormValue("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	key := jose.SigningKey{Algorithm: jose.ES256, Key: i.keys[len(i.keys)-1]}
	tokens := map[string]any{"token_type": "Bearer", "expires_in": 3600,
		"access_token": sign(i.t, key, i.claims(c.resource, c.subject, map[string]any{"scope": c.scope}))}
	if c.nonce != "" {
		claims := map[string]any{"nonce": c.nonce, "groups": strings.Fields(c.groups)}
		maps.Copy(claims, i.id)
		tokens["id_token"] = sign(i.t, key, i.claims(c.client, c.subject, claims))
	}
	answer(w, http.StatusOK, tokens)
}

// Sign replaces claims of later ID tokens.
func (i *Issuer) Sign(id map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id = id
}

// Secret sets the secret that clients must present.
func (i *Issuer) Secret(secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.secret = secret
}

// Asked returns the number of requests for a path.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

// Rotate adds a key, which signs later tokens.
func (i *Issuer) Rotate(t testing.TB) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, newKey(t))
}

// Withdraw removes all keys except the newest.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-1:]
}

func newKey(t testing.TB) jose.JSONWebKey {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

// Token returns a token with claims, which replace those of a token for audience and subject that
// is valid for an hour.
func (i *Issuer) Token(t testing.TB, audience, subject string, claims map[string]any) string {
	i.mu.Lock()
	key := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: key}, i.claims(audience, subject, claims))
}

// Typed returns a token like Token, of another type; "" omits the type.
func (i *Issuer) Typed(t testing.TB, typ, audience, subject string, claims map[string]any) string {
	i.mu.Lock()
	key := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	return signTyped(t, typ, jose.SigningKey{Algorithm: jose.ES256, Key: key}, i.claims(audience, subject, claims))
}

// Forged returns a token like Token, signed with a key that the issuer does not have.
func (i *Issuer) Forged(t testing.TB, audience, subject string) string {
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: newKey(t)}, i.claims(audience, subject, nil))
}

func (i *Issuer) claims(audience, subject string, more map[string]any) map[string]any {
	claims := map[string]any{"iss": i.URL, "aud": audience, "sub": subject, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	return claims
}

func sign(t testing.TB, key jose.SigningKey, claims map[string]any) string {
	return signTyped(t, "at+jwt", key, claims)
}

func signTyped(t testing.TB, typ string, key jose.SigningKey, claims map[string]any) string {
	o := &jose.SignerOptions{}
	if typ != "" {
		o = o.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(key, o)
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
