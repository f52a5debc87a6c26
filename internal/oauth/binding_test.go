package oauth

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// A rogue is an authorization server that is somebody else's. It keeps what it is
// sent.
type rogue struct {
	*httptest.Server
	paths map[string]http.HandlerFunc // answers instead of its own

	mu  sync.Mutex
	got []string
}

func newRogue(t *testing.T) *rogue {
	t.Helper()
	r := &rogue{paths: make(map[string]http.HandlerFunc)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *rogue) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	_, secret, _ := req.BasicAuth()
	r.mu.Lock()
	r.got = append(r.got, fmt.Sprint(req.URL, secret, req.Header, string(body)))
	r.mu.Unlock()
	if h := r.paths[req.URL.Path]; h != nil {
		h(w, req)
		return
	}
	switch req.URL.Path {
	case "/.well-known/oauth-authorization-server":
		reply(w, http.StatusOK, r.metadata())
	case "/authorize":
		sendBack(w, req)
	case "/register":
		reply(w, http.StatusCreated, map[string]any{"client_id": "x"})
	case "/token":
		reply(w, http.StatusOK, map[string]any{"access_token": "y", "refresh_token": "z"})
	default:
		http.NotFound(w, req)
	}
}

// sendBack answers a sign-in page with a code at once.
func sendBack(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	http.Redirect(w, req, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (r *rogue) metadata() map[string]any {
	return map[string]any{
		"issuer": r.URL, "authorization_endpoint": r.URL + "/authorize", "token_endpoint": r.URL + "/token", "registration_endpoint": r.URL + "/register",
		"revocation_endpoint": r.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (r *rogue) noSecret(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.got {
		if strings.Contains(g, fakeauth.Secret) {
			t.Errorf("another authorization server got a secret: %s", g)
		}
	}
}

// A server that names another authorization server each time that it is asked
// brings none of them what belongs to another.
func TestOneDiscoveryForEachSignIn(t *testing.T) {
	for _, first := range []string{"rogue", "honest"} {
		t.Run(first+" first", func(t *testing.T) {
			w, bad := newWorld(t), newRogue(t)
			asked := 0
			const secret = fakeauth.Secret + "-of-client"
			w.remote.Set(func(b *fakeauth.Behaviour) {
				b.ClientID, b.ClientSecret = "by-hand", secret
				b.Issuers = func() string {
					asked++
					if (asked == 1) == (first == "rogue") {
						return bad.URL
					}
					return w.remote.Issuer
				}
			})
			w.server.Client = Client{ID: "by-hand", Secret: secret, Issuer: w.remote.Issuer}
			_, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
			if (err == nil) != (first == "honest") || asked != 1 {
				t.Errorf("Login: %v; the server was asked %d times", err, asked)
			}
			revoked, err := w.m.Logout(t.Context(), w.server)
			if revoked != (first == "honest") || w.remote.Counts().Revoked > 1 {
				t.Errorf("Logout: %v, %v", revoked, err)
			}
			bad.noSecret(t)
		})
	}
}

// The secret of a configured client stays with the authorization server that it
// was first used at, or that the configuration names.
func TestSecretStaysWithItsIssuer(t *testing.T) {
	w, bad := newWorld(t), newRogue(t)
	const secret = fakeauth.Secret + "-of-client"
	w.remote.Set(func(b *fakeauth.Behaviour) { b.ClientID, b.ClientSecret = "by-hand", secret })
	w.server.Client = Client{ID: "by-hand", Secret: secret}
	w.login()
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return bad.URL } })
	_, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
	if err == nil || !strings.Contains(err.Error(), "is for "+w.remote.Issuer) || !strings.Contains(err.Error(), "broker auth logout") {
		t.Errorf("Login at another authorization server: %v", err)
	}
	// Renewing and revoking go on at the first.
	w.clock.advance(2 * time.Hour)
	if err := w.call(w.pool(), "whoami"); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]Client{
		"another id":     {ID: "other", Secret: secret},
		"another issuer": {ID: "by-hand", Secret: secret, Issuer: bad.URL},
	} {
		w.clock.advance(2 * time.Hour)
		w.server.Client = change
		if err := w.call(w.pool(), "whoami"); err == nil || !strings.Contains(err.Error(), "has changed since the sign-in") {
			t.Errorf("%s: %v", name, err)
		}
		bad.noSecret(t)
	}
	if revoked, err := w.m.Logout(t.Context(), w.server); revoked || err != nil || w.remote.Counts().Revoked != 0 {
		t.Errorf("Logout of another client: %v, %v", revoked, err)
	}
}

