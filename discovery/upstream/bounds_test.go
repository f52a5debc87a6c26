package upstream

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pack is text as one member of a gzip stream, which may have many.
func pack(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

// inflate answers with size bytes of nothing, packed, behind head.
func inflate(w http.ResponseWriter, kind, head string, size int) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(pack(head))
	blank := pack(strings.Repeat(" ", 1<<20))
	for ; size > 0; size -= 1 << 20 {
		if _, err := w.Write(blank); err != nil {
			return
		}
	}
}

// A packed answer to any method costs no more memory than the limit of its kind,
// and is an error.
func TestPackedAnswersAreBounded(t *testing.T) {
	const size = 200 << 20 // without a bound, several times that in memory
	tests := []struct {
		method, kind, head string
		limit              uint64 // MiB of new memory at most, ever
	}{
		{"server/discover", "application/json", `{"jsonrpc":"2.0","id":1,"result":{`, 64},
		{"initialize", "application/json", `{"jsonrpc":"2.0","id":1,"result":{`, 64},
		{"initialize", "text/event-stream", "data: {", 64},
		{"tools/list", "application/json", `{"jsonrpc":"2.0","id":1,"result":{`, 400},
		{"tools/call", "text/event-stream", "id: ", 400},
		{"GET", "text/event-stream", ": ", 400},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.kind, func(t *testing.T) {
			good := rawHTTP(false)
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method == tt.method || strings.Contains(string(body), `"`+tt.method+`"`) {
					inflate(w, tt.kind, tt.head, size)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				good.ServeHTTP(w, r)
			}))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p := newPool(t, nil, remoteConfig(url))
			st := p.Refresh(t.Context())[0]
			_, err := p.Call(t.Context(), "s", "echo", nil, nil)
			p.Close()
			runtime.ReadMemStats(&after)
			switch tt.method {
			case "GET", "server/discover": // not relevant here
				if err != nil {
					t.Errorf("the call failed: %v", err)
				}
			case "initialize", "tools/list":
				if st.Err == nil {
					t.Errorf("no error: %+v", st)
				}
			default:
				if err == nil {
					t.Error("the call has no error")
				}
			}
			if got := (after.Sys - before.Sys) >> 20; got > tt.limit {
				t.Errorf("%d MiB were taken, want at most %d", got, tt.limit)
			}
		})
	}
}

// A server that leaves open whether it has a stream is used without one.
func TestSilentStreamIsNone(t *testing.T) {
	t.Parallel()
	good := rawHTTP(false)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		good.ServeHTTP(w, r)
	}))
	cfg := remoteConfig(url)
	cfg.StartTimeout = 4 * time.Second
	p := newPool(t, nil, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 1 {
		t.Fatalf("status = %+v", st)
	}
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

// A server that asks without end and never takes an answer in holds no more than
// a few connections, and is called all the same.
func TestAnswersThatNobodyTakesAreBounded(t *testing.T) {
	t.Parallel()
	good := rawHTTP(false)
	var listed, now, most atomic.Int32
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 1000 {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i+1000)
			}
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"method"`) {
			most.Store(max(most.Load(), now.Add(1)))
			<-r.Context().Done()
			now.Add(-1)
			return
		}
		if strings.Contains(string(body), `"tools/list"`) {
			listed.Add(1)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		good.ServeHTTP(w, r)
	}))
	p := newPool(t, nil, remoteConfig(url))
	if st := p.Refresh(t.Context())[0]; st.State != StateReady {
		t.Fatalf("status = %+v", st)
	}
	eventually.True(t, "the server is listed twice", func() bool { return listed.Load() >= 2 })
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Error(err)
	}
	if n := most.Load(); n > transport.MaxAnswers {
		t.Errorf("%d answers were on their way, want at most %d", n, transport.MaxAnswers)
	}
}

// What is sent to one server reaches no other, whatever the first says.
func TestRequestsStayAtTheirOrigin(t *testing.T) {
	var stray atomic.Int32
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stray.Add(1)
		rawHTTP(false).ServeHTTP(w, r)
	}))
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, method := range []string{"initialize", "tools/call"} {
			t.Run(fmt.Sprint(method, status), func(t *testing.T) {
				url := serve(t, redirecting(method, other, status))
				p := newPool(t, nil, remoteConfig(url))
				st := p.Refresh(t.Context())[0]
				_, err := p.Call(t.Context(), "s", "echo", json.RawMessage(`{"amount":1}`), nil)
				if err == nil || !strings.Contains(err.Error(), "another origin") || !strings.Contains(err.Error(), other) {
					t.Errorf("err = %v", err)
				}
				if method == "initialize" && !strings.Contains(st.Hint, other) {
					t.Errorf("hint = %q", st.Hint)
				}
			})
		}
	}
	t.Run("endpoint of SSE", func(t *testing.T) {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		cfg := remoteConfig(url)
		cfg.Type = "sse"
		p := newPool(t, nil, cfg)
		if st := p.Refresh(t.Context())[0]; st.Err == nil || !strings.Contains(st.Err.Error(), "another origin") {
			t.Errorf("status = %+v", st)
		}
	})
	if n := stray.Load(); n > 0 {
		t.Errorf("another server got %d requests", n)
	}
}

// redirecting serves well, but sends one method elsewhere.
func redirecting(method, to string, status int) http.Handler {
	good := rawHTTP(false)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"`+method+`"`) {
			http.Redirect(w, r, to+r.URL.Path, status)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		good.ServeHTTP(w, r)
	})
}

// A redirect at the same origin is followed, with its body.
func TestRedirectAtTheSameOriginIsFollowed(t *testing.T) {
	good := mcp.NewStreamableHTTPHandler(goodServer, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
			return
		}
		good.ServeHTTP(w, r)
	}))
	p := newPool(t, nil, remoteConfig(url+"/mcp"))
	if _, err := p.Call(t.Context(), "s", "echo", json.RawMessage(`{"a":1}`), nil); err != nil {
		t.Error(err)
	}
}
