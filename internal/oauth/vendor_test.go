package oauth

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// A vendor is a server with an authorization server that can imitate several vendors.
// Its zero value is a typical one.
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
	redeemed       url.Values // the last form of the token endpoint
	proofs         []string   // client authentication of each request to the token endpoint
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
	case r.Header.Get("Authorization") == "Bearer y" && methodOf(r).Method == "server/discover":
		reply(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": methodOf(r).ID, "error": map[string]any{"code": -32601, "message": "method not found"}})
	case r.Header.Get("Authorization") == "Bearer y" || v.isOpen(r):
		v.ServeHTTP(w, r)
	default:
		if v.challenge != "" {
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(v.challenge, "METADATA", v.server.URL+v.metadata))
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// An asked request is the subject of a request of MCP.
type asked struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name string }
}

// methodOf reads a request, which can be read again.
func methodOf(r *http.Request) (m asked) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	_ = json.Unmarshal(body, &m)
	return m
}

func (v *vendor) isOpen(r *http.Request) bool {
	if v.open == nil || r.Method != http.MethodPost {
		return false
	}
	m := methodOf(r)
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
		v.redeemed = r.PostForm
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
		reply(w, http.StatusOK, map[string]any{"access_token": "y", "token_type": "bearer", "refresh_token": "z", "expires_in": 3600})
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

// signIn signs in to a vendor's server and calls one of its tools.
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