// Records of older versions may have the revocation endpoint of one issuer and
// the tokens of another.
func TestOldRecordsAreRevokedOnlyWhereTheyCameFrom(t *testing.T) {
	w, bad := newWorld(t), newRogue(t)
	w.login()
	w.edit(func(r *record) { r.Bound, r.RevocationURL = false, bad.URL+"/revoke" })
	if revoked, err := w.m.Logout(t.Context(), w.server); revoked || err != nil {
		t.Errorf("Logout = %v, %v", revoked, err)
	}
	bad.noSecret(t)
}

// What a metadata document says of itself and of its endpoints is checked before
// anything is opened or sent.
func TestMetadataIsChecked(t *testing.T) {
	tests := []struct {
		key, value, want string
	}{
		{"issuer", "https://other.example", "not of"},
		{"authorization_endpoint", "https://login.example@evil.example/a", "name in front of the host"},
		{"authorization_endpoint", "javascript:alert(1)", "only pages at http and https"},
		{"authorization_endpoint", "https://evil.example/\u202e", "characters"},
		{"authorization_endpoint", "http://evil.example/", "is not https"},
		{"token_endpoint", "http://evil.example/", "is not https"},
		{"token_endpoint", "https://169.254.169.254/", "a link-local address"},
		{"registration_endpoint", "https://169.254.169.254/", "a link-local address"},
		{"revocation_endpoint", "https://user@evil.example/", "not an address"},
		{"code_challenge_methods_supported", "plain", "PKCE"},
	}
	for _, tt := range tests {
		t.Run(tt.key+" "+tt.value, func(t *testing.T) {
			w, as := newWorld(t), newRogue(t)
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return as.URL } })
			as.paths["/.well-known/oauth-authorization-server"] = func(w http.ResponseWriter, _ *http.Request) {
				m := as.metadata()
				if m[tt.key] = tt.value; tt.key == "code_challenge_methods_supported" {
					m[tt.key] = []string{tt.value}
				}
				reply(w, http.StatusOK, m)
			}
			_, err := w.tryLogin(LoginOptions{Open: func(page string) error {
				t.Errorf("%s was opened", page)
				return fakeauth.Browser(page)
			}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
	// A server elsewhere leads to nothing here.
	u, _ := url.Parse("https://203.0.113.9/mcp")
	for _, address := range []string{"http://127.0.0.1:1/a", "http://localhost/a", "https://10.0.0.1/a", "https://[::1]/a"} {
		d := &discovery{c: newClient(u), as: new(oauthex.AuthServerMeta)}
		d.as.AuthorizationEndpoint = "https://login.example/a"
		d.as.TokenEndpoint = address
		if err := d.checkEndpoints(); err == nil {
			t.Errorf("a token endpoint at %s is taken", address)
		}
		d.as.TokenEndpoint, d.as.AuthorizationEndpoint = "https://login.example/t", address
		if err := d.checkEndpoints(); err == nil {
			t.Errorf("a sign-in page at %s is taken", address)
		}
	}
}

// Whatever an authorization server answers, no error holds what it may have
// echoed, nor the query of an address.
func TestErrorsHoldNoSecrets(t *testing.T) {
	const s = fakeauth.Secret
	hang := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		path string
		h    http.HandlerFunc
		want string
	}{
		{"/register", say(400, `{"error":"`+s+`","error_description":"`+s+`"}`), "registration"},
		{"/register", say(500, s), "HTTP 500"},
		{"/register", say(201, `{"client_secret":"`+s+`"}`), "without a client"},
		{"/register", say(201, `"`+s), "without a client"},
		{"/register", hang, "registration"},
		{"/token", say(400, `{"error":"invalid_grant","error_description":"`+s+`"}`), "invalid_grant"},
		{"/token", say(502, s), "HTTP 502"},
		{"/token", say(200, `{"refresh_token":"`+s+`"}`), "without a token"},
		{"/token", say(200, `"`+s), "without a token"},
		{"/token", hang, "ask the authorization server"},
		{"/.well-known/oauth-authorization-server", say(200, `{"issuer":["`+s+`"]}`), "invalid JSON"},
		{"/.well-known/oauth-authorization-server", hang, "ask 127.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.want, func(t *testing.T) {
			w, as := newWorld(t), newRogue(t)
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return as.URL } })
			as.paths["/.well-known/oauth-authorization-server"] = func(w http.ResponseWriter, _ *http.Request) {
				m := as.metadata()
				m["token_endpoint"], m["registration_endpoint"] = as.URL+"/token?key="+s, as.URL+"/register?key="+s
				reply(w, http.StatusOK, m)
			}
			as.paths[tt.path] = tt.h
			// tryLogin looks for the secret in the error.
			if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

// Packed answers of authorization servers cost no memory.
func TestAnswersOfAuthorizationServersAreBounded(t *testing.T) {
	var blank bytes.Buffer // one member of a gzip stream, which may have many
	z := gzip.NewWriter(&blank)
	io.WriteString(z, strings.Repeat(" ", 1<<20))
	z.Close()
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/register", "/token"} {
		t.Run(path, func(t *testing.T) {
			w, as := newWorld(t), newRogue(t)
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return as.URL } })
			as.paths[path] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				for range 300 {
					if _, err := w.Write(blank.Bytes()); err != nil {
						return
					}
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
				t.Errorf("err = %v", err)
			}
			if got := (after.Sys - before.Sys) >> 20; got > 64 {
				t.Errorf("%d MiB were taken", got)
			}
		})
	}
	if c := newClient(&url.URL{Scheme: "https", Host: "as.example"}); c.Timeout != maxExchange {
		t.Errorf("an exchange may take %v", c.Timeout)
	}
}

