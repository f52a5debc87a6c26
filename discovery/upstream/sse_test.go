package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// Over the 2024-11-05 transport, too, a bad message fails one call: events of other
// kinds before and after the address, refused messages, unreadable data.
func TestOneBadThingOverSSE(t *testing.T) {
	t.Parallel()
	puppet := new(fakeupstream.Puppet)
	good := puppet.SSE()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": keepalive\n\nretry: 5\n\nevent: ping\ndata: {}\n\n\n")
			good.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch text := string(body); {
		case strings.Contains(text, `"large"`):
			reply(w, 413, "text/html", "<h1>413 Too Large</h1>")
		case !strings.Contains(text, `"method"`) || !strings.Contains(text, `"id"`):
			reply(w, 400, "text/plain", "no answers and no notifications, please")
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			good.ServeHTTP(w, r)
		}
	}))
	cfg := remoteConfig(url)
	cfg.Type = "sse"
	p := newPool(t, nil, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 1 {
		t.Fatalf("status = %+v", st)
	}
	answer := fakeupstream.Result(`{"content":[{"type":"text","text":"here"}]}`)
	call := func(what, tool, want string, frames ...string) {
		t.Helper()
		puppet.On("tools/call "+tool, frames...)
		got, err := p.Call(t.Context(), "s", tool, nil, nil)
		switch {
		case want == "" && (err != nil || textOf(t, got) != "here"):
			t.Errorf("%s: %s, %v", what, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", what, err, want)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { call("a refused call", "large", "HTTP 413 Request Entity Too Large: 413 Too Large") })
	wg.Go(func() { call("a call beside it", "echo", "", answer) })
	wg.Wait()
	call("a ping whose answer is refused", "echo", "", `{"jsonrpc":"2.0","id":5,"method":"ping"}`, answer)
	call("data that is no message", "echo", "", "hello", "[1]", "{}", answer)
	call("other events", "echo", "", "\n\nevent: ping\ndata: {}\n\nno colon\n\n: c\n\nevent: message\ndata: "+answer)
	call("NaN", "echo", "it contains NaN or Infinity", fakeupstream.Result(`{"x":NaN}`))
	call("nested too deep", "echo", "deeper than 10,000", fakeupstream.Result(deep))
	call("the end", "echo", "", answer)
	if n := puppet.Seen("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// Events before a session is open have the same size limit as answers at that time,
// whatever they consist of.
func TestEventsBeforeASessionAreBounded(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("a", 64<<10)
	for name, c := range map[string]struct{ head, more string }{
		"a name that does not end": {"event: ", chunk}, "a comment that does not end": {": ", chunk}, "lines of data": {"event: endpoint\n", "data: " + chunk + "\n"},
		"ids": {"", "id: " + chunk + "\n"}, "an event after the address": {"event: endpoint\ndata: /messages\n\ndata: ", chunk},
	} {
		var sent atomic.Int64
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, err := io.WriteString(w, c.head)
			for ; err == nil && sent.Load() < 100<<20; sent.Add(int64(len(c.more))) {
				_, err = io.WriteString(w, c.more)
			}
		}))
		cfg := remoteConfig(url)
		cfg.Type = "sse"
		p := newPool(t, nil, cfg)
		st := p.Refresh(t.Context())[0]
		p.Close()
		if st.Err == nil || sent.Load() > 32<<20 {
			t.Errorf("%s: %d MiB were sent, %v", name, sent.Load()>>20, st.Err)
		}
	}
}
