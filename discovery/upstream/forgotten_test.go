package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A forgetful server forgets its sessions on request. It then refuses every request
// except initialize.
type forgetful struct {
	mu     sync.Mutex
	n      int // of the session
	known  bool
	refuse func(w http.ResponseWriter, id string)
	ran    atomic.Int32 // calls that ran
}

func (f *forgetful) serve(w http.ResponseWriter, r *http.Request, id, method, tool string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case method == "server/discover":
		reply(w, 400, "text/plain", "what?")
		return true
	case method == "initialize":
		f.n++
		f.known = true
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(f.n))
	case r.Method == http.MethodPost && (!f.known || r.Header.Get("Mcp-Session-Id") != fmt.Sprint(f.n)):
		f.refuse(w, id)
		return true
	case tool != "":
		f.ran.Add(1)
	}
	return false
}

func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = false
}

// However a server reports that it has forgotten a session, at most one call fails, and
// no call that may have run is repeated.
func TestForgottenSessionIsOpenedAnew(t *testing.T) {
	t.Parallel()
	text := func(status int, kind, body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) { reply(w, status, kind, strings.ReplaceAll(body, "$ID", id)) }
	}
	const json, stream = "application/json", "text/event-stream"
	for name, tt := range map[string]struct {
		refuse func(http.ResponseWriter, string)
		fail   int // calls that may fail
	}{
		"404 with a page":               {text(404, "text/html", "<h1>Not Found</h1>"), 0},
		"404 without a body":            {text(404, "", ""), 0},
		"404 with another id":           {text(404, json, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`), 0},
		"404 with the id":               {text(404, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Session not found"}}`), 0},
		"404 without an id":             {text(404, json, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`), 0},
		"400 with words":                {text(400, "text/plain", "Bad Request: No valid session ID provided"), 0},
		"400 with an error":             {text(400, json, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`), 0},
		"400 with an error on a stream": {text(400, stream, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"Bad Request: Server not initialized\"},\"id\":null}\n\n"), 0},
		"410":                           {text(410, "text/plain", "gone"), 0},
		"500 of a gateway":              {text(500, json, `{"error":"Error POSTing to endpoint (HTTP 400): No valid session ID provided"}`), 1},
		"an error, -32600":              {text(200, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32600,"message":"Session expired"}}`), 0},
		"an error, -32602":              {text(200, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Invalid request parameters","data":""}}`), 0},
		"an error, -32002":              {text(200, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32002,"message":"Server not initialized"}}`), 0},
		"an error, -32000":              {text(200, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Server not initialized"}}`), 1},
		"an error, 0":                   {text(200, json, `{"jsonrpc":"2.0","id":$ID,"error":{"code":0,"message":"method \"tools/call\" is invalid during session initialization"}}`), 1},
		"an error on a stream, no id":   {text(200, stream, "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Session not found\"}}\n\n"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{refuse: tt.refuse}
			p := newPuppet(t, "http json", &fakeupstream.Puppet{HTTP: f.serve})
			call := func() error {
				_, err := p.Call(t.Context(), "s", "echo", nil, nil)
				return err
			}
			if st := p.Refresh(t.Context())[0]; st.State != StateReady {
				t.Fatalf("status = %+v", st)
			}
			good, failed := int32(0), 0
			for round := range 2 {
				for range 3 {
					if err := call(); err != nil {
						failed++
						if e, ok := errors.AsType[*ConnectError](err); !ok || !e.Sent {
							t.Errorf("round %d: %T, which does not say that the call may have run: %v", round, err, err)
						}
					} else {
						good++
					}
				}
				if round == 0 {
					f.forget()
				}
			}
			if failed > tt.fail {
				t.Errorf("%d calls failed, want at most %d", failed, tt.fail)
			}
			if n := f.ran.Load(); n != good {
				t.Errorf("%d calls ran, %d had a result", n, good)
			}
			if f.n != 2 {
				t.Errorf("%d sessions, want 2", f.n)
			}
		})
	}
}

// The refusal of one call does not mean that the session is gone, whatever its code.
func TestRefusedCallKeepsItsSession(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"stdio", "http json", "sse"} {
		puppet := new(fakeupstream.Puppet)
		p := newPuppet(t, wire, puppet)
		for _, code := range []int{-32600, -32602, -32603, -32000, -32001, -32002, 0, 7} {
			puppet.On("tools/call echo", fakeupstream.Refusal(code, "not this one"))
			if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("not this one (code %d)", code)) {
				t.Errorf("%s, code %d: %v", wire, code, err)
			}
		}
		if n, calls := puppet.Seen("initialize"), puppet.Seen("tools/call echo"); n != 1 || calls != 8 {
			t.Errorf("%s: %d sessions and %d calls, want 1 and 8", wire, n, calls)
		}
	}
}

