package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A watcher is a policy that asks about t__ask and records what the run has read by
// then.
type watcher struct{ read []string }

func (w *watcher) Decide(c policy.Call) policy.Decision {
	if c.Tool.Name != "ask" {
		return policy.Decision{}
	}
	w.read = nil
	for _, r := range c.Run.Read {
		w.read = append(w.read, r.Tool.ID)
	}
	slices.Sort(w.read)
	return policy.Decision{Effect: policy.Ask, Code: "rule", Reason: "needs a look"}
}

// A resumed run has read what it read before: values, errors and resources, under every
// name that the script uses for a tool.
func TestResumedRunHasReadWhatItRead(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	for name, f := range map[string]func() (*mcp.CallToolResult, error){
		"ask":   func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil },
		"value": func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil },
		"fail":  func() (*mcp.CallToolResult, error) { return nil, errors.New("the key is 4711") },
		"refuse": func() (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "the key is 4711"}
		},
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f() })
	}
	s.AddResource(&mcp.Resource{Name: "note", URI: "file:///note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///note", Text: "hello"}}}, nil
	})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	c := catalog.New(catalog.Options{Servers: []upstream.Config{{Name: "t", URL: ts.URL}}}, &upstream.Options{}, func() {})
	runs, runner := sqlite.NewRuns(t.TempDir(), nil), inproc.New()
	t.Cleanup(func() { runner.Close(); c.Close(); ts.Close(); runs.Close() })
	w := &watcher{}
	executor := func() *run.Executor { // without the pasts of other executors
		return run.New(run.Options{Runner: runner, Languages: []sandbox.Language{sandbox.JavaScript}, Language: sandbox.JavaScript, Policy: policy.List{w},
			Timeout: 20 * time.Second, MaxTimeout: 20 * time.Second, MaxOutputChars: 10_000, Runs: runs}, c, slog.New(slog.DiscardHandler))
	}
	a := executor().Execute(t.Context(), run.Request{Code: `
		await callMCPTool('t', 'value', {});
		for (const name of ['t/fail', 't:refuse']) { try { await callMCPTool(name, {}) } catch {} }
		await callMCPTool('t__read_resource', { uri: 'file:///note' });
		try { await callMCPTool('t__nothing', {}) } catch {}
		await callMCPTool('t__ask', {});`})
	want := []string{"t__fail", "t__read_resource", "t__refuse", "t__value"}
	if diff := cmp.Diff(want, w.read); diff != "" || a.ExitCode != sandbox.ExitApproval {
		t.Fatalf("the first time (-want +got):\n%s%+v", diff, a)
	}
	err := runs.Change(t.Context(), a.RunID, func(r *state.Run, calls []state.RunCall) error {
		return state.Verdict{Approve: true}.Decide(r, calls, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	w.read = nil
	b := executor().Execute(t.Context(), run.Request{Resume: a.RunID})
	if diff := cmp.Diff(want, w.read); diff != "" || b.ExitCode != 0 {
		t.Errorf("when it goes on (-want +got):\n%s%+v", diff, b)
	}
}
