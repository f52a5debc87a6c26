package console_test

import (
	"bytes"
	"encoding/json"
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

// enter opens a console, with the cookies and the key of an earlier session if there is
// one.
func enter(c *console.Console, token, key string, cookies ...*http.Cookie) (res *http.Response, newKey string) {
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/console/session", strings.NewReader(`{"token": "`+token+`"}`))
	for _, cookie := range cookies {
		req.AddCookie(cookie)
	}
	if key != "" {
		req.Header.Set(console.KeyHeader, key)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, req)
	var session struct{ Key string }
	_ = json.Unmarshal(w.Body.Bytes(), &session)
	return w.Result(), session.Key
}

func TestSessionsAreStrictAndBoundToTheirPort(t *testing.T) {
	c := console.New()
	_, token, _ := strings.Cut(c.URL("127.0.0.1:1", false, false), "#token=")
	res, key := enter(c, token, "")
	cookies := res.Cookies()
	if res.StatusCode != http.StatusOK || key == "" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Value == key {
		t.Fatalf("%d %+v, key %q", res.StatusCode, cookies, key)
	}
	for url, want := range map[string]bool{"http://127.0.0.1:1/": true, "http://127.0.0.1:2/": false} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		req.AddCookie(cookies[0])
		req.Header.Set(console.KeyHeader, key)
		if in, changes := c.Session(req); in != want || changes {
			t.Errorf("%s: in %v, changes %v; want in %v and no changes", url, in, changes, want)
		}
	}
}

// Browsers send the cookie of a session to every port of its host. The cookie opens
// nothing alone, with a wrong key, or with the key of another session, and neither does
// the key alone.
func TestCookieAloneIsWorthNothing(t *testing.T) {
	c := console.New()
	_, token, _ := strings.Cut(c.URL("127.0.0.1:1", true, false), "#token=")
	first, key := enter(c, token, "")
	second, other := enter(c, token, "")
	for _, tt := range []struct {
		what   string
		cookie []*http.Cookie
		key    string
		want   bool
	}{
		{"both", first.Cookies(), key, true},
		{"the cookie alone", first.Cookies(), "", false},
		{"a wrong key", first.Cookies(), "guess", false},
		{"the key of another session", first.Cookies(), other, false},
		{"the key in the cookie's place", []*http.Cookie{{Name: first.Cookies()[0].Name, Value: key}}, key, false},
		{"the cookie in the key's place", first.Cookies(), first.Cookies()[0].Value, false},
		{"the key alone", nil, key, false},
		{"both of the other", second.Cookies(), other, true},
	} {
		req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1/api/executions", nil)
		for _, cookie := range tt.cookie {
			req.AddCookie(cookie)
		}
		if tt.key != "" {
			req.Header.Set(console.KeyHeader, tt.key)
		}
		if in, changes := c.Session(req); in != tt.want || changes != tt.want {
			t.Errorf("%s: in %v, changes %v", tt.what, in, changes)
		}
	}
	// The cookie cannot be exchanged for a key.
	if res, got := enter(c, "used", "", first.Cookies()...); res.StatusCode != http.StatusForbidden || got != "" {
		t.Errorf("a cookie without a token: %s, key %q", res.Status, got)
	}
}

// A program that reads the arguments of a browser after its start learns no valid
// token.
func TestTokensForOneBrowser(t *testing.T) {
	c := console.New()
	_, token, _ := strings.Cut(c.URL("127.0.0.1:1", true, true), "#token=")
	first, key := enter(c, token, "")
	if first.StatusCode != http.StatusOK || key == "" {
		t.Fatal(first.Status)
	}
	if second, got := enter(c, token, ""); second.StatusCode != http.StatusForbidden || len(second.Cookies()) > 0 || got != "" {
		t.Errorf("another browser: %s", second.Status)
	}
	if again, _ := enter(c, token, key, first.Cookies()...); again.StatusCode != http.StatusNoContent || len(again.Cookies()) > 0 {
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
	for token, want := range map[string]int{first: http.StatusForbidden, last: http.StatusOK} {
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

// Scripts and styles are sent compressed to clients that accept it, and are the same to others.
func TestFilesAreCompressed(t *testing.T) {
	c := console.New()
	get := func(path string, accept ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header["Accept-Encoding"] = accept
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/console/app.js", "/console/app.css"} {
		plain := get(path)
		if plain.Code != http.StatusOK || plain.Header().Get("Content-Encoding") != "" {
			t.Fatalf("%s: %d %v", path, plain.Code, plain.Header())
		}
		for _, accept := range [][]string{{"gzip"}, {"br, GZIP;q=0.5"}, {"deflate", "gzip, br"}} {
			w := get(path, accept...)
			all, err := unzipped(w.Body.Bytes())
			if err != nil || w.Header().Get("Content-Encoding") != "gzip" || !bytes.Equal(all, plain.Body.Bytes()) || w.Header().Get("ETag") == plain.Header().Get("ETag") || w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s with %q: %v %v", path, accept, err, w.Header())
			}
		}
		for _, accept := range []string{"gzip;q=0", "br", "identity", "gzip;q=x", "gzippo"} {
			if w := get(path, accept); w.Header().Get("Content-Encoding") != "" || !bytes.Equal(w.Body.Bytes(), plain.Body.Bytes()) {
				t.Errorf("%s with %q: %v", path, accept, w.Header())
			}
		}
	}
}

// The page for an unknown address names the address and links to the console.
func TestUnknownAddresses(t *testing.T) {
	c := console.New()
	for path, want := range map[string]int{"/console/": 200, "/console/app.css": 200, "/console/docs/": 200, "/console/docs/policy": 200,
		"/console/nowhere": 404, "/console/servers/x": 404, "/console/docs/none": 404, "/console/docs/policy.md": 404, "/console/%3Cb%3E": 404, "/console/../x": 404} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		says := strings.Contains(w.Body.String(), "Page not found") && strings.Contains(w.Body.String(), `href="/console/"`)
		if w.Code != want || says != (want == 404) || strings.Contains(w.Body.String(), "<b>") {
			t.Errorf("%s: %d, says so: %v; want %d", path, w.Code, says, want)
		}
	}
}
