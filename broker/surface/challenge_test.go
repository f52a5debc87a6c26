package surface

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Each refusal of a token has a header with the required token and the error of the
// given one; responses of the endpoint do not.
func TestRefusalsHaveAChallenge(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, flushes := w.(http.Flusher); !flushes {
			t.Error("the endpoint cannot flush")
		}
		w.WriteHeader(http.StatusForbidden) // of the endpoint, such as for the session of another client
	})
	tokens := HTTPOptions{Addr: "127.0.0.1:1", Tokens: map[string]string{"me": "good", "old": "expired"}, Limits: map[string]TokenLimits{"old": {Expires: time.Now().Add(-time.Hour)}}}
	people := tokens
	people.SignIn = &SignIn{Issuer: "https://id.example", Resource: "https://broker.example/mcp", Scopes: []string{"mcp", "more"}, Verify: func(_ context.Context, token string) (Bearer, error) {
		if token == "narrow" {
			return Bearer{Name: "ann", Scopes: []string{"mcp"}}, nil
		}
		return Bearer{}, fmt.Errorf("%w: it is not good", ErrToken)
	}}
	const where = `resource_metadata="https://broker.example/.well-known/oauth-protected-resource/mcp", scope="mcp more"`
	for _, tt := range []struct {
		name          string
		o             HTTPOptions
		authorization string
		status        int
		want          string
	}{
		{"no token", tokens, "", 401, `Bearer realm="broker"`},
		{"a wrong token", tokens, "Bearer bad", 401, `Bearer realm="broker", error="invalid_token"`},
		{"another scheme", tokens, "Basic bWU6Z29vZA==", 401, `Bearer realm="broker", error="invalid_token"`},
		{"a token that has expired", tokens, "Bearer expired", 401, `Bearer realm="broker", error="invalid_token", error_description="this token expired on`},
		{"a good token", tokens, "Bearer good", 403, ""},
		{"no token, where people sign in", people, "", 401, `Bearer realm="broker", ` + where},
		{"a wrong token of a person", people, "Bearer bad", 401, `Bearer realm="broker", error="invalid_token", ` + where},
		{"a token with too few scopes", people, "Bearer narrow", 403, `Bearer realm="broker", error="insufficient_scope", ` + where},
	} {
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/mcp", strings.NewReader("{}"))
		if tt.authorization != "" {
			req.Header.Set("Authorization", tt.authorization)
		}
		w := httptest.NewRecorder()
		checkOrigin(ok, tt.o, true).ServeHTTP(w, req)
		got := w.Result().Header.Values("WWW-Authenticate")
		if w.Code != tt.status || len(got) > 1 || len(got) == 0 != (tt.want == "") || len(got) == 1 && !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("%s: %d %q, want %d %q", tt.name, w.Code, got, tt.status, tt.want)
		}
	}
	w := httptest.NewRecorder()
	forBearer(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/connect", nil))
	if w.Code != 401 || w.Result().Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %d %v", w.Code, w.Result().Header)
	}
}
