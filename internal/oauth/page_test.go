package oauth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

const wellKnownOAuth = "/.well-known/oauth-authorization-server"

// sends makes r serve metadata, modified by change, at an address.
func (r *rogue) sends(path string, change func(m map[string]any)) {
	r.paths[path] = func(w http.ResponseWriter, _ *http.Request) {
		m := r.metadata()
		change(m)
		reply(w, http.StatusOK, m)
	}
}

func notThere(w http.ResponseWriter, req *http.Request) { http.NotFound(w, req) }

// A sign-in page of one authorization server is not opened if its codes would go to
// another, wherever the metadata of the page's host is.
func TestPageOfAnotherIssuerIsRefused(t *testing.T) {
	tests := map[string]struct {
		page  string
		setUp func(honest *rogue)
		want  string
	}{
		"metadata at the root": {"/authorize", func(*rogue) {}, "is that of http"},
		"metadata of a path, as GitHub has it": {"/login/oauth/authorize", func(honest *rogue) {
			honest.paths[wellKnownOAuth] = notThere
			honest.sends(wellKnownOAuth+"/login/oauth", func(m map[string]any) { m["issuer"] = honest.URL + "/login/oauth" })
		}, "/login/oauth, but the codes"},
		"metadata of a tenant, as Microsoft has it": {"/tenant/oauth2/v2.0/authorize", func(honest *rogue) {
			honest.paths[wellKnownOAuth] = notThere
			honest.sends("/tenant/.well-known/openid-configuration", func(m map[string]any) { m["issuer"] = "https://sts.example/tenant/" })
		}, "is that of https://sts.example/tenant/"},
		"metadata of a realm": {"/realms/one/protocol/openid-connect/auth", func(honest *rogue) {
			honest.paths[wellKnownOAuth] = notThere
			honest.sends("/.well-known/openid-configuration/realms/one", func(m map[string]any) { m["issuer"] = honest.URL + "/realms/one" })
		}, "/realms/one, but the codes"},
		"metadata without a type": {"/authorize", func(honest *rogue) {
			honest.paths[wellKnownOAuth] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = w.Write([]byte(`{"issuer":"https://id.example"}`))
			}
		}, "is that of https://id.example"},
		"a host that is away": {"/authorize", func(honest *rogue) { honest.Close() }, "cannot be determined"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, evil, honest := newWorld(t), newRogue(t), newRogue(t)
			tt.setUp(honest)
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return evil.URL } })
			evil.sends(wellKnownOAuth, func(m map[string]any) { m["authorization_endpoint"] = honest.URL + tt.page })
			_, err := w.tryLogin(LoginOptions{Open: func(page string) error { t.Errorf("%s was opened", page); return fakeauth.Browser(page) }})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), evil.URL) || !strings.Contains(err.Error(), `"issuer"`) {
				t.Errorf("err = %v, want %q, the issuer and what allows it", err, tt.want)
			}
			if _, _, err := w.m.Begin(t.Context(), w.server, "https://broker.example/back", "state"); err == nil {
				t.Error("a sign-in for a person begins there")
			}
		})
	}
	t.Run("a revocation endpoint elsewhere", func(t *testing.T) {
		w, evil, honest := newWorld(t), newRogue(t), newRogue(t)
		w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return evil.URL } })
		evil.sends(wellKnownOAuth, func(m map[string]any) {
			m["authorization_endpoint"], m["token_endpoint"] = honest.URL+"/authorize", honest.URL+"/token"
		})
		if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), "this is refused") {
			t.Errorf("err = %v", err)
		}
	})
}

