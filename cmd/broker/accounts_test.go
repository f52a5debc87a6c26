package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// People connect accounts in their browsers, and the scripts of their agents use
// these: a real broker with a remote server, one that exchanges tokens, and a program.
func TestPeopleConnectAccounts(t *testing.T) {
	issuer, crm, erp := fakeauth.NewIssuer(t), fakeauth.Start(), fakeauth.Start()
	t.Cleanup(crm.Close)
	t.Cleanup(erp.Close)
	erp.Set(func(b *fakeauth.Behaviour) {
		b.ClientID, b.ClientSecret = "broker", "exchange-secret"
		b.Subject = func(token string) (string, bool) { return subjectOf(token) + "-at-erp", true }
	})
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("ERP_SECRET", "exchange-secret")
	t.Setenv("BOT_TOKEN", "bot-secret")
	t.Setenv("KEY", strings.Repeat("0123", 16))
	const resource = "http://127.0.0.1/mcp" // of tokens; people reach the broker where it listens
	config := filepath.Join(t.TempDir(), "servers.json")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	text := fmt.Sprintf(`{
		"mcpServers": {
			"crm": {"url": %q, "credentials": "user"},
			"erp": {"url": %q, "credentials": "exchange", "oauth": {"clientId": "broker", "clientSecret": "${ERP_SECRET}", "tokenEndpoint": "%s/token"}},
			"local": {"command": %q, "args": %s, "env": {"FAKE_PERSON": "${person:key}"}, "credentials": "user", "instances": "shared"}
		},
		"broker": {
			"stateKey": "${KEY}",
			"http": {
				"url": "http://127.0.0.1:%d", "tokens": {"bot": "${BOT_TOKEN}"},
				"signIn": {"issuer": %q, "resource": %q, "scopes": ["mcp"], "clientId": "broker"}
			}
		}
	}`, crm.URL, erp.URL, erp.Issuer, fakeupstream.Command(), mustJSON(fakeupstream.Args(fakeupstream.Stateful)), port, issuer.URL, resource)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := serveHTTPAt(t, config, fmt.Sprintf("127.0.0.1:%d", port))
	base := strings.TrimSuffix(address, "/mcp")
	token := func(name string) string {
		return issuer.Token(t, resource, name, map[string]any{"scope": "mcp"})
	}
	run := func(token, code string) string { t.Helper(); return runAs(t, address, token, code) }
	browser := func(name string) *http.Client {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		here := &url.URL{Scheme: "http", Host: "127.0.0.1"}
		jar.SetCookies(here, []*http.Cookie{{Name: "person", Value: name, Path: "/"}, {Name: "account", Value: name + "-at-crm", Path: "/"}})
		return &http.Client{Jar: jar}
	}
	read := func(resp *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	link := func(page string) string {
		t.Helper()
		m := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no link on %s", page)
		}
		return html.UnescapeString(m[1])
	}
	const whoami = `return await callMCPTool("crm__whoami")`

	list := func() string {
		t.Helper()
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearing(token("ann"))}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_servers"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	eventually.True(t, "nobody lists the tools yet", func() bool {
		return strings.Count(list(), "the first person who connects one, at "+base+"/connect") == 2 // crm and local
	})
	for _, name := range []string{"ann", "bob"} {
		b := browser(name)
		if page := read(b.Get(base + "/connect/crm")); !strings.Contains(page, "You are <strong>"+name) {
			t.Fatalf("the page of %s is %s", name, page)
		}
		page := read(b.PostForm(base+"/connect/crm", nil))
		if page = read(b.Get(link(page))); !strings.Contains(page, "<h1>Connected</h1>") {
			t.Fatalf("%s: %s", name, page)
		}
		if page := read(b.PostForm(base+"/connect/local", url.Values{"secret-key": {fakeauth.Secret + " of " + name}})); !strings.Contains(page, "<h1>Connected</h1>") {
			t.Fatalf("%s: %s", name, page)
		}
	}
	for _, name := range []string{"ann", "bob", "ann"} {
		if got := run(token(name), whoami); !strings.Contains(got, "by "+name+"-at-crm") {
			t.Errorf("%s calls crm: %s", name, got)
		}
		if got := run(token(name), `return await callMCPTool("erp__whoami")`); !strings.Contains(got, "by "+name+"-at-erp") {
			t.Errorf("%s calls erp: %s", name, got)
		}
		if got := run(token(name), `return await callMCPTool("local__whoami")`); !strings.Contains(got, "by "+name) {
			t.Errorf("%s calls local: %s", name, got)
		}
	}
	if got := run("bot-secret", whoami); !strings.Contains(got, base+"/connect/crm/") {
		t.Errorf("a named token calls crm: %s", got)
	}
	if got := run("bot-secret", `return await callMCPTool("erp__whoami")`); !strings.Contains(got, `is a token of the config`) {
		t.Errorf("a named token calls erp: %s", got)
	}
	// Where people sign in with a browser, the address is the same for all.
	if got := run(token("cid"), whoami); !strings.Contains(got, base+"/connect/crm,") {
		t.Errorf("cid calls crm: %s", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/connect", nil)
	if err != nil {
		t.Fatal(err)
	}
	if page := read(http.DefaultClient.Do(req)); strings.Contains(page, "url") {
		t.Errorf("without a token there is %s", page)
	}
	req.Header.Set("Authorization", "Bearer bot-secret")
	if page := read(http.DefaultClient.Do(req)); !strings.Contains(page, base+"/connect/-/") {
		t.Errorf("for a token there is %s", page)
	}
	// After a person disconnects, calls are refused.
	if page := read(browser("ann").PostForm(base+"/connect/crm", url.Values{"do": {"disconnect"}})); !strings.Contains(page, "Whose browser") {
		t.Errorf("a browser of nobody disconnects: %s", page)
	}
	b := browser("ann")
	read(b.Get(base + "/connect"))
	read(b.PostForm(base+"/connect/crm", url.Values{"do": {"disconnect"}}))
	if got := run(token("ann"), whoami); strings.Contains(got, "by ann") || !strings.Contains(got, "needs sign-in") {
		t.Errorf("ann calls crm after she has disconnected: %s", got)
	}
	if got := run(token("bob"), whoami); !strings.Contains(got, "by bob-at-crm") {
		t.Errorf("bob calls crm: %s", got)
	}
	if c := crm.Counts(); c.Revoked != 1 || c.Registered != 1 {
		t.Errorf("counts = %+v", c)
	}
	noSecretBelow(t, state)
}

// noSecretBelow looks for secrets of fakeauth in the files of a state directory.
func noSecretBelow(t *testing.T, dir string) {
	t.Helper()
	people := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), fakeauth.Secret) {
			t.Errorf("a secret is in %s", path)
		}
		if strings.Contains(path, "people") {
			people++
		}
		return err
	})
	if err != nil || people < 4 {
		t.Errorf("there are %d files of people, %v", people, err)
	}
}

// subjectOf reads the subject of a JSON Web Token, whose signature is not its to
// check.
func subjectOf(token string) string {
	parts := strings.Split(token, ".")
	var claims struct{ Sub string }
	if len(parts) == 3 {
		data, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(data, &claims)
	}
	return claims.Sub
}
