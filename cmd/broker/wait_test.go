package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that is not up yet is tried again until it is.
func TestWaitTriesAgain(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "late", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "now"}, func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var asked atomic.Int32
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 6 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(late.Close)
	config := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"mcpServers": {"late": {"url": %q}}}`, late.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := brokerCommand(t, "wait", "--config", config, "--timeout", "30s").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "late: 1 tool in ") {
		t.Errorf("wait: %v\n%s", err, out)
	}
	if asked.Load() < 6 {
		t.Errorf("%d requests, want more than those that were refused", asked.Load())
	}
}