// A sign-in page on another host than the issuer works if that host does not
// contradict, and the person sees the issuer.
func TestPagesOnAnotherHost(t *testing.T) {
	tests := map[string]func(w *world, issuer, page *rogue, m map[string]any){
		"a host without metadata, as Cognito has it": func(_ *world, _, page *rogue, _ map[string]any) {
			page.paths[wellKnownOAuth] = notThere
		},
		"a host with a web site only": func(_ *world, _, page *rogue, _ map[string]any) {
			page.paths[wellKnownOAuth] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<html>"))
			}
		},
		"a host that has the same issuer, as with a domain of one's own": func(_ *world, issuer, page *rogue, _ map[string]any) {
			page.sends(wellKnownOAuth, func(m map[string]any) { m["issuer"] = issuer.URL + "/" })
		},
		"a host that has the same issuer for the folder only": func(_ *world, issuer, page *rogue, m map[string]any) {
			m["authorization_endpoint"] = page.URL + "/tenant/authorize"
			page.paths["/tenant/authorize"] = page.paths["/authorize"]
			page.sends("/tenant/.well-known/openid-configuration", func(m map[string]any) { m["issuer"] = issuer.URL })
		},
		"codes go to the host of the page": func(_ *world, _, page *rogue, m map[string]any) {
			m["token_endpoint"] = page.URL + "/token"
			delete(m, "revocation_endpoint")
		},
		"codes go where the host of the page says, as Meta has it": func(_ *world, issuer, page *rogue, m map[string]any) {
			page.sends(wellKnownOAuth, func(m map[string]any) { m["token_endpoint"] = issuer.URL + "/token" })
		},
		"the page is at the issuer and the token endpoint is not, as Google has it": func(_ *world, issuer, page *rogue, m map[string]any) {
			m["authorization_endpoint"], m["token_endpoint"] = issuer.URL+"/authorize", page.URL+"/token"
		},
		"the configuration names the issuer": func(w *world, issuer, _ *rogue, _ map[string]any) {
			w.server.Client.Issuer = issuer.URL + "/"
		},
	}
	for name, setUp := range tests {
		t.Run(name, func(t *testing.T) {
			w, issuer, page := newWorld(t), newRogue(t), newRogue(t)
			page.paths["/authorize"] = sendBack
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return issuer.URL } })
			m := issuer.metadata()
			m["authorization_endpoint"] = page.URL + "/authorize"
			setUp(w, issuer, page, m)
			issuer.paths[wellKnownOAuth] = func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, m) }
			var named string
			st, err := w.tryLogin(LoginOptions{Open: func(page string) error {
				if named != issuer.URL {
					t.Errorf("the issuer %q was named, want %s", named, issuer.URL)
				}
				return fakeauth.Browser(page)
			}, Issuer: func(of string) { named = of }})
			if err != nil || !st.SignedIn {
				t.Errorf("Login = %+v, %v", st, err)
			}
			p, _, err := w.m.Begin(t.Context(), w.server, "https://broker.example/back", "state")
			if err != nil || p.Issuer != issuer.URL {
				t.Errorf("Begin = %+v, %v", p, err)
			}
		})
	}
}

// The configured issuer is the only one, also for a broker that registers itself.
func TestConfiguredIssuer(t *testing.T) {
	w, other := newWorld(t), newRogue(t)
	w.server.Client.Issuer = w.remote.Issuer
	w.login()
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return other.URL } })
	if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), `"issuer" in its "oauth" has `+w.remote.Issuer) {
		t.Errorf("err = %v", err)
	}
}

// Responses must name the authorization server if it announces that (RFC 9207); a
// trailing slash makes no difference.
func TestAnswersNameTheirIssuer(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		iss        func(issuer string) string
	}{
		{"none", "does not say which", func(string) string { return "" }},
		{"another", "does not match expected issuer", func(string) string { return "https://evil.example" }},
		{"another path", "does not match expected issuer", func(issuer string) string { return issuer + "/tenant" }},
		{"its own", "", func(issuer string) string { return issuer }},
		{"its own with a slash", "", func(issuer string) string { return issuer + "/" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, as := newWorld(t), newRogue(t)
			w.remote.Set(func(b *fakeauth.Behaviour) { b.Issuers = func() string { return as.URL } })
			as.sends(wellKnownOAuth, func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = true })
			as.paths["/authorize"] = func(w http.ResponseWriter, req *http.Request) {
				q := req.URL.Query()
				back := url.Values{"code": {"c"}, "state": {q.Get("state")}}
				if iss := tt.iss(as.URL); iss != "" {
					back.Set("iss", iss)
				}
				http.Redirect(w, req, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
			}
			_, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
			if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}
