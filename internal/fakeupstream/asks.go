package fakeupstream

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewAsks returns the server of mode Asks, for any transport; legacy makes it refuse protocol
// 2026-07-28. Each of its tools asks the caller for something and returns, as text, JSON of the
// answer: form, page, sampling, sampling_tools, roots, and twice (two forms at once). narrated
// reports progress and logs a warning before it asks for a form. pages_first fails until a page
// was opened; page_done completes it. stubborn asks for a form and returns "went on" if that
// fails. forever asks repeatedly.
func NewAsks(legacy bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}})
	add := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Asks.", InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	asking := func(q mcp.InputRequest) mcp.ToolHandler {
		return asks(func(*mcp.CallToolRequest) mcp.InputRequestMap { return mcp.InputRequestMap{"q": q} })
	}
	add("form", asks(func(req *mcp.CallToolRequest) mcp.InputRequestMap {
		var in struct{ Message string }
		_ = json.Unmarshal(req.Params.Arguments, &in)
		return mcp.InputRequestMap{"q": form("Your name?" + in.Message)}
	}))
	add("page", asking(&mcp.ElicitParams{Mode: "url", Message: "Please pay", URL: "https://pay.example/1", ElicitationID: "p1"}))
	question := []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Write a poem"}}}}
	add("sampling", asking(&mcp.CreateMessageWithToolsParams{MaxTokens: 100, Messages: question}))
	add("sampling_tools", asking(&mcp.CreateMessageWithToolsParams{MaxTokens: 100, Messages: question,
		Tools: []*mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}}))
	add("roots", asking(&mcp.ListRootsParams{}))
	add("twice", asks(func(*mcp.CallToolRequest) mcp.InputRequestMap {
		return mcp.InputRequestMap{"one": form("One?"), "two": form("Two?")}
	}))
	add("narrated", narrated)
	add("pages_first", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{
			{Mode: "url", Message: "Sign in", URL: "https://sign.example/in", ElicitationID: "p2"}})
	})
	add("page_done", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ ID string }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return text("done"), req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: in.ID})
	})
	add("stubborn", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := req.Session.Elicit(ctx, form("Your name?")); err != nil {
			return text("went on"), nil
		}
		return text("answered"), nil
	})
	add("forever", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form("Again?")}}, nil
	})
	if legacy {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "server/discover" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
				}
				return next(ctx, method, req)
			}
		})
	}
	return s
}

func runAsks(mode Mode) error {
	err := NewAsks(mode == AsksLegacy).Run(context.Background(), &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func form(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string","title":"Name"}},"required":["name"]}`)}
}

// state is the state that clients must send back with the answers.
const state = "the server's own"

// asks returns a tool that asks questions and returns the answers. The SDK sends them as requests
// to clients of the older protocols.
func asks(questions func(*mcp.CallToolRequest) mcp.InputRequestMap) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.InputResponses == nil {
			return &mcp.CallToolResult{InputRequests: questions(req), RequestState: state}, nil
		}
		if req.Params.RequestState != state {
			return nil, fmt.Errorf("requestState is %q", req.Params.RequestState)
		}
		answers, err := json.Marshal(req.Params.InputResponses)
		if err != nil {
			return nil, err
		}
		return text(string(answers)), nil
	}
}

func narrated(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.InputResponses == nil {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: 3, Total: 7, Message: "half way"})
		if err != nil {
			return nil, err
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "asks", Data: "disk is full"}); err != nil {
			return nil, err
		}
	}
	return asks(func(*mcp.CallToolRequest) mcp.InputRequestMap { return mcp.InputRequestMap{"q": form("Go on?")} })(ctx, req)
}
