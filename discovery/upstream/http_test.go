package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func goodServer(*http.Request) *mcp.Server { return fakeupstream.NewGood() }

func remoteConfig(url string) Config {
	return Config{Name: "s", URL: url, StartTimeout: 30 * time.Second, CallTimeout: 30 * time.Second}
}

func TestRemoteTransports(t *testing.T) {
	streamable := func(o *mcp.StreamableHTTPOptions) http.Handler { return mcp.NewStreamableHTTPHandler(goodServer, o) }
	tests := []struct {
		name, kind string
		handler    http.Handler
		transport  string
		protocol   string
	}{
		{"stateless", "", streamable(&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}), "http", modernSince},
		{"stateless with JSON answers", "http", streamable(&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), "http", modernSince},
		{"sessions", "", streamable(&mcp.StreamableHTTPOptions{SessionTimeout: time.Minute}), "http", legacyVersion},
		{"sessions with JSON answers", "", streamable(&mcp.StreamableHTTPOptions{SessionTimeout: time.Minute, JSONResponse: true}), "http", legacyVersion},
		{"SSE by name", "sse", mcp.NewSSEHandler(goodServer, nil), "sse", legacyVersion},
		{"SSE found out", "", mcp.NewSSEHandler(goodServer, nil), "sse", legacyVersion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := remoteConfig(serve(t, tt.handler))
			cfg.Type = tt.kind
			p := newPool(t, nil, cfg)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Transport != tt.transport || st.Protocol != tt.protocol || st.Tools != 6 {
				t.Fatalf("status = %+v", st)
			}
			args := `{"b":9007199254740993,"a":1.10}`
			got, err := p.Call(t.Context(), "s", "echo", json.RawMessage(args), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text := textOf(t, got); text != args {
				t.Errorf("echo = %s", text)
			}
			if !strings.Contains(tt.name, "JSON") { // one JSON answer has no room for progress
				checkProgress(t, p)
			}
			var rpc *RPCError
			if _, err := p.Call(t.Context(), "s", "nope", nil, nil); !errors.As(err, &rpc) || rpc.Code != -32602 {
				t.Errorf("unknown tool: %v", err)
			}
		})
	}
}

// rawHTTP answers Streamable HTTP by hand with a result that a decoder spoils.
func rawHTTP(stream bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body := ""
		switch m.Method {
		case "initialize":
			body = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			body = `"result":{"tools":[{"name":"echo","annotations":{"readOnlyHint":"yes"}}]}`
		case "tools/call":
			body = `"result":` + fakeupstream.NumbersResult
		default:
			body = `"error":{"code":-32601,"message":"Method not found"}`
		}
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
		switch {
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		case stream:
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprintf(w, ": hello\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\r\n\r\n")
			fmt.Fprintf(w, "event: message\ndata:%s\n\n", message)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, message)
		}
	})
}

func TestResultsArriveAsSentOverHTTP(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) {
			p := newPool(t, nil, remoteConfig(serve(t, rawHTTP(stream))))
			if st := p.Refresh(t.Context())[0]; st.Tools != 1 || st.Err != nil {
				t.Fatalf("status = %+v", st)
			}
			got, err := p.Call(t.Context(), "s", "echo", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != fakeupstream.NumbersResult {
				t.Errorf("got  %s\nwant %s", got, fakeupstream.NumbersResult)
			}
		})
	}
}

func TestRefusedCredentialsAreNotRetried(t *testing.T) {
	for status, want := range map[int]State{http.StatusUnauthorized: StateNeedsSignIn, http.StatusForbidden: StateFailed} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var asked atomic.Int32
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(status)
			}))
			p := newPool(t, nil, remoteConfig(url))
			p.Start(t.Context())
			var ce *ConnectError
			if err := p.Wait(t.Context(), "s"); !errors.As(err, &ce) || ce.State != want || !strings.Contains(err.Error(), fmt.Sprint("HTTP ", status)) {
				t.Errorf("Wait = %v (%+v), want state %s", err, ce, want)
			}
			s := p.roster.Load().servers[0]
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.retryTimer != nil || s.state != want || !strings.Contains(s.hint, `"headers"`) {
				t.Errorf("state %s, hint %q, retried by itself: %v", s.state, s.hint, s.retryTimer != nil)
			}
		})
	}
}

