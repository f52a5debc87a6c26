package run_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A tool that has become another one after its call was approved, and before the
// run goes on, is not called: without pins the call is asked about again, with
// pins it is refused until the tool is approved.
func TestToolThatChangesAfterItsApprovalIsNotCalled(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		calls := 0
		s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		add := func(schema string) {
			s.AddTool(&mcp.Tool{Name: "ask", Description: "Asks.", InputSchema: json.RawMessage(schema)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					calls++
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
				})
		}
		add(`{"type":"object"}`)
		ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
		o := catalog.Options{Servers: []upstream.Config{{Name: "t", URL: ts.URL}}}
		if pinned {
			o.Pins = pins.Open(files.OpenPins(t.TempDir()), nil)
		}
		c := catalog.New(o, &upstream.Options{}, func() {})
		runs, runner := sqlite.NewRuns(t.TempDir(), nil), inproc.New()
		t.Cleanup(func() { runner.Close(); c.Close(); ts.Close(); runs.Close() })
		x := run.New(run.Options{
			Runner: runner, Languages: []sandbox.Language{sandbox.JavaScript}, Language: sandbox.JavaScript, Policy: policy.List{asks{"ask"}},
			Timeout: 20 * time.Second, MaxTimeout: 20 * time.Second, MaxOutputChars: 10_000, Runs: runs,
		}, c, slog.New(slog.DiscardHandler))
		do := func(req run.Request) run.Answer { return x.Execute(t.Context(), req) }
		a := do(run.Request{Code: `return await callMCPTool('t__ask', {})`})
		if a.ExitCode != sandbox.ExitApproval {
			t.Fatalf("%+v", a)
		}
		if err := runs.Change(t.Context(), a.RunID, func(r *state.Run, calls []state.RunCall) error {
			return state.Verdict{Approve: true, Denied: approve.Denied}.Decide(r, calls, time.Now())
		}); err != nil {
			t.Fatal(err)
		}
		add(`{"type":"object","properties":{"bcc":{"type":"string"}}}`)
		c.Pool.Refresh(t.Context())
		b := do(run.Request{Resume: a.RunID})
		if calls > 0 {
			t.Errorf("pinned %v: it was called: %+v", pinned, b)
		}
		if asked := b.ExitCode == sandbox.ExitApproval && len(b.Pending) == 1; asked == pinned || pinned && !strings.Contains(b.Stderr, "held back (changed)") {
			t.Errorf("pinned %v: %+v", pinned, b)
		}
	}
}
