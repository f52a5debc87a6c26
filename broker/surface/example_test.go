package surface_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A greeter is a feature with one tool.
type greeter struct{}

func (greeter) Tools() []surface.Tool {
	return []surface.Tool{{
		Tool:   surface.Define("greet", "Greet somebody.", `{"type":"object","properties":{"name":{"type":"string"}}}`, surface.Reads()),
		Advice: "greet whoever asks. ",
		Handler: func(_ context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
			a, err := surface.ParseArguments(c.Arguments, "name")
			if err != nil {
				return nil, err
			}
			return surface.TextResult(gate.NewText("hello "+a.Text("name")), false), nil
		},
	}}
}

func Example() {
	s := surface.New(surface.Options{Mode: surface.ModeCode}, slog.New(slog.DiscardHandler), greeter{})
	ct, st := mcp.NewInMemoryTransports()
	ctx := context.Background()
	if _, err := s.Server("example").Connect(ctx, st, nil); err != nil {
		fmt.Println(err)
		return
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, ct, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "you"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output: hello you
}