func TestSecretsStayWithTheirHost(t *testing.T) {
	var mu sync.Mutex
	var leaked []string
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			if v := r.Header.Get(k); v != "" {
				leaked = append(leaked, k+": "+v)
			}
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	seen := make(chan string, 100)
	here := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("X-Api-Key")
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	}))
	cfg := remoteConfig(here)
	cfg.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "${TOKEN}", "Cookie": "a=${TOKEN}"}
	p := newPool(t, &Options{Expand: expandToken}, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateFailed {
		t.Errorf("status = %+v", st)
	}
	if got := <-seen; got != "s3cr3t-value" {
		t.Errorf("the server itself got %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Errorf("another host got %q", leaked)
	}
}

func expandToken(s string) (string, error) {
	return strings.ReplaceAll(s, "${TOKEN}", "s3cr3t-value"), nil
}

func TestSecretsAreNotInErrors(t *testing.T) {
	cfg := remoteConfig("http://127.0.0.1:1/${TOKEN}/mcp")
	p := newPool(t, &Options{Expand: expandToken}, cfg)
	st := p.Refresh(t.Context())[0]
	if st.Err == nil || strings.Contains(st.Err.Error(), "s3cr3t") || !strings.Contains(st.Err.Error(), "${TOKEN}") {
		t.Errorf("err = %v", st.Err)
	}
	if !strings.Contains(st.Err.Error(), "connection refused") || !strings.Contains(st.Hint, `"url"`) {
		t.Errorf("err = %v, hint %q", st.Err, st.Hint)
	}
}

func TestLostSessionIsOpenedAgain(t *testing.T) {
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	handler.Store(mcp.NewStreamableHTTPHandler(goodServer, nil))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	p := newPool(t, nil, remoteConfig(url))
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	handler.Store(mcp.NewStreamableHTTPHandler(goodServer, nil)) // restarted: knows no session
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Errorf("call after the server lost its sessions: %v", err)
	}
}

// A server that is started anew while it is being listed for the first time is
// called and listed all the same, at once.
func TestSessionLostWhileItIsListed(t *testing.T) {
	t.Run("wait", func(t *testing.T) {
		loseSession(t, func(p *Pool) error { return p.Wait(t.Context(), "s") })
	})
	t.Run("refresh", func(t *testing.T) {
		loseSession(t, func(p *Pool) error {
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 6 {
				return fmt.Errorf("status %+v", st)
			}
			return nil
		})
	})
}

// loseSession has a server start anew while learn waits for its tools.
func loseSession(t *testing.T, learn func(*Pool) error) {
	t.Helper()
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	handler.Store(mcp.NewStreamableHTTPHandler(goodServer, nil))
	listing, restarted := make(chan struct{}), make(chan struct{})
	var first sync.Once
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/list"`)) {
			first.Do(func() {
				close(listing)
				<-restarted
			})
		}
		handler.Load().ServeHTTP(w, r)
	}))
	p := newPool(t, nil, remoteConfig(url))
	known := make(chan error, 1)
	go func() { known <- learn(p) }()
	<-listing
	handler.Store(mcp.NewStreamableHTTPHandler(goodServer, nil))
	close(restarted)
	if err := <-known; err != nil {
		t.Errorf("the server that was started anew: %v", err)
	}
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Errorf("call: %v", err)
	}
}

// One that forgets every session is not chased.
func TestSessionsThatAreAlwaysLost(t *testing.T) {
	var sessions atomic.Int32
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" {
			sessions.Add(1)
		}
		mcp.NewStreamableHTTPHandler(goodServer, nil).ServeHTTP(w, r) // knows no session
	}))
	p := newPool(t, nil, remoteConfig(url))
	if err := p.Wait(t.Context(), "s"); err == nil {
		t.Error("no error")
	}
	if st := p.Refresh(t.Context())[0]; st.State != StateFailed || st.Err == nil {
		t.Errorf("status %+v", st)
	}
	if n := sessions.Load(); n > 8*maxQuickDeaths {
		t.Errorf("%d requests for a session", n)
	}
}

// Calls to it fail, and each is no new chase.
func TestCallsToAServerThatLosesItsSessions(t *testing.T) {
	var sessions atomic.Int32
	var forgets atomic.Bool
	good := mcp.NewStreamableHTTPHandler(goodServer, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !forgets.Load() {
			good.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			sessions.Add(1)
		}
		mcp.NewStreamableHTTPHandler(goodServer, nil).ServeHTTP(w, r) // knows no session
	}))
	p := newPool(t, nil, remoteConfig(url))
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	forgets.Store(true)
	var last error
	for range 20 {
		_, last = p.Call(t.Context(), "s", "echo", nil, nil)
	}
	if n := sessions.Load(); n > 4*maxQuickDeaths {
		t.Errorf("%d requests for a session", n)
	}
	var ce *ConnectError
	if !errors.As(last, &ce) || ce.RetryIn <= 0 {
		t.Errorf("last call: %v", last)
	}
}

func TestBadURLs(t *testing.T) {
	for _, url := range []string{"ftp://x", "://", "http://", "localhost:80"} {
		p := newPool(t, nil, remoteConfig(url))
		if st := p.Refresh(t.Context())[0]; st.State != StateFailed || !strings.Contains(st.Hint, `"url"`) {
			t.Errorf("%q: status = %+v", url, st)
		}
	}
}

func TestHangingRemoteTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer close(release)
	for _, kind := range []string{"", "sse"} {
		cfg := remoteConfig(url)
		cfg.Type, cfg.StartTimeout = kind, 300*time.Millisecond
		p := newPool(t, nil, cfg)
		if st := p.Refresh(t.Context())[0]; st.State != StateFailed || !strings.Contains(st.Err.Error(), "no answer to initialize for 0.3 s") {
			t.Errorf("type %q: status = %+v", kind, st)
		}
	}
}
