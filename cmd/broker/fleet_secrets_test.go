package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

// spellings are how a secret may be written: as it is, as JSON, and both in base64
// and in hexadecimal digits, as a dump has bytes.
func spellings(secret string) (all []string) {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(secret) // it is a text
	asJSON := mustJSON(secret)
	for _, s := range []string{secret, strings.Trim(strings.TrimSpace(plain.String()), `"`), strings.Trim(asJSON, `"`), url.QueryEscape(secret)} {
		all = append(all, s, fmt.Sprintf("%x", s), fmt.Sprintf("%X", s))
		for before := range 3 { // bytes, to a multiple of three
			for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				text := e.EncodeToString([]byte(strings.Repeat("x", before) + s))
				all = append(all, text[(8*before+5)/6:8*(before+len(s))/6])
			}
		}
	}
	return all
}

// has reports whether a text has a secret.
func has(text, secret string) bool {
	return slices.ContainsFunc(spellings(secret), func(s string) bool { return strings.Contains(text, s) })
}

func TestSpellings(t *testing.T) {
	const secret = `planted "<1>"`
	for _, before := range []string{"", "a", "ab", "abc"} {
		for _, text := range []string{before + secret + "z", before + mustJSON(secret)} {
			for _, written := range []string{text, fmt.Sprintf("%x", text), base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text))} {
				if !has(written, secret) || has(written, secret+"!!") {
					t.Errorf("%s in %s", secret, written)
				}
			}
		}
	}
}

// startCareless starts a server that wants a header, and says it in its errors.
func startCareless(t *testing.T, authorization string) string {
	t.Helper()
	type login struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "careless", Version: "1"}, nil)
	for _, name := range []string{"login", "check"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "The marker of listings.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "check"}},
			func(_ context.Context, _ *mcp.CallToolRequest, l login) (*mcp.CallToolResult, any, error) {
				if l.Password != plantedArgument {
					return nil, nil, fmt.Errorf("who is %s? the header was %s", l.User, authorization)
				}
				return nil, map[string]string{"welcome": l.User}, nil
			})
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			http.Error(w, "not "+authorization, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

const plantedArgument = `planted-argument "<1>"`

// secretWorld are two brokers with one database, and what they need secrets for.
type secretWorld struct {
	t              *testing.T
	secrets        map[string]string // by what they are
	issuer         *fakeauth.Issuer
	remote, person *fakeauth.Server // one sign-in for all, and one of each person
	config         string
	brokers        []*replica
}

const secretResource = "http://127.0.0.1/mcp"

func startSecretWorld(t *testing.T, address string) *secretWorld {
	w := &secretWorld{t: t, issuer: fakeauth.NewIssuer(t), remote: fakeauth.Start(), person: fakeauth.Start(), secrets: map[string]string{
		"DB_PASSWORD": "planted-database-password", "STATE_KEY": strings.Repeat("5ec3e7a1", 8), "API_TOKEN": "planted-api-token", "ADMIN_TOKEN": "planted-admin-token",
		"HEADER": "planted-header", "ENV": "planted-environment", "argument": plantedArgument, "a part of it": "planted-argument", "of ann": "planted-vault-of-ann",
	}}
	t.Cleanup(w.remote.Close)
	t.Cleanup(w.person.Close)
	env := []string{"BROKER_KEYRING=off"}
	for name, value := range w.secrets {
		if name == strings.ToUpper(name) {
			env = append(env, name+"="+value)
		}
	}
	dir, ports := t.TempDir(), freePorts(t, 4)
	w.config = filepath.Join(dir, "servers.json")
	stateful := map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Stateful)}
	program := func(env string, more map[string]any) map[string]any {
		all := map[string]any{"env": map[string]string{"FAKE_PERSON": env}}
		for _, from := range []map[string]any{stateful, more} {
			maps.Copy(all, from)
		}
		return all
	}
	writeConfig(t, w.config, map[string]any{
		"mcpServers": map[string]any{
			"remote":   map[string]any{"url": w.remote.URL},
			"crm":      map[string]any{"url": w.person.URL, "credentials": "user"},
			"vault":    program("${person:key} of ann", map[string]any{"credentials": "user", "instances": "shared"}),
			"env":      program("${ENV} of env", nil),
			"careless": map[string]any{"url": startCareless(t, "Bearer planted-header"), "headers": map[string]string{"Authorization": "Bearer ${HEADER}"}},
		},
		"broker": map[string]any{
			"state": address, "stateKey": "${STATE_KEY}", "audit": map[string]any{"payloads": true},
			"policy": map[string]any{"rules": []any{map[string]any{"effect": "ask", "tools": []string{"careless.login"}}}},
			"http": map[string]any{
				"url": "http://" + ports[0], "tokens": map[string]string{"bot": "${API_TOKEN}"}, "adminToken": "${ADMIN_TOKEN}",
				"signIn": map[string]any{"issuer": w.issuer.URL, "resource": secretResource, "scopes": []string{"mcp"}, "clientId": "broker"},
			},
		},
	})
	for i := range 2 {
		r := &replica{addr: ports[2*i], peers: ports[2*i+1], dir: filepath.Join(dir, fmt.Sprint("replica", i)), config: w.config, args: []string{"-v"}, env: env}
		w.brokers = append(w.brokers, r)
	}
	for _, s := range []*fakeauth.Server{w.remote, w.person} {
		s.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Second }) // too short to be used
	}
	w.signIn()
	var made struct{ Token string }
	create := brokerCommand(t, "tokens", "create", "made", "--json", "--config", w.config, "--state-dir", w.brokers[0].dir)
	create.Env = append(os.Environ(), env...)
	if err := json.Unmarshal(output(t, create), &made); err != nil || made.Token == "" {
		t.Fatalf("tokens create: %+v, %v", made, err)
	}
	w.secrets["made"] = made.Token
	for _, r := range w.brokers {
		r.start(t)
		t.Cleanup(func() { r.signal(syscall.SIGKILL); <-r.ended })
		r.ready(t)
	}
	return w
}