// Answers of authorization servers and servers are read or refused, whatever is in
// them.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","expires_in":"3600","scope":"a b"}`), `Bearer resource_metadata="https://a.example/", scope="x y"`)
	f.Add([]byte(`{"issuer":"https://a.example","authorization_endpoint":"https://u@b/","token_endpoint":"\u0000"}`), `Bearer "`)
	f.Fuzz(func(t *testing.T, body []byte, challenge string) {
		r := new(record)
		if err := r.take(body, time.Now()); (err == nil) != (r.AccessToken != "") {
			t.Errorf("%q gives the token %q and %v", body, r.AccessToken, err)
		}
		scopes := challengedScopes(&http.Response{Header: http.Header{"Www-Authenticate": {challenge}}})
		for _, s := range slices.Concat(r.Scopes, scopes) {
			if s == "" || strings.ContainsAny(s, " \x1b\n\"\\") {
				t.Errorf("%q is a scope", s)
			}
		}
		d := &discovery{c: newClient(&url.URL{Scheme: "https", Host: "203.0.113.9"}), as: new(oauthex.AuthServerMeta)}
		if json.Unmarshal(body, d.as) == nil && d.checkEndpoints() == nil {
			if u, err := url.Parse(d.as.TokenEndpoint); err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "127.0.0.1" {
				t.Errorf("%q is taken for a token endpoint", d.as.TokenEndpoint)
			}
		}
	})
}
