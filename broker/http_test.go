package broker_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// serveHTTP is b's endpoint on loopback.
func serveHTTP(t *testing.T, b *broker.Broker, tokens map[string]string) *httptest.Server {
	t.Helper()
	h, err := b.Handler(broker.HTTPOptions{Addr: "127.0.0.1:0", Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// post sends one message and returns the status, the session id and the body.
func post(t *testing.T, ctx context.Context, url, body string, headers map[string]string) (status int, session, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	if host := headers["Host"]; host != "" {
		req.Host = host
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body) // cut off where the request is cancelled
	return res.StatusCode, res.Header.Get("Mcp-Session-Id"), string(text)
}

func TestWhoMayUseTheEndpoint(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	open, closed := serveHTTP(t, b, nil).URL, serveHTTP(t, b, map[string]string{"ann": "secret-a", "bob": "secret-b"}).URL
	for _, c := range []struct {
		name, url string
		headers   map[string]string
		want      int
	}{
		{"a local client", open, nil, 200},
		{"a page of another origin", open, map[string]string{"Origin": "https://evil.example"}, 403},
		{"a page that a browser marks", open, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a name that resolves to here", open, map[string]string{"Host": "evil.example"}, 403},
		{"no token", closed, nil, 401},
		{"a wrong token", closed, map[string]string{"Authorization": "Bearer secret-c"}, 401},
		{"a token", closed, map[string]string{"Authorization": "Bearer secret-a"}, 200},
		{"a proxy on this machine", closed, map[string]string{"Authorization": "Bearer secret-a", "Host": "broker.example.com"}, 200},
		{"its own page", closed, map[string]string{"Authorization": "Bearer secret-a", "Host": "broker.example.com", "Origin": "https://broker.example.com"}, 200},
		{"a page of another origin through it", closed, map[string]string{"Authorization": "Bearer secret-a", "Host": "broker.example.com", "Origin": "https://evil.example"}, 403},
		{"a name that resolves to here, without a token", closed, map[string]string{"Host": "evil.example"}, 401},
		{"a scheme in small letters", closed, map[string]string{"Authorization": "bearer secret-b"}, 200},
	} {
		if status, _, answer := post(t, t.Context(), c.url, initialize, c.headers); status != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.want, answer)
		}
	}
	for addr, tokens := range map[string]map[string]string{"0.0.0.0:80": nil, "127.0.0.1:80": {"ann": ""}} {
		if _, err := b.Handler(broker.HTTPOptions{Addr: addr, Tokens: tokens}); err == nil {
			t.Errorf("%s with tokens %v is served", addr, tokens)
		}
	}
}

// What is mounted beside the endpoint is as closed to pages of others.
func TestInterfaceBesideTheEndpoint(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	h, err := b.Handler(broker.HTTPOptions{
		Addr: "127.0.0.1:0", Tokens: map[string]string{"ann": "secret-a"},
		API:       http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "in "+r.URL.Path) }),
		RefuseAPI: func(w http.ResponseWriter, status int, detail string) { http.Error(w, "out: "+detail, status) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, host string
		headers      map[string]string
		status       int
		want         string
	}{
		{"GET", "127.0.0.1", nil, 200, "in /api/skills"},
		{"PUT", "localhost:80", map[string]string{"Origin": "http://localhost:80"}, 200, "in /api/skills"},
		{"PUT", "localhost", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "out: requests from web pages"},
		{"GET", "localhost", map[string]string{"Origin": "https://evil.example"}, 403, "out: origin"},
		{"GET", "evil.example", nil, 403, "out: host"},
	} {
		req := httptest.NewRequest(c.method, "http://"+c.host+"/api/skills", nil)
		for k, v := range c.headers {
			req.Header.Set(k, v)
		}
		res := httptest.NewRecorder()
		h.ServeHTTP(res, req)
		if res.Code != c.status || !strings.HasPrefix(res.Body.String(), c.want) {
			t.Errorf("%s at %s with %v: %d %s, want %d %s", c.method, c.host, c.headers, res.Code, res.Body, c.status, c.want)
		}
	}
}

// Monitoring needs no token, and learns nothing else.
func TestHealth(t *testing.T) {
	t.Parallel()
	failed := upstream.Config{Name: "failed", Command: "no-such-command"}
	hangs := upstream.Config{Name: "hangs", Command: "sleep", Args: []string{"600"}}
	get := func(b *broker.Broker, path string) string {
		h, err := b.Handler(broker.HTTPOptions{Addr: "0.0.0.0:80", Tokens: map[string]string{"ann": "secret-a"}})
		if err != nil {
			t.Fatal(err)
		}
		res := httptest.NewRecorder()
		h.ServeHTTP(res, httptest.NewRequest("GET", "http://10.0.0.1:80"+path, nil))
		return strconv.Itoa(res.Code) + " " + res.Body.String()
	}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files"), failed}})
	eventually(t, "the catalogue is loaded", func() bool { return get(b, "/readyz") == "200 ok\n" })
	b = newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{hangs}})
	if got, want := get(b, "/readyz"), "503 not ready\n"; got != want {
		t.Errorf("/readyz before the server has answered: %q, want %q", got, want)
	}
	if got, want := get(b, "/healthz"), "200 ok\n"; got != want {
		t.Errorf("/healthz: %q, want %q", got, want)
	}
}

// A session belongs to the client that opened it.
func TestSessionIsBoundToItsToken(t *testing.T) {
	url := serveHTTP(t, newBroker(t, broker.Deps{}, broker.Settings{}), map[string]string{"ann": "secret-a", "bob": "secret-b"}).URL
	_, session, _ := post(t, t.Context(), url, initialize, map[string]string{"Authorization": "Bearer secret-a"})
	if session == "" {
		t.Fatal("no session")
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for token, want := range map[string]bool{"secret-a": true, "secret-b": false} {
		status, _, answer := post(t, t.Context(), url, list, map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session})
		if (status == 200) != want {
			t.Errorf("%s in ann's session: status %d: %s", token, status, answer)
		}
	}
}

// A client that goes away in mid-call leaves no script behind, in both eras.
func TestScriptEndsWithItsRequest(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b, started, cancelled := waiting(t)
		srv := serveHTTP(t, b, nil)
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		transport := &http.Transport{}
		cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true, MaxRetries: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			// The answer does not come: the connections are cut.
			_, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": `await files.wait({})`}})
		}()
		eventually(t, version+": the server is called", started)
		srv.CloseClientConnections()
		eventually(t, version+": the server hears of the cancellation", cancelled)
		transport.CloseIdleConnections()
	}
}
