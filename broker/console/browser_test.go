package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// secret is in arguments, results and scripts, and must be on no page.
const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

// A place is a console with a broker behind it.
type place struct {
	t       testing.TB
	dir     string
	broker  *broker.Broker
	store   *sqlite.Store
	handler http.Handler
	page    *console.Console
	url     string
	config  string // file with the servers
	scripts script.Store

	mu     sync.Mutex
	server *http.Server
	addr   string
}

func newPlace(t testing.TB, servers []upstream.Config, skillsDir string) *place {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(dir, &sqlite.Options{Payloads: true, Days: -1})
	if err != nil {
		t.Fatal(err)
	}
	runs := sqlite.NewRuns(dir, nil)
	registry := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(filepath.Join(dir, "switches.json")), Roots: func() ([]skills.Root, []skills.Problem) {
		return []skills.Root{{Path: skillsDir, Scope: skills.ScopeCustom}}, nil
	}})
	kept := pins.Open(files.OpenPins(filepath.Join(dir, "pins")), nil)
	b, err := broker.New(broker.Deps{Pins: kept, Runner: inproc.New(), Audit: store, Runs: runs}, broker.Settings{Servers: servers, Skills: registry, Policy: policy.Default()})
	if err != nil {
		t.Fatal(err)
	}
	b.Start(t.Context())
	for _, c := range servers {
		if c.Name != "hanging" { // nobody waits for that one
			b.Refresh(t.Context(), c.Name)
		}
	}
	l := library.New(library.Options{Skills: registry, Custom: skillsDir, Plugins: filepath.Join(dir, "plugins"), Switches: skills.SwitchFile(filepath.Join(dir, "switches.json"))})
	p := &place{t: t, dir: dir, broker: b, store: store, page: console.New(), scripts: script.Store{Dir: filepath.Join(dir, "scripts")}}
	p.config = filepath.Join(dir, "servers.json")
	if err := os.WriteFile(p.config, []byte(`{"mcpServers": {"attic": {"command": "attic", "description": "Old books", "disabled": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.handler = surface.ConsoleHandler(p.page, api.New(api.Options{
		Library: func() *library.Library { return l }, Owner: surface.TokenOwner, Private: true, Session: func(r *http.Request) (s api.Session, err error) { s.In, s.Changes = p.page.Session(r); return s, nil },
		Settings: func() (any, error) {
			return config.Settings("servers.json", []byte(`{"mcpServers": {"shelf": {"command": "shelf", "env": {"KEY": "`+secret+`", "OTHER": "${SHELF_KEY}"}}}, "broker": {"readOnly": true}}`))
		},
		SaveScript: func(name, description, code string) (any, error) {
			return p.scripts.Save(script.Script{Name: name, Description: description, Code: code})
		},
		Reader: &api.Reader{Broker: b, Audit: store, Runs: runs, Pins: kept}, Note: store.Note, Servers: places{p},
		Changed: func() {
			b.Apply(broker.Settings{Servers: append(slices.Clone(servers), p.added()...), Policy: policy.Default()})
		},
	}), api.Refuse)
	p.serve("127.0.0.1:0")
	p.url = p.page.URL(p.addr, true, false)
	t.Cleanup(func() {
		p.cut()
		for _, err := range []error{b.Close(), runs.Close(), store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

// servers returns the servers of the config.
func (p *place) servers() []config.Server {
	data, err := os.ReadFile(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	cfg, err := config.Parse(p.config, data)
	if err != nil {
		p.t.Fatal(err)
	}
	return cfg.Servers
}

// added returns the servers that were added to the config and are enabled.
func (p *place) added() (list []upstream.Config) {
	for _, s := range p.servers() {
		if !s.Disabled {
			list = append(list, upstream.Config{Name: s.Name, Description: s.Description, URL: s.URL, Headers: s.Headers})
		}
	}
	return list
}

// places changes the config of a place for the console.
type places struct{ p *place }

func (c places) Disabled() (list []broker.ServerInfo) {
	if len(c.p.broker.Status()) == 0 { // the one with nothing to show
		return nil
	}
	for _, s := range c.p.servers() {
		if s.Disabled {
			list = append(list, broker.ServerInfo{Name: s.Name, Description: s.Description, Transport: "stdio"})
		}
	}
	return list
}

func (c places) Add(n api.NewServer) ([]string, error) {
	return nil, config.ServerFile(c.p.config).Add(n.Name, config.EntryOf(config.Server{Description: n.Description, Command: n.Command, Args: n.Args, Env: n.Env, URL: n.URL, Headers: n.Headers}))
}

func (c places) Enable(name string, on bool) error {
	return config.ServerFile(c.p.config).Enable(name, on)
}

func (p *place) serve(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addr, p.server = l.Addr().String(), &http.Server{Handler: p.handler}
	go func(s *http.Server) { _ = s.Serve(l) }(p.server) // until cut closes it
}

// cut ends the listener and all connections.
func (p *place) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.server.Close()
}

func (p *place) record(client string, bytesIn int64, calls ...state.Call) (id string) {
	id = p.store.Begin(state.Execution{Client: client, Language: "typescript", Code: "const key = '" + secret + "';\nreturn await shelf.listBooks({});\n"})
	for i, c := range calls {
		c.ExecutionID, c.Seq, c.Started = id, i+1, time.Now()
		p.store.Record(c)
	}
	if err := p.store.Finish(state.Execution{ID: id, Duration: 30 * time.Millisecond, Prepared: 4 * time.Millisecond, Queued: 2 * time.Millisecond, Opened: 3 * time.Millisecond, Calls: len(calls), BytesIn: bytesIn, BytesOut: 100,
		Answer: []byte(`{"exit_code":0,"result":{"token":"` + secret + `","html":"<img src=x onerror=alert(1)>"}}`)}); err != nil {
		p.t.Error(err)
	}
	return id
}

// shelf is a server whose tools have odd names.
func shelf(t testing.TB) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "shelf", Version: "1"}, nil)
	for _, name := range []string{"list_books", "add_book", "delete_book", "lend_book", "whole_library", "<img src=x onerror=alert(1)>"} {
		s.AddTool(&mcp.Tool{Name: name, Description: "A tool for a book. <script>alert(1)</script>", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "list_books" || name == "whole_library"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text := "<b>books</b> " + secret
				if name == "whole_library" {
					text = strings.Repeat("<b>a book</b> ", 10_000_000/14)
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// locked is a server that wants a sign-in.
func locked(t testing.TB) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// hanging is a server that takes connections and never answers.
func hanging(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// The console in a real browser, with everything and with nothing to show.
func TestConsoleInABrowser(t *testing.T) {
	modules := packages(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "no chromium: apt-get install chromium")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "no node: apt-get install nodejs")
	}
	full, options := fullPlace(t)
	empty := newPlace(t, nil, t.TempDir())
	large := newPlace(t, nil, t.TempDir())
	var filling sync.WaitGroup // while the browser looks at the others
	filling.Go(large.fill)
	defer filling.Wait()
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := r.FormValue("client")
		switch r.URL.Path {
		case "/run":
			id := full.record(client, 1)
			_, _ = fmt.Fprintf(w, `{"id": %q, "at": %d}`, id, time.Now().UnixMilli())
		case "/jump": // the clock was an hour ahead when it began
			id := full.store.Begin(state.Execution{Client: client, Started: time.Now().Add(time.Hour)})
			for i, at := range []time.Duration{0, 2 * time.Hour, -time.Hour} {
				full.store.Record(state.Call{ExecutionID: id, Seq: i + 1, Server: "shelf", Tool: "list_books", Status: state.CallOK, Started: time.Now().Add(at), Duration: time.Second})
			}
			if err := full.store.Finish(state.Execution{ID: id, Duration: time.Second, Calls: 3}); err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprint(w, id)
		case "/folded":
			full.broker.Execute(r.Context(), broker.ExecuteRequest{Code: `// Clear the shelf of Middlemarch.
const books = Array.from({ length: 40 }, (_, i) => 'book ' + i);
// All at once.
await callMCPTool('shelf__delete_book', { title: 'Middlemarch', books })
const done = 1;
// Nothing else.
const more = 2;
// And that is all.`, Language: "javascript", Client: "ci", ClientInfo: "claude-code", Owner: state.Local})
		case "/config":
			data, err := os.ReadFile(full.config)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(data)
		case "/long":
			full.broker.Execute(r.Context(), broker.ExecuteRequest{Code: `await callMCPTool('shelf__delete_book', {title: 'Ulysses', text: 'yes '.repeat(10000) + 'THE ' + 'END'})`, Language: "javascript", Client: "stdio", Owner: state.Local})
		case "/cut":
			for i := range 20 {
				if i == 10 {
					full.cut()
				}
				full.record(fmt.Sprintf("%s-%d.", client, i), 1)
			}
		case "/large":
			filling.Wait()
			_, _ = fmt.Fprint(w, large.url)
		case "/back":
			full.serve(full.addr)
		case "/cookie": // a program of another port sees what browsers send it
			_, _ = fmt.Fprint(w, r.Header.Get("Cookie"))
		}
	}))
	defer control.Close()

	// of the times: this machine may be busy
	maps.Copy(options, map[string]any{"modules": modules, "chromium": chromium, "empty": empty.url, "control": control.URL, "secret": secret,
		"slack": 10,
		"shots": os.Getenv("CONSOLE_SHOTS")})
	if options["shots"] != "" {
		options["demo"] = demoPlace(t).url
	}
	data, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/browser.mjs")
	cmd.Env = append(os.Environ(), "CONSOLE_TEST="+string(data))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%s\nthe browser took %s", bytes.TrimSpace(out), time.Since(start).Round(time.Second))
	if err != nil {
		t.Error(err)
	}
	if options["shots"] != "" {
		shrink(t, filepath.Join(os.Getenv("CONSOLE_SHOTS"), "console-*.png"))
	}
	if os.Getenv("CONSOLE_PARTS") != "" { // the Runner may not have been among them
		return
	}
	if s, err := full.scripts.Load("sixTimesSeven"); err != nil || s.Version != 1 || s.Description != "Multiplies" || !strings.Contains(s.Code, "return 6 * 7") {
		t.Errorf("the saved script: %+v, %v", s, err)
	}
}

