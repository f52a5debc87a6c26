package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// The outcome of a write is recorded as unknown if nothing is known about it, whatever
// its error says, and not if its server has answered.
func TestUnknownOutcomesAreKept(t *testing.T) {
	const words = "the tool may have run: check before you call it again"
	var ts *httptest.Server
	var c *catalog.Catalog
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	add := func(name string, f func(ctx context.Context) (*mcp.CallToolResult, error)) {
		no := false
		s.AddTool(&mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f(ctx) })
	}
	over := make(chan struct{})
	wait := func(ctx context.Context) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-over:
		}
		return nil, errors.New("nobody waits")
	}
	add("slow", wait)
	add("lose", func(ctx context.Context) (*mcp.CallToolResult, error) {
		go ts.CloseClientConnections()
		return wait(ctx)
	})
	add("race", wait)
	add("fail", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New(words) })
	add("refuse", func(context.Context) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: words}
	})
	add("close", func(ctx context.Context) (*mcp.CallToolResult, error) { go c.Close(); return wait(ctx) })
	ts = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	runs := sqlite.NewRuns(t.TempDir(), nil)
	runner := inproc.New()
	t.Cleanup(func() { close(over); runner.Close(); ts.Close(); runs.Close() })
	for _, tt := range []struct {
		tool, call string
		limit      time.Duration
		lost       bool
	}{
		{"slow", `callMCPTool('t__slow', {})`, 200 * time.Millisecond, true},
		{"lose", `callMCPTool('t__lose', {})`, 0, true},
		{"race", `Promise.race([callMCPTool('t__race', {}), new Promise((r) => setTimeout(r, 300))])`, 0, true},
		{"close", `callMCPTool('t__close', {})`, 0, true},
		{"fail", `callMCPTool('t__fail', {})`, 0, false},
		{"refuse", `callMCPTool('t__refuse', {})`, 0, false},
	} {
		c = catalog.New(catalog.Options{Servers: []upstream.Config{{Name: "t", URL: ts.URL, CallTimeout: tt.limit}}}, &upstream.Options{}, func() {})
		e := run.New(run.Options{Runner: runner, Languages: []sandbox.Language{sandbox.JavaScript}, Language: sandbox.JavaScript, Timeout: 20 * time.Second,
			MaxTimeout: 20 * time.Second, MaxOutputChars: 10_000, Runs: runs}, c, slog.New(slog.DiscardHandler))
		a := e.Execute(t.Context(), run.Request{Code: `let e; try { await ` + tt.call + ` } catch (x) { e = x }
			if (e) console.log(e.mayHaveRun, e.retryable, e.code); throw new Error('over')`})
		c.Close()
		list, err := runs.Runs(t.Context(), 1)
		if err != nil || len(list) != 1 {
			t.Fatal(a, list, err)
		}
		_, calls, err := runs.Run(t.Context(), list[0].ID)
		if err != nil || len(calls) < 1 {
			t.Fatalf("%s: %v, %v", tt.tool, err, calls)
		}
		i := 0
		for i < len(calls)-1 && calls[i].Tool != "t__"+tt.tool {
			i++
		}
		if row := calls[i]; row.Lost() != tt.lost || !tt.lost && row.State != state.RunFailed {
			t.Errorf("%s: the call is %s; the script saw %q; failure %s", tt.tool, row.State, a.Stdout, row.Failure)
		}
		if tt.lost && tt.tool != "race" && a.Stdout[:4] != "true" || !tt.lost && a.Stdout[:9] != "undefined" {
			t.Errorf("%s: the script saw %q", tt.tool, a.Stdout)
		}
	}
}
