package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// What Pool.Call takes in place of a tool's name, unless the server has a tool
// of that name.
const (
	// ReadResource reads the resource {"uri"}. Of a single text the result is
	// that text, else each part as an embedded resource.
	ReadResource = discovery.ReadResource
	// GetPrompt fills in the prompt {"name", "arguments"}. The structured
	// content of the result is {"description"?, "messages"}.
	GetPrompt = discovery.GetPrompt
)

// offerTime is how long the prompts and resources of a server may hold up its
// tools, which are listed before them.
const offerTime = 3 * time.Second

// offers lists the prompts and resources of a server that says it has such. It
// reports false if it could not, so that what is known from before should stay.
func (s *session) offers(ctx context.Context, l *discovery.Listing) (complete bool) {
	init := s.mcp.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return true
	}
	ctx, cancel := context.WithTimeoutCause(ctx, offerTime, fmt.Errorf("no answer for %s", seconds(offerTime)))
	defer cancel()
	complete = true
	defer func() {
		if p := recover(); p != nil {
			complete = false
			l.Problems = append(l.Problems, "cannot list its prompts and resources: "+s.panicked("prompts/list", p).Error())
		}
	}()
	note := func(what string, err error) {
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); err == nil || ok && rpc.Code == jsonrpc.CodeMethodNotFound {
			return // it has no offers of that kind
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		complete = false
		l.Problems = append(l.Problems, gate.Clean(s.hide.In(fmt.Sprintf("cannot list its %s: %v", what, err))))
	}
	if init.Capabilities.Prompts != nil {
		var err error
		l.Prompts, err = listing.Gather(listing.Pages(func(cursor string) ([]*mcp.Prompt, string, error) {
			res, err := s.mcp.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Prompts, res.NextCursor, nil
		}), listing.Prompt)
		note("prompts", err)
	}
	if init.Capabilities.Resources != nil {
		var err error
		l.Resources, err = listing.Gather(listing.Pages(func(cursor string) ([]*mcp.Resource, string, error) {
			res, err := s.mcp.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Resources, res.NextCursor, nil
		}), listing.Resource)
		note("resources", err)
		templates, err := listing.Gather(listing.Pages(func(cursor string) ([]*mcp.ResourceTemplate, string, error) {
			res, err := s.mcp.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.ResourceTemplates, res.NextCursor, nil
		}), listing.Template)
		note("resource templates", err)
		l.Resources = append(l.Resources, templates...)
	}
	return complete
}

// request sends what c asks for: a call of a tool, or of what is called like one.
func (s *server) request(sess *session, c *liveCall, args json.RawMessage) (result json.RawMessage, err error) {
	defer sess.recovered(c.tool, &err)
	if (c.tool == ReadResource || c.tool == GetPrompt) && !s.hasTool(c.tool) {
		if c.tool == ReadResource {
			return sess.readResource(c.ctx, args)
		}
		return sess.getPrompt(c.ctx, args)
	}
	return sess.call(c, args)
}

func (s *server) hasTool(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.full.Tools, func(t discovery.ListedTool) bool { return t.Name == name })
}

// badArguments is the error of arguments that are not of the right form.
func badArguments(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the arguments are not of the right form: " + err.Error()}
}

func (s *session) readResource(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	var params mcp.ReadResourceParams
	if err := json.Unmarshal(args, &params); err != nil {
		return nil, badArguments(err)
	}
	kept := captureError()
	defer kept.Release()
	res, err := s.mcp.ReadResource(transport.WithCapture(ctx, kept), &params)
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

func (s *session) getPrompt(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	var params mcp.GetPromptParams
	if err := json.Unmarshal(args, &params); err != nil {
		return nil, badArguments(err)
	}
	kept := captureError()
	defer kept.Release()
	res, err := s.mcp.GetPrompt(transport.WithCapture(ctx, kept), &params)
	if err != nil {
		return nil, answerError(kept, err)
	}
	value := struct {
		Description string               `json:"description,omitempty"`
		Messages    []*mcp.PromptMessage `json:"messages"`
	}{gate.Clean(res.Description), append([]*mcp.PromptMessage{}, res.Messages...)}
	return gate.Compact(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: value}), nil
}
