package link_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	notes := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(notes, &mcp.Tool{Name: "count"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "three"}}}, nil, nil
	})
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return notes }, nil))
	defer remote.Close()

	d := link.Dialer{
		Client: link.Client{Implementation: &mcp.Implementation{Name: "example", Version: "1"}, Logger: slog.New(slog.DiscardHandler)},
		Server: link.Server{
			Name: "notes", Type: "http", Timeout: link.StartTimeout,
			Resolve: func() (*link.Target, error) { return &link.Target{URL: remote.URL, Hide: hide.New(nil)}, nil },
		},
	}
	s, err := d.Dial(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Shut()
	l, _, err := s.List(ctx, "notes")
	fmt.Println(len(l.Tools), l.Tools[0].Name, err)
	c := link.NewCall(ctx, "notes", "count", nil, time.Minute, cancel)
	defer c.Stop()
	result, err := s.Send(c, json.RawMessage("{}"), true)
	fmt.Println(string(result), err)
	// Output:
	// 1 count <nil>
	// {"content":[{"type":"text","text":"three"}]} <nil>
}
