package accounts

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// If an issuer announces that its responses name it, they must (RFC 9207).
func TestAnswersNameTheIssuer(t *testing.T) {
	docs, err := state.Seal(files.OpenDocuments(t.TempDir()), state.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	const issuer = "https://id.example"
	says := true
	d, err := New(Options{Documents: docs, Base: "http://localhost", Console: &Console{Issuer: Issuer{URL: issuer,
		Endpoints: func(context.Context) (Endpoints, error) {
			return Endpoints{Authorize: issuer + "/authorize", Token: "http://127.0.0.1:1/token", SaysIssuer: says}, nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	handler := d.ConsoleHandler(http.NotFoundHandler())
	const redeemed = "connection refused" // the code is sent to the token endpoint
	for _, tt := range []struct {
		says      bool
		iss, want string
	}{
		{true, "", "does not name its authorization server"},
		{true, "https://evil.example", "another authorization server, https://evil.example"},
		{true, issuer, redeemed},
		{true, issuer + "/", redeemed},
		{false, "", redeemed},
		{false, "https://evil.example", "another authorization server"},
	} {
		says = tt.says
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/console/sign-in", nil))
		page, err := url.Parse(w.Result().Header.Get("Location"))
		if err != nil || page.Host != "id.example" {
			t.Fatalf("the sign-in leads to %s, %v", page, err)
		}
		q := url.Values{"code": {"c"}, "state": {page.Query().Get("state")}}
		if tt.iss != "" {
			q.Set("iss", tt.iss)
		}
		req := httptest.NewRequest(http.MethodGet, "http://localhost/console/callback?"+q.Encode(), nil)
		for _, c := range w.Result().Cookies() {
			req.AddCookie(c)
		}
		w = httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if text := html.UnescapeString(w.Body.String()); w.Code != http.StatusForbidden || !strings.Contains(text, tt.want) {
			t.Errorf("offered %v, iss %q: %d %s", tt.says, tt.iss, w.Code, text)
		}
	}
}
