package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Two brokers on one state directory hold the same tools, and both let them go when
// a person approves them in a third process.
func TestBrokersShareTheirPins(t *testing.T) {
	dir := t.TempDir()
	config, state := filepath.Join(dir, "servers.json"), filepath.Join(dir, "state")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {"shelf": {"command": "shelf"}}, "broker": {"pins": "strict"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func() func() string {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: brokerCommand(t, "serve", "--mode", "tools", "--config", config, "--state-dir", state)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cs.Close() })
		return func() string {
			t.Helper()
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "shelf__list_books"}})
			if err != nil {
				t.Fatal(err)
			}
			return string(mustJSON(res))
		}
	}
	one, other := serve(), serve()
	for _, call := range []func() string{one, other} {
		if got := call(); !strings.Contains(got, "held back (new)") {
			t.Fatalf("before the approval: %s", got)
		}
	}
	pins := func(args ...string) {
		t.Helper()
		output(t, brokerCommand(t, append(append([]string{"pins"}, args...), "--config", config, "--state-dir", state)...))
	}
	pins("approve", "shelf")
	for _, call := range []func() string{one, other} {
		if got := call(); !strings.Contains(got, "Emma") || strings.Contains(got, `"isError":true`) {
			t.Errorf("approved: %s", got)
		}
	}
	pins("block", "shelf.list_books")
	for _, call := range []func() string{one, other} {
		if got := call(); !strings.Contains(got, "held back (blocked)") {
			t.Errorf("blocked: %s", got)
		}
	}
}