// signIn signs in to the remote server, once for all.
func (w *secretWorld) signIn() {
	w.t.Helper()
	login := brokerCommand(w.t, "auth", "login", "remote", "--no-browser", "--config", w.config, "--state-dir", w.brokers[0].dir)
	login.Env = append(os.Environ(), w.brokers[0].env...)
	typed, err := login.StdinPipe()
	shown, err2 := login.StderrPipe()
	if err = errors.Join(err, err2); err == nil {
		err = login.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for lines := bufio.NewScanner(shown); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), w.remote.Issuer) {
			fmt.Fprintln(typed, whereItEnds(w.t, lines.Text()))
		}
	}
	if err := login.Wait(); err != nil {
		w.t.Fatalf("auth login: %v", err)
	}
}

// connect connects what ann has, in her browser.
func (w *secretWorld) connect() {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	jar.SetCookies(&url.URL{Scheme: "http", Host: "127.0.0.1"}, []*http.Cookie{{Name: "person", Value: "ann", Path: "/"}, {Name: "account", Value: "ann-at-crm", Path: "/"}})
	b := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(body)
	}
	base := "http://" + w.brokers[0].addr + "/connect/"
	read(b.Get(base + "crm"))
	link := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(read(b.PostForm(base+"crm", nil)))
	if link == nil {
		w.t.Fatal("the page of crm has no link")
	}
	for what, page := range map[string]string{"crm": read(b.Get(strings.ReplaceAll(link[1], "&amp;", "&"))), "vault": read(b.PostForm(base+"vault", url.Values{"secret-key": {w.secrets["of ann"]}}))} {
		if !strings.Contains(page, "<h1>Connected</h1>") {
			w.t.Fatalf("%s: %s", what, page)
		}
	}
}

// client is one of a broker.
func (w *secretWorld) client(broker int, token string) *caller {
	c := newCaller(w.t, "http://"+w.brokers[broker].addr+"/mcp", modern)
	c.token = token
	return c
}

// says fails unless code is answered with a word.
func (w *secretWorld) says(c *caller, code, word string) string {
	w.t.Helper()
	answer, err := c.run(w.t.Context(), code)
	if err != nil {
		answer = err.Error()
	}
	if !strings.Contains(answer, word) {
		w.t.Errorf("%s answers %s, want %s", code, answer, word)
	}
	return answer
}

