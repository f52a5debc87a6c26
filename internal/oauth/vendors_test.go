package oauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// If the authorization server accepts only localhost, the browser returns to that; for
// a manually registered client, the configuration can set it.
func TestCallbackHost(t *testing.T) {
	host := func(m map[string]any) string {
		u, _ := url.Parse(m["redirect_uris"].([]any)[0].(string))
		return u.Hostname()
	}
	onlyLocalhost := func(m map[string]any) (int, map[string]any) {
		if host(m) != "localhost" {
			return http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"}
		}
		return http.StatusCreated, map[string]any{}
	}
	for name, tt := range map[string]struct {
		register func(m map[string]any) (int, map[string]any)
		client   Client
		want     string
	}{
		"usual":                        {nil, Client{}, "127.0.0.1"},
		"only localhost is registered": {onlyLocalhost, Client{}, "localhost"},
		"only localhost, and no scopes": {func(m map[string]any) (int, map[string]any) {
			if m["scope"] != nil {
				return http.StatusUnprocessableEntity, map[string]any{}
			}
			return onlyLocalhost(m)
		}, Client{}, "localhost"},
		"configured":                      {nil, Client{CallbackHost: "localhost"}, "localhost"},
		"configured, of a client by hand": {nil, Client{ID: "client", CallbackHost: "localhost"}, "localhost"},
		"configured the other way":        {onlyLocalhost, Client{CallbackHost: "127.0.0.1"}, ""},
		"nothing is accepted": {func(map[string]any) (int, map[string]any) {
			return http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"}
		}, Client{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vendor{register: tt.register}
			_, err := v.signIn(t, func(w *world) { w.server.Client = tt.client })
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), "invalid_redirect_uri") {
					t.Errorf("err = %v", err)
				}
				return
			}
			u, _ := url.Parse(v.asked.Get("redirect_uri"))
			if v.redeemed.Get("grant_type") != "authorization_code" || err != nil || u.Hostname() != tt.want || v.redeemed.Get("redirect_uri") != u.String() {
				t.Errorf("the browser was sent back to %s, %v, want %s", u, err, tt.want)
			}
		})
	}
}

// The configuration can set the resource of tokens, and omit it for an authorization
// server that refuses it.
func TestConfiguredResource(t *testing.T) {
	for resource, want := range map[string][]string{"": {"URL"}, "api://notes": {"api://notes"}, NoResource: nil} {
		v := &vendor{}
		w, err := v.signIn(t, func(w *world) { w.server.Client.Resource = resource })
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 {
			want[0] = strings.ReplaceAll(want[0], "URL", v.url())
		}
		if !slices.Equal(v.asked["resource"], want) || !slices.Equal(v.redeemed["resource"], want) {
			t.Errorf("%q: the page was asked for %q, the token endpoint for %q", resource, v.asked["resource"], v.redeemed["resource"])
		}
		w.clock.advance(2 * time.Hour)
		if err := w.call(w.pool(), "closed"); err != nil || !slices.Equal(v.redeemed["resource"], want) || v.redeemed.Get("grant_type") != "refresh_token" {
			t.Errorf("%q: renewing asks for %q, %v", resource, v.redeemed["resource"], err)
		}
	}
}

// A busy token endpoint does not end a sign-in, whatever error it returns.
func TestBusyTokenEndpoint(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
		ended  bool
	}{
		{429, "too_many_requests", false}, {429, "invalid_request", false}, {408, "timeout", false}, {500, "invalid_grant", false}, {503, "temporarily_unavailable", false},
		{400, "invalid_grant", true}, {400, "invalid_request", true}, {401, "invalid_client", true},
	} {
		var busy atomic.Bool
		v := &vendor{places: map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, _ *http.Request) {
			if busy.Load() {
				reply(w, tt.status, map[string]any{"error": tt.code})
				return
			}
			reply(w, http.StatusOK, map[string]any{"access_token": "y", "refresh_token": "z", "expires_in": 3600})
		}}}
		w, err := v.signIn(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		busy.Store(true)
		w.clock.advance(2 * time.Hour)
		if err := w.call(w.pool(), "closed"); err == nil {
			t.Fatal("a call without a token")
		}
		if st, err := w.m.Status(w.server); err != nil || st.SignedIn == tt.ended {
			t.Errorf("%d %s: Status = %+v, %v", tt.status, tt.code, st, err)
		}
	}
}

// A sign-in works for a server that allows connections and lists, and asks for the
// sign-in only when a tool is called.
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
			// Calls do not wait for the list after which it is ready.
			eventually.True(t, "a server with open tools is ready", func() bool { return p.Status()[0].State == upstream.StateReady })
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

// Servers with which users of other clients reported problems.
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
