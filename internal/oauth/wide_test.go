package oauth

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// A vendor is a server with an authorization server, as vendors differ in them. Its
// zero value is a usual one.
type vendor struct {
	partly
	path      string   // of the endpoint; "/mcp" if it is empty
	open      []string // what needs no token; nothing if it is nil
	challenge string   // the header of a 401; METADATA is replaced by the address of the metadata
	metadata  string   // the path of the metadata of the server
	resource  string   // in it; URL is replaced by the address of the server, HOST by its host
	methods   []string // of the token endpoint
	register  func(m map[string]any) (status int, more map[string]any)
	as        func(v *vendor, m map[string]any) // changes the metadata of the authorization server
	places    map[string]http.HandlerFunc       // of either server, before all else

	server, issuer *httptest.Server
	mu             sync.Mutex
	registered     []map[string]any
	asked          url.Values // of the sign-in page
	proofs         []string   // how the token endpoint was told who the client is
}

func (v *vendor) start(t *testing.T) {
	t.Helper()
	if v.path == "" {
		v.path = "/mcp"
	}
	if v.metadata == "" {
		v.metadata = wellKnownResource + strings.TrimSuffix(v.path, "/")
	}
	if v.resource == "" {
		v.resource = "URL"
	}
	v.partly.open = []string{"initialize", "notifications/initialized", "tools/list", "free", "closed"}
	v.server, v.issuer = httptest.NewServer(http.HandlerFunc(v.serve)), httptest.NewServer(http.HandlerFunc(v.authorize))
	t.Cleanup(func() { v.server.Close(); v.issuer.Close() })
}

func (v *vendor) url() string { return v.server.URL + v.path }