// An error of a server may have the code and the text of an SDK error for closed
// connections. It answers its call, which is not sent again, and the session continues.
func TestErrorWithTheWordsOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		puppet := new(fakeupstream.Puppet)
		p := newPuppet(t, wire, puppet)
		refusals := []string{
			fakeupstream.Refusal(-32005, "rejected by transport"), fakeupstream.Refusal(-32001, "rejected by transport"), fakeupstream.Refusal(-32005, "limit exceeded"),
			fakeupstream.Refusal(-32003, "client is closing"), fakeupstream.Refusal(-32004, "server is closing"), fakeupstream.Refusal(-32004, "no such record"), fakeupstream.Refusal(-32003, "not permitted"),
		}
		for _, refusal := range refusals {
			puppet.On("tools/call echo", refusal)
			_, err := p.Call(t.Context(), "s", "echo", nil, nil)
			if e, ok := errors.AsType[*RPCError](err); !ok || !strings.Contains(refusal, fmt.Sprint(e.Code)) || !strings.Contains(refusal, e.Message) {
				t.Errorf("%s: %s became %T: %v", wire, refusal, err, err)
			}
		}
		if n, calls := puppet.Seen("initialize"), puppet.Seen("tools/call echo"); n != 1 || calls != len(refusals) {
			t.Errorf("%s: %d sessions and %d calls, want 1 and %d", wire, n, calls, len(refusals))
		}
	}
}

// HTTP 404 for one call comes from a proxy in front of the server.
func TestNotFoundForOneCallKeepsTheSession(t *testing.T) {
	t.Parallel()
	f := &forgetful{refuse: func(w http.ResponseWriter, _ string) { reply(w, 404, "", "") }}
	p := newPuppet(t, "http json", &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, r *http.Request, id, method, tool string) bool {
		if tool == "blocked" {
			reply(w, 404, "text/html", "blocked by rule 7")
			return true
		}
		return f.serve(w, r, id, method, tool)
	}})
	for range 4 {
		if _, err := p.Call(t.Context(), "s", "blocked", nil, nil); err == nil || !strings.Contains(err.Error(), "HTTP 404 Not Found: blocked by rule 7") {
			t.Errorf("the call that is blocked: %v", err)
		}
		if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if f.n != 1 {
		t.Errorf("%d sessions, want 1", f.n)
	}
}

// A program that a watcher has restarted behind the same pipes does not know the
// session.
func TestForgottenSessionOverStdio(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32600, -32602, -32002, -32000, 0} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			puppet := new(fakeupstream.Puppet)
			p := newPuppet(t, "stdio", puppet)
			call := func() error {
				_, err := p.Call(t.Context(), "s", "echo", nil, nil)
				return err
			}
			p.Refresh(t.Context())
			if err := call(); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"tools/call", "tools/list"} {
				puppet.UntilInitialize(method, fakeupstream.Refusal(code, "not initialized"))
			}
			failed := 0
			for range 3 {
				if err := call(); err != nil {
					failed++
				}
			}
			if failed > 1 || code < -32000 && failed > 0 {
				t.Errorf("%d calls failed", failed)
			}
			if n := puppet.Seen("initialize"); n != 2 {
				t.Errorf("%d sessions, want 2", n)
			}
		})
	}
}

// Calls that are refused at the same time share the check whether their session exists,
// and each gets a check that began after its refusal.
func TestRefusedCallsShareTheProbe(t *testing.T) {
	for _, gone := range []bool{false, true} {
		for _, code := range []int64{-32600, -32602, -32000} {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, Config{}, nil)
				defer l.Close()
				refusal := &jsonrpc.Error{Code: code, Message: "not this one"}
				var refusing, forgotten atomic.Bool
				var probes, opened atomic.Int32
				probed := make(chan struct{})
				l.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						switch {
						case method == "server/discover":
							return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no"}
						case method == "initialize":
							opened.Add(1)
							refusing.Store(false)
							forgotten.Store(false)
						case method == "tools/call" && refusing.Load():
							return nil, refusal
						case method == "tools/list" && refusing.Load():
							probes.Add(1)
							<-probed
							if forgotten.Load() {
								return nil, refusal
							}
						}
						return next(ctx, method, req)
					}
				})
				l.Refresh(t.Context())
				refusing.Store(true)
				forgotten.Store(gone)
				var wg sync.WaitGroup
				for range 12 { // fewer than the slots for calls
					wg.Go(func() { _, _ = l.Call(t.Context(), "s", "echo", nil, nil) })
					synctest.Wait() // refused while the first probe runs
				}
				close(probed)
				wg.Wait()
				if n := probes.Load(); n > 2 || gone && n != 1 {
					t.Errorf("gone %v, code %d: %d probes of 12 refused calls", gone, code, n)
				}
				refusing.Store(gone && opened.Load() == 1) // the next call opens the session
				_, _ = l.Call(t.Context(), "s", "echo", nil, nil)
				if n := opened.Load(); gone != (n == 2) {
					t.Errorf("gone %v, code %d: %d sessions", gone, code, n)
				}
			})
		}
	}
}
