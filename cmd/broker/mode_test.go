package main

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that writes no code works with a broker on stdio.
func TestServeForClientsThatWriteNoCode(t *testing.T) {
	cmd := brokerCommand(t, "serve", "--mode", "tools", "--config", shelfConfig(t))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"call_tool", "list_servers", "search_tools"}; !slices.Equal(names, want) {
		t.Errorf("tools are %v, want %v", names, want)
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "shelf__list_books"}})
	if err != nil || res.IsError || len(res.Content) != 1 {
		t.Fatalf("call_tool: %v %+v", err, res)
	}
}
