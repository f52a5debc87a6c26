package fakeupstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewGood returns the server of mode Good, for any transport. Its tools are echo (returns its
// arguments as one text block), add (structured output), fail (isError), progress (three messages,
// then waits until it is cancelled), wait (for ms or until cancelled) and big (text of n bytes).
func NewGood() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "good", Title: "A good server", Version: "1.2.3"},
		&mcp.ServerOptions{Instructions: "Call echo first.", Capabilities: &mcp.ServerCapabilities{}})
	object := json.RawMessage(`{"type":"object"}`)
	yes := true
	s.AddTool(&mcp.Tool{
		Name: "echo", Description: "Returns its arguments.", InputSchema: object,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &yes},
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(req.Params.Arguments)), nil
	})
	type sum struct {
		Sum int `json:"sum"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			A int `json:"a"`
			B int `json:"b"`
		}) (*mcp.CallToolResult, sum, error) {
			return nil, sum{in.A + in.B}, nil
		})
	s.AddTool(&mcp.Tool{Name: "fail", Description: "Always fails.", InputSchema: object},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var r mcp.CallToolResult
			r.SetError(errors.New("no luck"))
			return &r, nil
		})
	s.AddTool(&mcp.Tool{Name: "progress", Description: "Reports progress.", InputSchema: object}, progress)
	s.AddTool(&mcp.Tool{Name: "wait", Description: "Waits for ms.", InputSchema: object}, wait)
	s.AddTool(&mcp.Tool{Name: "big", Description: "Returns n bytes.", InputSchema: object},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ N int }
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return text(strings.Repeat("x", in.N)), nil
		})
	return s
}

func runGood() error {
	err := NewGood().Run(context.Background(), &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func progress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range 3 {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: fmt.Sprintf("step %d", i+1),
		})
		if err != nil {
			return nil, err
		}
	}
	// When a session ends, the SDK's server waits for its calls and does not cancel them: a call
	// whose cancellation was lost must end by itself.
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(30 * time.Second):
		return text("never cancelled"), nil
	}
}

func wait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Ms int }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(in.Ms) * time.Millisecond):
		return text("waited"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
