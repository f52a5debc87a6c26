package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

// A fleet is some brokers that share a database, behind nginx with the configuration
// in deploy.
type fleet struct {
	fleetOptions
	config   string // without the database
	replicas []*replica
	url      string // of nginx
}

// fleetOptions are how a fleet differs from the usual one.
type fleetOptions struct {
	states []string            // the database's address for each broker; nil for a schema of the fleet
	nginx  func(string) string // changes the configuration in deploy
	broker string              // the program; empty for this one
}

// A replica is one broker, which can be started again.
type replica struct {
	addr, peers, dir string
	program, config  string
	args, env        []string // more of them
	cmd              *exec.Cmd
	mu               sync.Mutex
	said             []string // on stderr
	ended            chan error
}

const fleetToken = "a-secret-token-of-the-fleet"

// nginxCommand returns the program, or skips.
func nginxCommand(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("BROKER_CI") != "" {
		t.Fatal("nginx is not installed")
	}
	t.Skip("needs nginx")
	return ""
}

// startFleet starts n brokers and nginx. The config has the servers "good" and "asks".
func startFleet(t testing.TB, n int) *fleet {
	t.Helper()
	config := filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, config, map[string]any{
		"broker": map[string]any{"http": map[string]any{"tokens": map[string]string{"me": fleetToken}}},
		"mcpServers": map[string]any{
			"good": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)},
			"asks": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Asks)},
		},
	})
	return startFleetOf(t, n, config)
}

func writeConfig(t testing.TB, path string, config map[string]any) {
	t.Helper()
	text, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startFleetOf starts n brokers of a config, to which it adds a database, and nginx.
func startFleetOf(t testing.TB, n int, config string) *fleet {
	t.Helper()
	return startFleetWith(t, n, config, fleetOptions{})
}

// startFleetWith is startFleetOf for an unusual fleet.
func startFleetWith(t testing.TB, n int, config string, o fleetOptions) *fleet {
	t.Helper()
	nginx := nginxCommand(t)
	if o.states == nil {
		o.states = slices.Repeat([]string{sharedDatabase(t).Address()}, n)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	f := &fleet{config: config, fleetOptions: o}
	dir, ports := t.TempDir(), freePorts(t, 2*n+1)
	for i, state := range o.states {
		all["broker"].(map[string]any)["state"] = state
		r := &replica{addr: ports[2*i], peers: ports[2*i+1], dir: filepath.Join(dir, fmt.Sprint("replica", i)), program: o.broker}
		if state != o.states[0] || i == 0 {
			r.config = filepath.Join(filepath.Dir(config), fmt.Sprintf("servers-%d.json", i))
			writeConfig(t, r.config, all)
		} else {
			r.config = f.replicas[0].config
		}
		f.replicas = append(f.replicas, r)
		r.start(t)
		t.Cleanup(func() { r.signal(syscall.SIGKILL); <-r.ended })
	}
	for _, r := range f.replicas {
		r.ready(t)
	}
	f.url = "http://" + ports[2*n] + "/mcp"
	f.balance(t, nginx, ports[2*n])
	return f
}

// startDatabase starts a server that ends with the test: for tests that stop it, or
// look at all that it has.
func startDatabase(t testing.TB) *postgrestest.Server {
	t.Helper()
	db, err := postgrestest.Start()
	db = postgrestest.Need(t, db, err)
	t.Cleanup(func() {
		if err := db.Stop(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// freePorts returns addresses of this machine at which nobody listens.
func freePorts(t testing.TB, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

func (r *replica) start(t testing.TB) {
	t.Helper()
	r.cmd = brokerCommand(t, append([]string{"serve", "--http", r.addr, "--advertise", r.peers, "--config", r.config, "--state-dir", r.dir}, r.args...)...)
	if r.program != "" {
		r.cmd.Path = r.program
	}
	r.cmd.Env = append(os.Environ(), r.env...)
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGTERM) }
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			r.mu.Lock()
			r.said = append(r.said, lines.Text())
			r.mu.Unlock()
		}
		ended <- cmd.Wait()
		close(ended)
	}(r.cmd, r.ended)
}

func (r *replica) signal(s os.Signal) { _ = r.cmd.Process.Signal(s) }

func (r *replica) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

// ready waits until it answers.
func (r *replica) ready(t testing.TB) {
	t.Helper()
	ok := func() bool {
		resp, err := http.Get("http://" + r.addr + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	eventually.True(t, "the broker is ready", ok)
}

// balance starts nginx before the replicas.
func (f *fleet) balance(t testing.TB, nginx, addr string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	var servers strings.Builder
	for _, r := range f.replicas {
		fmt.Fprintf(&servers, "server %s max_fails=1 fail_timeout=2s;\n", r.addr)
	}
	dir := t.TempDir()
	conf := string(text)
	if f.nginx != nil {
		conf = f.nginx(conf)
	}
	for _, change := range [][2]string{
		{"server broker1:8080 max_fails=1 fail_timeout=2s;\n", servers.String()},
		{"server broker2:8080 max_fails=1 fail_timeout=2s;\n", ""},
		{"listen 8000;", "listen " + addr + ";"},
		{"http {\n", "daemon off; pid nginx.pid; error_log error.log;\nhttp {\naccess_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n"},
	} {
		if strings.Count(conf, change[0]) != 1 {
			t.Fatalf("deploy/nginx.conf has no %q", change[0])
		}
		conf = strings.Replace(conf, change[0], change[1], 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nginx, "-p", dir+"/", "-c", "nginx.conf")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if log, _ := os.ReadFile(filepath.Join(dir, "error.log")); t.Failed() {
			t.Logf("nginx: %s%s", &out, log)
		}
	})
	up := func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	eventually.True(t, "nginx answers", up)
}

// withToken adds the token of the fleet's client.
type withToken struct{ next http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+fleetToken)
	return w.next.RoundTrip(r)
}

// connect connects a client to the fleet.
func (f *fleet) connect(t testing.TB, url, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "fleet-test", Version: "1"}, o)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withToken{transport}}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// runs executes code, and is an error unless the answer has what is wanted.
func runs(ctx context.Context, cs *mcp.ClientSession, code, want string) error {
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}})
	if err != nil {
		return err
	}
	if text := said(res); res.IsError || !strings.Contains(text, want) {
		return fmt.Errorf("answer %s", text)
	}
	return nil
}

