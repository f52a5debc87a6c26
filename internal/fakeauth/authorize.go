package fakeauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authorizationServer serves metadata, registration, the sign-in page, tokens
// and revocation.
func (s *Server) authorizationServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// refuse sends an error of RFC 6749. Its description contains text that a careless client would
// print.
func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]string{"error": code, "error_description": "you sent " + Secret})
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	m := oauthex.AuthServerMeta{
		Issuer: s.Issuer, AuthorizationEndpoint: s.Issuer + "/authorize", TokenEndpoint: s.Issuer + "/token",
		RevocationEndpoint: s.Issuer + "/revoke", JWKSURI: s.Issuer + "/jwks",
		ResponseTypesSupported: []string{"code"}, CodeChallengeMethodsSupported: []string{"S256"},
		AuthorizationResponseIssParameterSupported: true,
		ClientIDMetadataDocumentSupported:          s.b.MetadataClient != "",
	}
	if !s.b.NoRegistration {
		m.RegistrationEndpoint = s.Issuer + "/register"
	}
	answer(w, http.StatusOK, m)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var m oauthex.ClientRegistrationMetadata
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.RedirectURIs) == 0 || !slices.Contains(m.GrantTypes, "refresh_token") {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata")
		return
	}
	s.counts.Registered++
	id := "client-" + rand.Text()
	s.clients[id] = client{redirects: m.RedirectURIs}
	answer(w, http.StatusCreated, &oauthex.ClientRegistrationResponse{ClientRegistrationMetadata: m, ClientID: id})
}

// cookie returns the value of a cookie of the browser, or "".
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// client returns a client and whether the redirect address belongs to it.
func (s *Server) client(id, redirect string) bool {
	if s.b.ClientID != "" && id == s.b.ClientID {
		return true
	}
	if s.b.MetadataClient != "" && id == s.b.MetadataClient {
		return true
	}
	c, ok := s.clients[id]
	return ok && slices.Contains(c.redirects, redirect)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect := q.Get("redirect_uri")
	if !s.client(q.Get("client_id"), redirect) || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") != s.URL {
		http.Error(w, "not a request to sign in", http.StatusBadRequest)
		return
	}
	s.counts.SignIns++
	back := url.Values{"state": {q.Get("state")}, "iss": {s.Issuer}}
	if s.b.State != "" {
		back.Set("state", s.b.State)
	}
	if s.b.Issuer != "" {
		back.Set("iss", s.b.Issuer)
	}
	if s.b.Deny {
		back.Set("error", "access_denied")
		back.Set("error_description", "the user said no\x1b[31m\n\u202e")
	} else {
		value := newSecret("code")
		s.codes[value] = code{
			grant:     grant{family: rand.Text(), account: cookie(r, "account"), client: q.Get("client_id"), scopes: q.Get("scope")},
			challenge: q.Get("code_challenge"), redirect: redirect,
		}
		back.Set("code", value)
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

// authenticate identifies the client that sends a form.
func (s *Server) authenticate(r *http.Request) (id string, ok bool) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if s.b.ClientID != "" && id == s.b.ClientID {
		return id, secret == s.b.ClientSecret
	}
	if s.b.MetadataClient != "" && id == s.b.MetadataClient {
		return id, true
	}
	c, known := s.clients[id]
	return id, known && c.secret == secret
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, ok := s.authenticate(r)
	switch {
	case s.b.Down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case !ok:
		refuse(w, http.StatusUnauthorized, "invalid_client")
	case r.PostFormValue("resource") != s.URL:
		refuse(w, http.StatusBadRequest, "invalid_target")
	case r.PostFormValue("grant_type") == "authorization_code":
		c, known := s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !known || c.client != id || c.redirect != r.PostFormValue("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		s.counts.Exchanged++
		s.issue(w, c.grant)
	case r.PostFormValue("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange" && s.b.Subject != nil:
		account, good := s.b.Subject(r.PostFormValue("subject_token"))
		if !good {
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		s.counts.Traded++
		s.issue(w, grant{family: rand.Text(), account: account, client: id, scopes: r.PostFormValue("scope")})
	case r.PostFormValue("grant_type") == "client_credentials" && s.b.Subject != nil:
		s.issue(w, grant{family: rand.Text(), account: "the broker", client: id})
	case r.PostFormValue("grant_type") == "refresh_token":
		t := s.refresh[r.PostFormValue("refresh_token")]
		switch {
		case t == nil || t.client != id:
			refuse(w, http.StatusBadRequest, "invalid_grant")
		case t.used:
			s.counts.Reused++
			s.end(t.family)
			refuse(w, http.StatusBadRequest, "invalid_grant")
		default:
			s.counts.Refreshed++
			t.used = true
			s.issue(w, t.grant)
		}
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type")
	}
}

// issue sends new tokens.
func (s *Server) issue(w http.ResponseWriter, g grant) {
	lifetime := s.b.Lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	g.scopes = strings.Join(slices.DeleteFunc(strings.Fields(g.scopes), func(scope string) bool { return scope == s.b.Withhold }), " ")
	g.expiry = s.now().Add(lifetime)
	a := map[string]any{"access_token": newSecret("access"), "token_type": "Bearer", "scope": g.scopes}
	s.access[a["access_token"].(string)] = g
	s.issued = append(s.issued, a["access_token"].(string))
	if !s.b.NoExpiry {
		a["expires_in"] = int(lifetime.Seconds())
	}
	if !s.b.NoRefresh {
		t := newSecret("refresh")
		s.issued = append(s.issued, t)
		s.refresh[t] = &refreshToken{grant: g}
		a["refresh_token"] = t
	}
	answer(w, http.StatusOK, a)
}

// end revokes all tokens of one sign-in.
func (s *Server) end(family string) {
	for t, g := range s.access {
		if g.family == family {
			delete(s.access, t)
		}
	}
	for t, r := range s.refresh {
		if r.family == family {
			delete(s.refresh, t)
		}
	}
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.authenticate(r); !ok {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	s.counts.Revoked++
	t := r.PostFormValue("token")
	if g, ok := s.access[t]; ok {
		s.end(g.family)
	}
	if g := s.refresh[t]; g != nil {
		s.end(g.family)
	}
}
