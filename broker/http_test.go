package broker_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
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
	b := newBroker(t, broker.Options{})
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

// A session belongs to the client that opened it.
func TestSessionIsBoundToItsToken(t *testing.T) {
	url := serveHTTP(t, newBroker(t, broker.Options{}), map[string]string{"ann": "secret-a", "bob": "secret-b"}).URL
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