func said(res *mcp.CallToolResult) string {
	if len(res.Content) == 0 {
		return ""
	}
	if text, ok := res.Content[0].(*mcp.TextContent); ok {
		return text.Text
	}
	return fmt.Sprintf("%T", res.Content[0])
}

// Any broker answers any request of any client, in round robin.
func TestFleetAnswersEveryone(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2)
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			const n = 20
			var wg sync.WaitGroup
			for range 4 {
				cs := f.connect(t, f.url, version, nil)
				wg.Go(func() {
					for i := range n {
						if err := runs(t.Context(), cs, fmt.Sprintf("return (await good.add({a: %d, b: 1})).sum * 1000", i), fmt.Sprint(1000*(i+1))); err != nil {
							t.Errorf("call %d: %v", i, err)
						}
					}
				})
			}
			wg.Wait()
		})
		t.Run(version+" asks", func(t *testing.T) {
			asked := new(atomic.Int32)
			o := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked.Add(1)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			}}
			for i := range 6 {
				cs := f.connect(t, f.url, version, o)
				if err := runs(t.Context(), cs, "return [await asks.form({}), await asks.form({})]", "Ada"); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
			}
			if n := asked.Load(); n != 12 {
				t.Errorf("clients were asked %d times, want 12", n)
			}
		})
	}
}