func (v *vendor) serve(w http.ResponseWriter, r *http.Request) {
	if h := v.places[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	switch {
	case r.URL.Path == v.metadata:
		host := strings.TrimPrefix(v.server.URL, "http://")
		resource := strings.NewReplacer("URL", v.url(), "HOST", host).Replace(v.resource)
		reply(w, http.StatusOK, map[string]any{"resource": resource, "authorization_servers": []string{v.issuer.URL}, "scopes_supported": []string{"read", "write"}})
	case r.URL.Path != v.path:
		http.NotFound(w, r)
	case r.Header.Get("Authorization") == "Bearer y" || v.isOpen(r):
		v.ServeHTTP(w, r)
	default:
		if v.challenge != "" {
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(v.challenge, "METADATA", v.server.URL+v.metadata))
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (v *vendor) isOpen(r *http.Request) bool {
	if v.open == nil || r.Method != http.MethodPost {
		return false
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	var m struct {
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &m)
	return slices.Contains(v.open, m.Method) || m.Method == "tools/call" && slices.Contains(v.open, m.Params.Name)
}

func (v *vendor) authorize(w http.ResponseWriter, r *http.Request) {
	if h := v.places[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch r.URL.Path {
	case wellKnownOAuth:
		reply(w, http.StatusOK, v.asMetadata())
	case "/authorize":
		v.asked = r.URL.Query()
		sendBack(w, r)
	case "/register":
		m := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&m)
		status, more := http.StatusCreated, map[string]any{"token_endpoint_auth_method": m["token_endpoint_auth_method"]}
		if m["token_endpoint_auth_method"] != "none" {
			more["client_secret"] = fakeauth.Secret
		}
		if v.register != nil {
			status, more = v.register(m)
		}
		if status == http.StatusCreated {
			v.registered = append(v.registered, m)
			more["client_id"] = "client"
		}
		reply(w, status, more)
	case "/token":
		id, secret, basic := r.BasicAuth()
		_ = r.ParseForm()
		switch {
		case basic && id == "client" && secret == fakeauth.Secret && r.PostForm.Get("client_secret") == "":
			v.proofs = append(v.proofs, "client_secret_basic")
		case !basic && r.PostForm.Get("client_id") == "client" && r.PostForm.Get("client_secret") == fakeauth.Secret:
			v.proofs = append(v.proofs, "client_secret_post")
		case !basic && r.PostForm.Get("client_id") == "client" && !r.PostForm.Has("client_secret"):
			v.proofs = append(v.proofs, "none")
		}
		if n := len(v.proofs); n == 0 || v.methods != nil && !slices.Contains(v.methods, v.proofs[n-1]) {
			reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
			return
		}
		reply(w, http.StatusOK, map[string]any{"access_token": "y", "token_type": "bearer"})
	default:
		http.NotFound(w, r)
	}
}

func (v *vendor) asMetadata() map[string]any {
	m := map[string]any{"issuer": v.issuer.URL, "authorization_endpoint": v.issuer.URL + "/authorize", "token_endpoint": v.issuer.URL + "/token",
		"registration_endpoint": v.issuer.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}
	if v.methods != nil {
		m["token_endpoint_auth_methods_supported"] = v.methods
	}
	if v.as != nil {
		v.as(v, m)
	}
	return m
}

// signIn signs in to a vendor's server and calls a tool of it.
func (v *vendor) signIn(t *testing.T, change func(*world)) (*world, error) {
	t.Helper()
	if v.server == nil {
		v.start(t)
	}
	w := newWorld(t)
	w.server.URL = v.url()
	if change != nil {
		change(w)
	}
	_, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
	if err == nil {
		err = w.call(w.pool(), "closed")
	}
	return w, err
}

// The resource of the metadata is the server, however its address is written, and is
// named to the authorization server as the metadata has it.
func TestResourceIsTheServer(t *testing.T) {
	for _, tt := range []struct {
		name, path, metadata, resource, challenge string
		refused                                   bool
	}{
		{"as it is", "/mcp", "", "URL", "", false},
		{"with a slash at the end", "/mcp", "", "URL/", "", false},
		{"without one", "/mcp/", "", "http://HOST/mcp", "", false},
		{"of a root, with a slash", "/", "", "http://HOST/", "", false},
		{"of a root, without one", "/", "", "http://HOST", "", false},
		{"identical at the well-known place of the root", "/mcp", wellKnownResource, "URL", "", false},
		{"scheme in capitals", "/mcp", "", "HTTP://HOST/mcp", "", false},
		{"where the 401 says", "/mcp", "/meta.json", "URL/", `Bearer resource_metadata="METADATA"`, false},
		{"address without quotes", "/mcp", "/meta.json", "URL", `Bearer realm=x, resource_metadata=METADATA`, false},
		{"address without a host", "/mcp", "/meta.json", "URL", `Bearer resource_metadata="/meta.json"`, false},
		{"of another scheme", "/mcp", "/meta.json", "URL", `DPoP algs="ES256", Bearer error="invalid_token", resource_metadata="METADATA"`, false},
		{"the host, said at its well-known place", "/mcp", wellKnownResource, "http://HOST", "", false},
		{"the host, said at the place for the path", "/mcp", "", "http://HOST/", "", false},
		{"the folder", "/one/mcp", "", "http://HOST/one", "", false},
		{"the host, said by the path itself", "/mcp", "/mcp/meta.json", "http://HOST/", `Bearer resource_metadata="METADATA"`, true},
		{"a neighbour", "/mcp", "", "http://HOST/mc", "", true},
		{"one below", "/mcp", "", "http://HOST/mcp/more", "", true},
		{"another host", "/mcp", "", "http://example.com/mcp", "", true},
		{"another port", "/mcp", "", "http://127.0.0.1:1/mcp", "", true},
		{"none", "/mcp", "", "not an address", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &vendor{path: tt.path, metadata: tt.metadata, resource: tt.resource, challenge: tt.challenge}
			_, err := v.signIn(t, nil)
			if tt.refused {
				if err == nil || !strings.Contains(err.Error(), "that of another resource") {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("URL", v.url(), "HOST", strings.TrimPrefix(v.server.URL, "http://")).Replace(tt.resource)
			if got := v.asked.Get("resource"); got != want {
				t.Errorf("resource %q was asked for, want %q", got, want)
			}
		})
	}
	for _, tt := range []struct {
		resource, server string
		want             bool
	}{
		{"https://mcp.example.com/mcp", "https://MCP.Example.com/mcp", true},
		{"https://mcp.example.com:443/mcp", "https://mcp.example.com/mcp", true},
		{"https://mcp.example.com/mcp", "https://mcp.example.com:443/mcp/", true},
		{"http://mcp.example.com", "http://mcp.example.com:80/", true},
		{"https://mcp.example.com:80/mcp", "https://mcp.example.com/mcp", false},
		{"https://mcp.example.com/MCP", "https://mcp.example.com/mcp", false},
		{"https://mcp.example.com/mcp?tenant=a", "https://mcp.example.com/mcp?tenant=b", false},
		{"https://mcp.example.com/mcp?tenant=a", "https://mcp.example.com/mcp?tenant=a", true},
		{"https://user@mcp.example.com/mcp", "https://mcp.example.com/mcp", false},
		{"http://mcp.example.com/mcp", "https://mcp.example.com/mcp", false},
		{"https://mcp.example.com.evil.example/mcp", "https://mcp.example.com/mcp", false},
		{"", "", true},
	} {
		if got := isResource(tt.resource, "https://elsewhere.example/", tt.server); got != tt.want {
			t.Errorf("isResource(%q, …, %q) = %v", tt.resource, tt.server, got)
		}
	}
}

// The broker registers with a method that the token endpoint offers, and uses that.
func TestAuthenticationMethodThatIsOffered(t *testing.T) {
	for _, tt := range []struct {
		name    string
		methods []string
		answer  map[string]any // of the registration, beside the id
		want    string
	}{
		{"basic alone", []string{"client_secret_basic"}, nil, "client_secret_basic"},
		{"post alone", []string{"client_secret_post"}, nil, "client_secret_post"},
		{"none alone", []string{"none"}, nil, "none"},
		{"all", []string{"private_key_jwt", "client_secret_post", "client_secret_basic", "none"}, nil, "none"},
		{"nothing is said", nil, nil, "none"},
		{"a secret, and no method in the answer", []string{"client_secret_post"}, map[string]any{"client_secret": fakeauth.Secret}, "client_secret_post"},
		{"a secret that nobody asked for", nil, map[string]any{"client_secret": fakeauth.Secret}, "client_secret_basic"},
		{"another method than asked for", nil, map[string]any{"client_secret": fakeauth.Secret, "token_endpoint_auth_method": "client_secret_post"}, "client_secret_post"},
		{"none, and a secret all the same", []string{"none"}, map[string]any{"client_secret": fakeauth.Secret, "token_endpoint_auth_method": "none"}, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &vendor{methods: tt.methods}
			if tt.answer != nil {
				v.register = func(map[string]any) (int, map[string]any) { return http.StatusCreated, tt.answer }
			}
			if _, err := v.signIn(t, nil); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(v.proofs); got != "["+tt.want+"]" {
				t.Errorf("the client said who it is by %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("none that the broker has", func(t *testing.T) {
		v := &vendor{methods: []string{"private_key_jwt", "tls_client_auth"}}
		if _, err := v.signIn(t, nil); err == nil || !strings.Contains(err.Error(), "private_key_jwt") || len(v.registered) != 0 {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a secret is needed and not given", func(t *testing.T) {
		v := &vendor{methods: []string{"client_secret_post"}, register: func(map[string]any) (int, map[string]any) { return http.StatusCreated, map[string]any{} }}
		if _, err := v.signIn(t, nil); err == nil || !strings.Contains(err.Error(), "gave no secret") {
			t.Errorf("err = %v", err)
		}
	})
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		t.Run("a client of the configuration, "+method, func(t *testing.T) {
			v := &vendor{methods: []string{method}}
			if _, err := v.signIn(t, func(w *world) { w.server.Client = Client{ID: "client", Secret: fakeauth.Secret} }); err != nil || fmt.Sprint(v.proofs) != "["+method+"]" {
				t.Errorf("%s, %v", v.proofs, err)
			}
		})
	}
}

// Some servers give a client only the scopes that it was registered with, some refuse a
// registration without scopes, and some one with them.
func TestRegistrationSaysTheScopes(t *testing.T) {
	refused := map[string]any{"error": "invalid_client_metadata"}
	for name, register := range map[string]func(m map[string]any) (int, map[string]any){
		"scopes are needed": func(m map[string]any) (int, map[string]any) {
			if m["scope"] != "read write" {
				return http.StatusBadRequest, refused
			}
			return http.StatusCreated, map[string]any{}
		},
		"scopes are refused": func(m map[string]any) (int, map[string]any) {
			if m["scope"] != nil {
				return http.StatusBadRequest, refused
			}
			return http.StatusCreated, map[string]any{}
		},
		"the answer has fewer": func(map[string]any) (int, map[string]any) {
			return http.StatusCreated, map[string]any{"scope": "read"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vendor{register: register}
			if _, err := v.signIn(t, nil); err != nil || v.asked.Get("scope") != "read write" {
				t.Errorf("scope %q, %v", v.asked.Get("scope"), err)
			}
		})
	}
	t.Run("a client that is kept is registered again for more", func(t *testing.T) {
		v := &vendor{}
		v.start(t)
		w := newWorld(t)
		w.server.URL = v.url()
		w.m.registered = w.m.store.docs
		for i, scopes := range [][]string{{"read"}, {"read"}, {"read", "admin"}, {"admin"}} {
			w.server.Client.Scopes = scopes
			if _, _, err := w.m.Begin(t.Context(), w.server, "https://broker.example/back", "state"); err != nil {
				t.Fatal(err)
			}
			if want := []int{1, 1, 2, 2}[i]; len(v.registered) != want {
				t.Errorf("%s: %d clients, want %d", scopes, len(v.registered), want)
			}
		}
	})
}

// A server that lets everybody connect and list, and says only when a tool is called
// where to sign in, is signed in to after that.
func TestSignInThatOnlyACallAsksFor(t *testing.T) {
	everybody := []string{"initialize", "notifications/initialized", "tools/list", "free"}
	for name, header := range map[string]string{
		"metadata and scope":  `Bearer realm="notes", resource_metadata="METADATA", scope="notes:read"`,
		"without quotes":      `Bearer resource_metadata=METADATA, scope="notes:read"`,
		"scope first":         `Bearer error="invalid_token", scope="notes:read", resource_metadata="METADATA"`,
		"two challenges":      `Basic realm="old", Bearer scope="notes:read", resource_metadata="METADATA"`,
		"lower case and tabs": "bearer scope=\"notes:read\",\tresource_metadata=\"METADATA\"",
	} {
		t.Run(name, func(t *testing.T) {
			v := &vendor{open: everybody, challenge: header, metadata: "/meta/resource.json"}
			v.start(t)
			w := newWorld(t)
			w.server.URL = v.url()
			if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), "call that tool first") {
				t.Errorf("Login before a call: %v", err)
			}
			p := w.pool()
			if err := w.call(p, "free"); err != nil {
				t.Fatal(err)
			}
			connected := v.sent("initialize")
			ce := w.wantSignIn(w.call(p, "closed"))
			if ce.Err.Error() != "needs sign-in for the tool closed" {
				t.Errorf("err = %v", ce.Err)
			}
			if st := p.Status()[0]; st.State != upstream.StateReady {
				t.Errorf("a server with open tools is %s", st.State)
			}
			if err := w.call(p, "free"); err != nil {
				t.Errorf("an open tool after that: %v", err)
			}
			if n := v.sent("initialize") - connected; n != 0 {
				t.Errorf("the server was connected %d times more", n)
			}
			if st, err := w.m.Status(w.server); err != nil || st.SignedIn || st.Stored != "" {
				t.Errorf("Status = %+v, %v", st, err)
			}
			if _, err := w.m.Logout(t.Context(), w.server); err != ErrNotSignedIn {
				t.Errorf("Logout = %v", err)
			}
			for range 2 { // in another process, and after signing out
				w.m = w.manager()
				w.login()
				if got := v.asked.Get("scope"); got != "notes:read" {
					t.Errorf("scope %q was asked for", got)
				}
				if err := w.call(p, "closed"); err != nil {
					t.Error(err)
				}
				if _, err := w.m.Logout(t.Context(), w.server); err != nil {
					t.Error(err)
				}
			}
			w.ring.err = nil // and with a keyring
			w.login()
			if err := w.call(w.pool(), "closed"); err != nil {
				t.Error(err)
			}
		})
	}
}

// What people who use other clients have reported of their servers.
func TestServersThatOtherClientsCannotSignInTo(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html>")
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	tests := map[string]func(v *vendor){
		"the issuer has a slash at the end": func(v *vendor) {
			v.as = func(v *vendor, m map[string]any) { m["issuer"] = v.issuer.URL + "/" }
		},
		"the metadata is at OpenID Connect's place, and the other answers 500": func(v *vendor) {
			v.places = map[string]http.HandlerFunc{wellKnownOAuth: status(500), "/.well-known/openid-configuration": func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, v.asMetadata()) }}
		},
		"unknown addresses are a page": func(v *vendor) {
			v.metadata = wellKnownResource
			v.places = map[string]http.HandlerFunc{wellKnownResource + "/mcp": page}
		},
		"one well-known place wants a sign-in itself": func(v *vendor) {
			v.metadata = wellKnownResource
			v.places = map[string]http.HandlerFunc{wellKnownResource + "/mcp": status(401)}
		},
		"the 401 names metadata that is not there": func(v *vendor) {
			v.challenge = `Bearer resource_metadata="http://127.0.0.1:1/gone"`
		},
		"documents without a type": func(v *vendor) {
			v.places = map[string]http.HandlerFunc{wellKnownOAuth: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "binary/octet-stream")
				_ = json.NewEncoder(w).Encode(v.asMetadata())
			}}
		},
		"no metadata of the server": func(v *vendor) {
			v.metadata = "/nowhere"
			v.places = map[string]http.HandlerFunc{wellKnownOAuth: func(w http.ResponseWriter, _ *http.Request) {
				m := v.asMetadata()
				m["issuer"], m["authorization_endpoint"], m["token_endpoint"], m["registration_endpoint"] = v.server.URL, v.server.URL+"/a", v.server.URL+"/t", v.server.URL+"/r"
				reply(w, 200, m)
			}, "/a": sendBack, "/r": func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"client_id": "client"}) },
				"/t": func(w http.ResponseWriter, _ *http.Request) {
					reply(w, 200, map[string]any{"access_token": "y", "expires_in": "3600", "token_type": "BEARER"})
				}}
		},
		"PKCE is not mentioned, and the configuration names the issuer": func(v *vendor) {
			v.as = func(_ *vendor, m map[string]any) { delete(m, "code_challenge_methods_supported") }
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			v := &vendor{}
			change(v)
			_, err := v.signIn(t, func(w *world) {
				if strings.Contains(name, "names the issuer") {
					w.server.Client.Issuer = v.issuer.URL
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("the metadata names another issuer, which agrees", func(t *testing.T) {
		front := newRogue(t)
		v := &vendor{}
		front.paths[wellKnownOAuth] = func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, v.asMetadata()) }
		v.places = map[string]http.HandlerFunc{wellKnownResource + "/mcp": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, map[string]any{"resource": v.url(), "authorization_servers": []string{front.URL}})
		}}
		var named string
		v.start(t)
		w := newWorld(t)
		w.server.URL = v.url()
		if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser, Issuer: func(of string) { named = of }}); err != nil || named != v.issuer.URL {
			t.Errorf("issuer %q, %v", named, err)
		}
	})
	t.Run("one of two authorization servers is the configuration's", func(t *testing.T) {
		other := newRogue(t)
		v := &vendor{}
		v.places = map[string]http.HandlerFunc{wellKnownResource + "/mcp": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, map[string]any{"resource": v.url(), "authorization_servers": []string{other.URL, v.issuer.URL}})
		}}
		if _, err := v.signIn(t, func(w *world) { w.server.Client.Issuer = v.issuer.URL }); err != nil {
			t.Error(err)
		}
	})
	t.Run("PKCE is not mentioned", func(t *testing.T) {
		v := &vendor{as: func(_ *vendor, m map[string]any) { delete(m, "code_challenge_methods_supported") }}
		if _, err := v.signIn(t, nil); err == nil || !strings.Contains(err.Error(), `"issuer" in "oauth"`) {
			t.Errorf("err = %v", err)
		}
	})
}
