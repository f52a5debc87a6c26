package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A consoleBrowser is one whose user the issuer knows. It does not follow the redirect
// that leads to stop.
type consoleBrowser struct {
	t    *testing.T
	jar  http.CookieJar
	stop string
	key  string // of the page
}

func newConsoleBrowser(t *testing.T, person, groups string) *consoleBrowser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(&url.URL{Scheme: "http", Host: "127.0.0.1"}, []*http.Cookie{{Name: "person", Value: person, Path: "/"}, {Name: "groups", Value: groups, Path: "/"}})
	return &consoleBrowser{t: t, jar: jar}
}

func (b *consoleBrowser) do(method, at, body string, header ...string) (status int, text, next string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	if b.key != "" {
		req.Header.Set("Broker-Console-Key", b.key)
	}
	client := http.Client{Jar: b.jar, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if b.stop != "" && strings.Contains(req.URL.String(), b.stop) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, key, ok := strings.Cut(cmp.Or(resp.Header.Get("Location"), resp.Request.URL.String()), "#key="); ok {
		b.key = key
	}
	return resp.StatusCode, string(data), resp.Header.Get("Location")
}

// answer is the address that the issuer sends the browser back to.
func (b *consoleBrowser) answer(base string) string {
	b.t.Helper()
	b.stop = "/console/callback"
	defer func() { b.stop = "" }()
	status, text, next := b.do("GET", base+"/console/sign-in", "")
	if !strings.HasPrefix(next, base+"/console/callback?") {
		b.t.Fatalf("the sign-in leads to %d %s %q", status, text, next)
	}
	return next
}

// People sign in to the console with their issuer: at one of two brokers with one
// database, and to both. What they may do is decided by a claim, and what they decide
// is in the record with their names.
func TestPeopleSignInToTheConsole(t *testing.T) {
	db := startDatabase(t)
	issuer := fakeauth.NewIssuer(t)
	issuer.Secret(fakeauth.Secret)
	t.Setenv("DATABASE", db.Address())
	t.Setenv("KEY", strings.Repeat("01", 32))
	t.Setenv("CONSOLE_SECRET", fakeauth.Secret)
	t.Setenv("BOT_TOKEN", "bot-secret")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	addresses := freePorts(t, 2)
	_, port, _ := strings.Cut(addresses[0], ":")
	base := "http://localhost:" + port // another site than that of the issuer
	text := fmt.Sprintf(`{
		"mcpServers": {"good": {"command": %q, "args": %s}},
		"broker": {
			"state": "${DATABASE}", "stateKey": "${KEY}",
			"policy": {"rules": [{"effect": "ask", "tools": ["good.add"]}]},
			"http": {
				"tokens": {"bot": "${BOT_TOKEN}"},
				"signIn": {"issuer": %q, "resource": "%s/mcp"},
				"console": {"claim": "groups", "admins": ["platform"], "viewers": ["support"], "clientId": "console", "clientSecret": "${CONSOLE_SECRET}"}
			}
		}
	}`, fakeupstream.Command(), mustJSON(fakeupstream.Args(fakeupstream.Good)), issuer.URL, base)
	var brokers []string
	for _, addr := range addresses {
		config := filepath.Join(t.TempDir(), "servers.json")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut(strings.TrimSuffix(serveHTTPAt(t, config, addr), "/mcp"), "127.0.0.1:")
		brokers = append(brokers, "http://localhost:"+port)
	}
	one, two := brokers[0], brokers[1]

	ann := newConsoleBrowser(t, "ann", "golf platform")
	says := func(b *consoleBrowser, want int, method, at, body string, words ...string) string {
		t.Helper()
		status, text, _ := b.do(method, at, body)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s %s answers %d %s, want %q", method, at, status, text, w)
			}
		}
		if status != want {
			t.Errorf("%s %s answers %d %s, want %d", method, at, status, text, want)
		}
		return text
	}
	says(ann, 403, "GET", one+"/api/executions", "", "no_session", "sign in at "+base+"/console/")
	says(ann, 200, "GET", one+"/console/session", "", `"sign_in":true`)

	// Answers that are not good.
	refused := func(b *consoleBrowser, at, word string) {
		t.Helper()
		says(b, 403, "GET", at, "", "<h1>Not signed in</h1>", word, `href="`+base+`/console/sign-in"`)
	}
	used := ann.answer(one)
	refused(newConsoleBrowser(t, "eve", "platform"), used, "no such sign-in in progress")
	says(ann, 200, "GET", used, "", `<div id="app">`)
	refused(ann, used, "it was used already")
	says(ann, 200, "GET", two+"/console/session", "", `"name":"ann","changes":true`)
	eve := newConsoleBrowser(t, "eve", "golf")
	refused(eve, eve.answer(one), `eve may not use this console: claim &#34;groups&#34; matches neither`)
	bot := newConsoleBrowser(t, "bot", "platform")
	refused(bot, bot.answer(one), `is the name of a token of the broker`)
	at := eve.answer(one)
	refused(eve, strings.Replace(at, url.QueryEscape(issuer.URL), url.QueryEscape("https://evil.example"), 1), "another authorization server, https://evil.example")
	refused(eve, base+"/console/callback?error=access_denied&state="+stateOf(t, eve.answer(one)), "has not signed you in: access_denied")
	for word, claims := range map[string]map[string]any{
		"its nonce is not the one that was sent": {"nonce": "x"},
		"it is not one that":                     {"iss": "https://evil.example"},
		"has issued for console":                 {"aud": "another"},
		"it was issued to another client":        {"azp": "another"},
		"it expired at":                          {"exp": time.Now().Add(-time.Hour).Unix()},
	} {
		issuer.Sign(claims)
		refused(eve, eve.answer(one), word)
	}
	issuer.Sign(nil)
	issuer.Secret("changed")
	refused(eve, eve.answer(one), "invalid_client")
	issuer.Secret(fakeauth.Secret)
	says(eve, 403, "GET", two+"/api/executions", "", "no_session")
	// The answer may come to another broker than the one that began.
	bob := newConsoleBrowser(t, "bob", "support")
	back := strings.Replace(bob.answer(one), one, two, 1)
	bob.stop = "/console/"
	if status, text, next := bob.do("GET", back, "", "Host", strings.TrimPrefix(base, "http://")); status != 303 || !strings.HasPrefix(next, base+"/console/#key=") {
		t.Errorf("the answer at the other broker: %d %s %s", status, text, next)
	}
	says(bob, 200, "GET", one+"/api/executions", "")
	says(bob, 403, "POST", one+"/api/execute", `{"code": "return 1"}`, "read_only", "bob may look, and change nothing")

	// What ann runs and decides has her name.
	var ran struct {
		Answer struct {
			RunID string `json:"run_id"`
		}
		Execution string
	}
	if err := json.Unmarshal([]byte(says(ann, 200, "POST", one+"/api/execute", `{"code": "return await good.add({a: 1, b: 2})", "language": "javascript"}`)), &ran); err != nil || ran.Answer.RunID == "" {
		t.Fatalf("%+v, %v", ran, err)
	}
	run := two + "/api/runs/" + ran.Answer.RunID
	var shown struct {
		Calls []struct {
			N      int
			Digest string
		}
	}
	if err := json.Unmarshal([]byte(says(ann, 200, "GET", run, "", `"principal":"ann"`)), &shown); err != nil || len(shown.Calls) != 1 {
		t.Fatalf("%+v, %v", shown, err)
	}
	decision := fmt.Sprintf(`{"approve": true, "calls": [%d], "digests": [%q]}`, shown.Calls[0].N, shown.Calls[0].Digest)
	if status, text, _ := ann.do("POST", run+"/decide", decision, "Origin", "https://evil.example"); status != 403 {
		t.Errorf("a page of another site decides: %d %s", status, text)
	}
	says(bob, 403, "POST", run+"/decide", decision, "read_only")
	says(ann, 200, "POST", run+"/decide", decision, `"decided":1`)
	says(ann, 200, "POST", run+"/resume", "{}", `"sum":3`)
	says(ann, 200, "GET", run, "", `"decided_by":"ann"`)
	says(bob, 200, "GET", two+"/api/executions/"+ran.Execution, "", `"client":"ann"`)
	events := says(bob, 200, "GET", one+"/api/events?limit=50", "", `"kind":"approval"`)
	for _, want := range []string{
		`"client":"ann","detail":"signed in to the console, for changes too"`, `"client":"bob","detail":"signed in to the console, to look"`,
		`"client":"eve","failed":true,"detail":"not admitted to the console`, `"client":"ann","detail":"approved 1 good__add"`,
	} {
		if !strings.Contains(events, want) {
			t.Errorf("the record lacks %s: %s", want, events)
		}
	}

	// The cookie alone, which other ports of the host get, opens nothing.
	here := &url.URL{Scheme: "http", Host: "localhost"}
	thief := *newConsoleBrowser(t, "eve", "golf")
	thief.jar.SetCookies(here, ann.jar.Cookies(here))
	says(&thief, 403, "GET", one+"/api/executions", "", "no_session")
	thief.key = bob.key
	says(&thief, 403, "GET", one+"/api/executions", "", "no_session")
	if status, _, _ := thief.do("POST", one+"/console/sign-out", ""); status != 204 {
		t.Errorf("the cookie alone signs out: %d", status)
	}
	says(ann, 200, "GET", one+"/api/executions", "")

	// Signing out at one broker ends the session at all of them.
	if status, text, _ := ann.do("POST", one+"/console/sign-out", "", "Sec-Fetch-Site", "cross-site"); status != 403 {
		t.Errorf("a page of another site signs out: %d %s", status, text)
	}
	kept := *ann
	kept.jar, _ = cookiejar.New(nil)
	kept.jar.SetCookies(here, ann.jar.Cookies(here))
	says(ann, 204, "POST", two+"/console/sign-out", "")
	says(&kept, 403, "GET", one+"/api/executions", "", "no_session")
	says(bob, 200, "GET", one+"/api/executions", "")
	if dump, err := db.Dump(); err != nil || strings.Contains(dump, fakeauth.Secret) || strings.Contains(dump, kept.jar.Cookies(here)[0].Value) {
		t.Errorf("the dump has a secret, or nothing: %v", err)
	}
	signInWithChromium(t, base, issuer.URL)
}

func stateOf(t *testing.T, at string) string {
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

// signInWithChromium does so in a real browser, which has its own mind about which
// cookies go where after a redirect from another site.
func signInWithChromium(t *testing.T, base, issuer string) {
	modules := filepath.Join(os.Getenv("BROKER_NPM"), "console", "node_modules")
	chromium, err := exec.LookPath("chromium")
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, "playwright-core"))
	}
	if err != nil {
		if os.Getenv("BROKER_CI") == "1" {
			t.Fatal(err)
		}
		t.Log("without a browser:", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/signin.mjs")
	cmd.Env = append(os.Environ(), "SIGN_IN="+mustJSON(map[string]string{"modules": modules, "chromium": chromium, "base": base, "issuer": issuer}))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