// use uses all secrets at both brokers.
func (w *secretWorld) use() {
	t := w.t
	t.Helper()
	for _, s := range []*fakeauth.Server{w.remote, w.person} {
		s.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Hour })
	}
	ann := w.issuer.Token(t, secretResource, "ann", map[string]any{"scope": "mcp"})
	w.secrets["ann's token"] = ann
	password := fmt.Sprintf(`{user: "marker-of-record", password: %s}`, mustJSON(plantedArgument))
	for i := range w.brokers {
		c := w.client(i, ann)
		w.says(c, "return await crm.whoami({})", "by ann-at-crm")
		w.says(c, "return await vault.whoami({})", "by ann")
		w.says(c, "return await remote.whoami({})", "whoami was called")
		w.says(w.client(i, w.secrets["made"]), "return await env.whoami({})", "by env")
		bot := w.client(i, w.secrets["API_TOKEN"])
		w.says(bot, `return await careless.check({user: "nobody", password: "x"})`, "who is nobody")
		w.says(bot, fmt.Sprintf(`await store.set("marker", "marker-of-values"); return await careless.check(%s)`, password), "welcome")
		var asked struct {
			Run string `json:"run_id"`
		}
		if err := json.Unmarshal([]byte(w.says(bot, fmt.Sprintf(`return await careless.login(%s)`, password), "run_id")), &asked); err != nil {
			t.Fatal(err)
		}
		run := "http://" + w.brokers[1-i].addr + "/api/runs/" + asked.Run
		var shown struct{ Calls []struct{ Digest string } }
		if err := json.Unmarshal([]byte(admined(t, "GET", run, w.secrets["ADMIN_TOKEN"], "")), &shown); err != nil || len(shown.Calls) != 1 {
			t.Fatalf("%+v, %v", shown, err)
		}
		admined(t, "POST", run+"/decide", w.secrets["ADMIN_TOKEN"], fmt.Sprintf(`{"approve": true, "calls": [1], "digests": [%q]}`, shown.Calls[0].Digest))
		if answer, err := w.client(1-i, w.secrets["API_TOKEN"]).tool(t.Context(), "execute_code", map[string]any{"resume": asked.Run}); err != nil || !strings.Contains(answer, "welcome") {
			t.Errorf("resumed: %s, %v", answer, err)
		}
	}
	for what, s := range map[string]*fakeauth.Server{"the remote server": w.remote, "crm": w.person} {
		if n := s.Counts().Refreshed; n == 0 {
			t.Errorf("no refresh token of %s was used", what)
		}
		for i, token := range s.Issued() {
			w.secrets[fmt.Sprintf("token %d of %s", i, what)] = token
		}
	}
}

// check looks for the secrets in what is kept.
func (w *secretWorld) check(where, text string) {
	w.t.Helper()
	for what, secret := range w.secrets {
		for _, s := range spellings(secret) {
			if at := strings.Index(text, s); at >= 0 {
				w.t.Errorf("%s has the secret %s: %.300q", where, what, text[max(0, at-200):])
				break
			}
		}
	}
}

// checkFiles looks for the secrets in state directories and logs, and returns all
// that is there.
func (w *secretWorld) checkFiles() string {
	w.t.Helper()
	var all strings.Builder
	for _, r := range w.brokers {
		err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			w.check(path, string(data))
			all.WriteString(path + "\n" + string(data))
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
		w.check("the log", r.log())
		all.WriteString(r.log())
	}
	return all.String()
}

// What brokers keep and write has no secret that can be read: their database, their
// state directories, also while the database is away, and their logs.
func TestSecretsAreKeptNowhere(t *testing.T) {
	t.Parallel()
	db := startDatabase(t)
	if err := db.Role("broker", "planted-database-password"); err != nil {
		t.Fatal(err)
	}
	address := strings.Replace(db.Address(), "postgres@", "broker:${DB_PASSWORD}@", 1)
	wrong, err := postgres.Connect(strings.Replace(address, "${DB_PASSWORD}", "wrong", 1), nil)
	if err == nil {
		_, err = wrong.Server(t.Context())
		defer wrong.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "rejects the user or the password") {
		t.Fatalf("another password: %v", err)
	}
	w := startSecretWorld(t, address)
	w.connect()
	w.use()

	if err := db.Kill(); err != nil {
		t.Fatal(err)
	}
	for i := range w.brokers {
		w.says(w.client(i, w.secrets["API_TOKEN"]), fmt.Sprintf(`return await careless.check({user: "marker-of-spool", password: %s})`, mustJSON(plantedArgument)), "welcome")
	}
	files := w.checkFiles()
	for _, marker := range []string{"marker of listings", "spool-", "marker-of-spool", "serving MCP at"} {
		if !strings.Contains(files, marker) {
			t.Errorf("the files and logs lack %q", marker)
		}
	}
	if err := db.Run(); err != nil {
		t.Fatal(err)
	}
	record := func() string {
		text, err := db.Query("SELECT count(*) FROM " + schemaOf(t, address) + ".calls WHERE args LIKE '%marker-of-spool%'")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	eventually.True(t, "what waited is in the record", func() bool { return record() == "2" })
	for _, r := range w.brokers {
		r.signal(syscall.SIGTERM)
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	}
	dump, err := db.Dump()
	if err != nil {
		t.Fatal(err)
	}
	for _, marker := range []string{"marker-of-record", "marker-of-values", "marker of listings"} { // the last two are bytes
		if !has(dump, marker) {
			t.Errorf("the dump of %d bytes lacks %q", len(dump), marker)
		}
	}
	w.check("the dump", dump)
	w.checkFiles()
}

// schemaOf is the schema that an address names.
func schemaOf(t *testing.T, address string) string {
	t.Helper()
	_, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return q.Get("search_path")
}
