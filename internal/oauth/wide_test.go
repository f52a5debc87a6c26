package oauth

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// The resource in the metadata is the server, however its address is spelled, and is
// sent to the authorization server as the metadata spells it.
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
				if err == nil || !strings.Contains(err.Error(), "is for another resource") {
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

// Some servers give a client only the scopes of its registration, some refuse a
// registration without scopes, and some one with scopes.
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