// get asks the interface as a page does.
func (p *place) get(ctx context.Context, path string) (*http.Response, error) {
	cookie, key, err := p.enter()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/api/"+path, nil)
	if err != nil {
		return nil, err
	}
	req.AddCookie(cookie)
	req.Header.Set(console.KeyHeader, key)
	return http.DefaultClient.Do(req)
}

// enter opens a session as a page does.
func (p *place) enter() (cookie *http.Cookie, key string, err error) {
	_, token, _ := strings.Cut(p.url, "#token=")
	res, err := http.Post("http://"+p.addr+"/console/session", "application/json", strings.NewReader(`{"token": "`+token+`"}`))
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	var session struct{ Key string }
	if err := json.NewDecoder(res.Body).Decode(&session); err != nil {
		return nil, "", err
	}
	return res.Cookies()[0], session.Key, nil
}

// What is planted in scripts, arguments, results and errors is in no answer and in no
// export. The browser looks at the pages.
func TestSecretsAreInNoAnswer(t *testing.T) {
	p := newPlace(t, []upstream.Config{{Name: "shelf", URL: shelf(t)}}, skillFolder(t))
	id := p.plant()
	asks := p.broker.Execute(t.Context(), broker.ExecuteRequest{Code: `await callMCPTool('shelf__delete_book', {token: '` + secret + `'})`, Language: "javascript", Client: "stdio", Owner: state.Local})
	redacted := 0
	for _, path := range []string{"executions", "executions/" + id, "executions?q=ghp", "calls", "calls?format=csv", "calls?format=jsonl", "events", "stats", "servers", "servers/shelf", "search?q=book&detail=full",
		"config", "approvals", "runs/" + asks.RunID, "pins", "manifest", "skills"} {
		res, err := p.get(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s: %s, %v, %.2000s", path, res.Status, err, text)
		}
		if bytes.Contains(text, []byte("[redacted]")) {
			redacted++
		}
	}
	if redacted < 6 {
		t.Errorf("%d answers had something to redact, want 6", redacted)
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	p := newPlace(t, nil, t.TempDir())
	cookie, key, err := p.enter()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, method, host, origin, site string
		cookie, key                      bool
		want                             int
	}{
		{"the console", "GET", "", "", "", true, true, 200},
		{"no session", "GET", "", "", "", false, false, 403},
		{"the cookie alone", "GET", "", "", "", true, false, 403},
		{"the cookie alone changes things", "POST", "", "", "", true, false, 403},
		{"the key alone", "GET", "", "", "", false, true, 403},
		{"another host", "GET", "evil.example", "", "", true, true, 403},
		{"another origin", "GET", "", "http://evil.example", "", true, true, 403},
		{"another port of this machine", "POST", "", "http://127.0.0.1:1", "same-site", true, true, 403},
		{"a form of another page", "POST", "", "", "cross-site", true, true, 403},
	} {
		path := map[string]string{"GET": "/api/executions", "POST": "/api/execute"}[tt.method]
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+p.addr+path, strings.NewReader(`{"code": "1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for name, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if tt.host != "" {
			req.Host = tt.host
		}
		if tt.cookie {
			req.AddCookie(cookie)
		}
		if tt.key {
			req.Header.Set(console.KeyHeader, key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var problem struct{ Detail string }
		err = json.NewDecoder(res.Body).Decode(&problem)
		res.Body.Close()
		if res.StatusCode != tt.want || err != nil || (problem.Detail == "") != (tt.want == 200) {
			t.Errorf("%s: %s, %q, %v; want %d", tt.name, res.Status, problem.Detail, err, tt.want)
		}
	}
}