// A rolling restart under load is seen by no client.
func TestFleetRestartsWithoutAnError(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 3)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var answered, failed atomic.Int64
	for i := range 6 {
		version := []string{legacy, modern}[i%2]
		cs := f.connect(t, f.url, version, nil)
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := runs(t.Context(), cs, fmt.Sprintf("return (await good.add({a: %d, b: 1})).sum * 1000", n), fmt.Sprint(1000*(n+1))); err != nil {
					failed.Add(1)
					t.Errorf("%s, call %d: %v", version, n, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for _, r := range f.replicas {
		before := answered.Load()
		r.signal(syscall.SIGTERM)
		if err := <-r.ended; err != nil {
			t.Errorf("the broker ends with %v:\n%s", err, r.log())
		}
		r.start(t)
		r.ready(t)
		ready := time.Now()
		// nginx tries again after 2 s what has failed.
		eventually.True(t, "clients go on", func() bool {
			return t.Failed() || answered.Load() > before+20 && time.Since(ready) > 2200*time.Millisecond
		})
	}
	close(stop)
	wg.Wait()
	t.Logf("%d calls were answered while three brokers were restarted, %d failed", answered.Load(), failed.Load())
}

// A session that one broker has can be used, watched and ended through all.
func TestFleetSessionOfAClientThatCanBeAsked(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2)
	ask := func(method, at, session, body string) (status int, answer string, id string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		if session == "" {
			req.Header.Del("Mcp-Session-Id")
		}
		resp, err := withToken{http.DefaultTransport}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header.Get("Mcp-Session-Id")
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"t","version":"1"}}}`
	one, two := "http://"+f.replicas[0].addr+"/mcp", "http://"+f.replicas[1].addr+"/mcp"
	status, answer, id := ask("POST", one, "", fmt.Sprintf(hello, `"elicitation":{}`))
	if status != 200 || strings.HasPrefix(id, "any-") {
		t.Fatalf("initialize: %d %s, session %q", status, answer, id)
	}
	for _, at := range []string{one, two, f.url, f.url} {
		ask("POST", at, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if status, answer, _ := ask("POST", at, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 200 || !strings.Contains(answer, "execute_code") {
			t.Errorf("tools/list at %s: %d %s", at, status, answer)
		}
	}
	for _, odd := range []string{id + "x", "nobody-ABC", "-", strings.Repeat("x", 5000)} {
		if status, answer, _ := ask("POST", two, odd, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
			t.Errorf("session %.20q: %d %s", odd, status, answer)
		}
	}
	if status, answer, _ := ask("DELETE", two, id, ""); status != 204 {
		t.Errorf("DELETE at the other: %d %s", status, answer)
	}
	for _, at := range []string{one, two} {
		if status, answer, _ := ask("POST", at, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
			t.Errorf("after DELETE, %s: %d %s", at, status, answer)
		}
	}
	// The owner of another session is killed.
	_, _, id = ask("POST", one, "", fmt.Sprintf(hello, `"sampling":{}`))
	f.replicas[0].signal(syscall.SIGKILL)
	<-f.replicas[0].ended
	if status, answer, _ := ask("POST", two, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
		t.Errorf("session of a killed broker: %d %s", status, answer)
	}
	// A client that cannot be asked has no such session.
	status, answer, id = ask("POST", two, "", fmt.Sprintf(hello, `"roots":{}`))
	if status != 200 || !strings.HasPrefix(id, "any-") {
		t.Errorf("initialize without questions: %d %s, session %q", status, answer, id)
	}
	if status, _, _ := ask("DELETE", two, id, ""); status != 405 {
		t.Errorf("DELETE of a session that is nowhere: %d", status)
	}
}

// A script's progress reaches its client while it runs, whoever has it; a script of a
// killed broker has to be run again.
func TestFleetStreams(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2)
	for _, version := range []string{legacy, modern} {
		for _, asked := range []bool{false, true} {
			o := &mcp.ClientOptions{}
			heard := make(chan string, 64)
			o.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { heard <- req.Params.Message }
			if asked {
				o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			for i := range 2 { // one of them reaches the other broker first
				cs := f.connect(t, f.url, version, o)
				done := make(chan struct{})
				go func() {
					defer close(done)
					p := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "await good.add({a: 1, b: 2}); await good.wait({ms: 60000})", "timeout": 60}}
					p.SetProgressToken("p")
					_, _ = cs.CallTool(ctx, p) // it is canceled
				}()
				if message := <-heard; !strings.Contains(message, "good__") {
					t.Errorf("%s, asked %v, client %d hears %q", version, asked, i, message)
				}
				defer func() { <-done }()
			}
			cancel()
		}
	}
}

// A script that waits for its client lives until it has its answer, also while its
// broker ends, and is lost with a broker that is killed.
func TestFleetScriptThatWaits(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2)
	one, two := "http://"+f.replicas[0].addr+"/mcp", "http://"+f.replicas[1].addr+"/mcp"
	o := &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	at, other := f.connect(t, one, modern, o), f.connect(t, two, modern, o)
	begin := func() *mcp.CallToolParams {
		t.Helper()
		p := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "return await asks.form({})"}}
		res, err := at.CallTool(t.Context(), p)
		if err != nil || !res.NeedsInput() {
			t.Fatalf("%+v, %v", res, err)
		}
		p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{}
		for id := range res.InputRequests {
			p.InputResponses[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}
		}
		return p
	}
	p := begin()
	f.replicas[0].signal(syscall.SIGTERM)
	eventually.True(t, "the broker takes no more connections", func() bool {
		c, err := net.Dial("tcp", f.replicas[0].addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if res, err := other.CallTool(t.Context(), p); err != nil || !strings.Contains(said(res), "Ada") {
		t.Errorf("the answer while the broker ends: %+v, %v", res, err)
	}
	if err := <-f.replicas[0].ended; err != nil {
		t.Error(err)
	}
	f.replicas[0].start(t)
	f.replicas[0].ready(t)
	at = f.connect(t, one, modern, o)
	p = begin()
	f.replicas[0].signal(syscall.SIGKILL)
	<-f.replicas[0].ended
	if _, err := other.CallTool(t.Context(), p); err == nil || !strings.Contains(err.Error(), "run the script again") {
		t.Errorf("the answer after the broker was killed: %v", err)
	}
}
