package surface

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// A counting feature has a tool that counts how often it was called, and waits if
// there is something to wait for.
type counting struct {
	calls atomic.Int32
	began chan struct{}
	end   chan struct{}
}

func (f *counting) Tools() []Tool {
	return []Tool{{
		Tool: &mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)},
		Handler: func(ctx context.Context, c *Call) (*mcp.CallToolResult, error) {
			f.calls.Add(1)
			if f.began != nil {
				f.began <- struct{}{}
				<-f.end
			}
			return TextResult(gate.NewText("answer "+c.Execution+string(c.Arguments)), false), nil
		},
	}}
}

// withKeys is a client of two brokers that share what they were asked.
func withKeys(t *testing.T, f *counting) (docs *files.Documents, ask func(broker int, header, key, args string) *mcp.CallToolResult) {
	docs = files.OpenDocuments(t.TempDir())
	var sessions [2]*mcp.ClientSession
	header := make(http.Header)
	for i := range sessions {
		handler, err := New(Options{Requests: docs}, slog.New(slog.DiscardHandler), f).Handler(HTTPOptions{Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name := range header {
				r.Header.Set(name, header.Get(name))
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		sessions[i] = session
	}
	return docs, func(broker int, name, key, args string) *mcp.CallToolResult {
		p := &mcp.CallToolParams{Name: "count", Arguments: json.RawMessage(args)}
		if name != "" {
			header.Set(name, key)
			defer header.Del(name)
		} else if key != "" {
			p.Meta = mcp.Meta{KeyMeta: key}
		}
		res, err := sessions[broker].CallTool(t.Context(), p)
		if err != nil {
			t.Error(err)
			return &mcp.CallToolResult{}
		}
		return res
	}
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func TestOneKeyOneCall(t *testing.T) {
	f := new(counting)
	docs, ask := withKeys(t, f)
	first := textOf(ask(0, "", "k1", `{"n":1}`))
	if second := textOf(ask(1, "", "k1", `{"n":1}`)); second != first || f.calls.Load() != 1 {
		t.Errorf("the same request again: %q after %q, %d calls", second, first, f.calls.Load())
	}
	if !strings.Contains(first, "answer e_") {
		t.Errorf("the call has no ID of an execution: %q", first)
	}
	if res := ask(1, "", "k1", `{"n":2}`); !res.IsError || !strings.Contains(textOf(res), "other arguments") || f.calls.Load() != 1 {
		t.Errorf("the key of another request: %q", textOf(res))
	}
	header := textOf(ask(0, KeyHeader, "k2", `{}`))
	if again := textOf(ask(1, KeyHeader, "k2", `{}`)); again != header || f.calls.Load() != 2 {
		t.Errorf("a key in a header: %q after %q, %d calls", again, header, f.calls.Load())
	}
	if ask(0, "", "", `{}`); f.calls.Load() != 3 {
		t.Error("a request without a key was not done")
	}
	if ask(0, "", "", `{}`); f.calls.Load() != 4 {
		t.Error("a second request without a key was not done")
	}
	if res := ask(0, "", strings.Repeat("k", maxKey+1), `{}`); !res.IsError || f.calls.Load() != 4 {
		t.Errorf("a key that is too long: %q", textOf(res))
	}
	// A broker that ended while it worked on a request has written this much.
	if err := storeAnswer(t.Context(), docs, digest("", "k3"), requested{Digest: digest("count", `{}`), Execution: "e_gone"}); err != nil {
		t.Fatal(err)
	}
	if res := ask(0, "", "k3", `{}`); !res.IsError || !strings.Contains(textOf(res), "lost") || !strings.Contains(textOf(res), "broker audit show e_gone") || f.calls.Load() != 4 {
		t.Errorf("a request that was lost: %q", textOf(res))
	}
}

// A request that is repeated during the first one waits for its answer.
func TestSecondRequestWaitsForTheFirst(t *testing.T) {
	f := &counting{began: make(chan struct{}, 1), end: make(chan struct{})}
	_, ask := withKeys(t, f)
	var answers [2]string
	var wg sync.WaitGroup
	wg.Go(func() { answers[0] = textOf(ask(0, "", "k", `{}`)) })
	<-f.began
	wg.Go(func() { answers[1] = textOf(ask(1, "", "k", `{}`)) })
	close(f.end)
	wg.Wait()
	if answers[0] != answers[1] || answers[0] == "" || f.calls.Load() != 1 {
		t.Errorf("answers %q after %d calls", answers, f.calls.Load())
	}
}
