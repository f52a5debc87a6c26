package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/console"
)

func ask(c *console.Console, method, url, body string) *httptest.ResponseRecorder {
	res := httptest.NewRecorder()
	c.ServeHTTP(res, httptest.NewRequest(method, url, strings.NewReader(body)))
	return res
}

func TestUnknownTokensOpenNothing(t *testing.T) {
	c := console.New()
	c.URL("127.0.0.1:1", true, false)
	for _, body := range []string{`{"token": "guess"}`, `{"token": ""}`, `{}`, `no JSON`, ""} {
		res := ask(c, http.MethodPost, "/console/session", body)
		if res.Code != http.StatusForbidden || len(res.Result().Cookies()) > 0 || !strings.Contains(res.Body.String(), "broker console") {
			t.Errorf("%q: %d %s", body, res.Code, res.Body)
		}
	}
}

func TestSessionsAreStrictAndBoundToTheirPort(t *testing.T) {
	c := console.New()
	_, token, _ := strings.Cut(c.URL("127.0.0.1:1", false, false), "#token=")
	res := ask(c, http.MethodPost, "http://127.0.0.1:1/console/session", `{"token": "`+token+`"}`)
	cookies := res.Result().Cookies()
	if res.Code != http.StatusNoContent || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %+v", res.Code, cookies)
	}
	for url, want := range map[string]bool{"http://127.0.0.1:1/": true, "http://127.0.0.1:2/": false} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		req.AddCookie(cookies[0])
		if in, changes := c.Session(req); in != want || changes {
			t.Errorf("%s: in %v, changes %v; want in %v and no changes", url, in, changes, want)
		}
	}
}

// Who sees the arguments of a browser that has started learns no token that is good.
func TestTokensForOneBrowser(t *testing.T) {
	c := console.New()
	_, token, _ := strings.Cut(c.URL("127.0.0.1:1", true, true), "#token=")
	open := func(cookies ...*http.Cookie) *http.Response {
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/console/session", strings.NewReader(`{"token": "`+token+`"}`))
		for _, cookie := range cookies {
			req.AddCookie(cookie)
		}
		res := httptest.NewRecorder()
		c.ServeHTTP(res, req)
		return res.Result()
	}
	first := open()
	if first.StatusCode != http.StatusNoContent {
		t.Fatal(first.Status)
	}
	if second := open(); second.StatusCode != http.StatusForbidden || len(second.Cookies()) > 0 {
		t.Errorf("another browser: %s", second.Status)
	}
	if again := open(first.Cookies()...); again.StatusCode != http.StatusNoContent || len(again.Cookies()) > 0 {
		t.Errorf("the same browser: %s", again.Status)
	}
}

func TestManyTokensEndTheOldest(t *testing.T) {
	c := console.New()
	_, first, _ := strings.Cut(c.URL("h", true, false), "#token=")
	last := ""
	for range 100 {
		_, last, _ = strings.Cut(c.URL("h", true, false), "#token=")
	}
	for token, want := range map[string]int{first: http.StatusForbidden, last: http.StatusNoContent} {
		if res := ask(c, http.MethodPost, "/console/session", `{"token": "`+token+`"}`); res.Code != want {
			t.Errorf("%d, want %d", res.Code, want)
		}
	}
}

func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	c := console.New()
	for path, contentType := range map[string]string{"/console/": "text/html", "/console/app.js": "text/javascript", "/console/app.css": "text/css", "/console/icon.svg": "image/svg+xml"} {
		res := ask(c, http.MethodGet, path, "")
		policy := res.Header().Get("Content-Security-Policy")
		if res.Code != http.StatusOK || !strings.HasPrefix(res.Header().Get("Content-Type"), contentType) || !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, res.Code, res.Header())
		}
	}
	if res := ask(c, http.MethodGet, "/console", ""); res.Header().Get("Location") != "/console/" {
		t.Errorf("/console: %d %v", res.Code, res.Header())
	}
	if res := ask(c, http.MethodPost, "/console/", ""); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.Code)
	}
}
