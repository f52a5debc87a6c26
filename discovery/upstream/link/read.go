package link

import (
	"context"
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// badArguments is the error of arguments that are not of the right form.
func badArguments(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the arguments are not of the right form: " + err.Error()}
}

// readResource reads the resource that args name, as the result of a call.
func readResource(ctx context.Context, s *mcp.ClientSession, args json.RawMessage) (json.RawMessage, error) {
	var params mcp.ReadResourceParams
	if err := json.Unmarshal(args, &params); err != nil {
		return nil, badArguments(err)
	}
	kept := captureError()
	defer kept.Release()
	res, err := s.ReadResource(transport.WithCapture(ctx, kept), &params)
	if err != nil {
		return nil, answerError(kept, err)
	}
	content := []mcp.Content{}
	for _, part := range res.Contents {
		if part == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server answered with a part that is null"}
		}
		if len(res.Contents) == 1 && part.Blob == nil {
			content = append(content, &mcp.TextContent{Text: part.Text})
			break
		}
		content = append(content, &mcp.EmbeddedResource{Resource: part})
	}
	return gate.Compact(&mcp.CallToolResult{Content: content}), nil
}

// getPrompt fills in the prompt that args name, as the result of a call.
func getPrompt(ctx context.Context, s *mcp.ClientSession, args json.RawMessage) (json.RawMessage, error) {
	var params mcp.GetPromptParams
	if err := json.Unmarshal(args, &params); err != nil {
		return nil, badArguments(err)
	}
	kept := captureError()
	defer kept.Release()
	res, err := s.GetPrompt(transport.WithCapture(ctx, kept), &params)
	if err != nil {
		return nil, answerError(kept, err)
	}
	value := struct {
		Description string               `json:"description,omitempty"`
		Messages    []*mcp.PromptMessage `json:"messages"`
	}{gate.Clean(res.Description), append([]*mcp.PromptMessage{}, res.Messages...)}
	return gate.Compact(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: value}), nil
}
