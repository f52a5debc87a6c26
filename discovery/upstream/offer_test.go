package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offerLab is a server with prompts and resources.
func offerLab(t *testing.T, cfg Config) *lab {
	t.Helper()
	l := newLab(t, cfg, &Options{CacheDir: t.TempDir()})
	l.mcp.AddPrompt(&mcp.Prompt{Name: "review", Description: "Review a change.\u200b", Arguments: []*mcp.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Review " + req.Params.Arguments["code"]}}}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		switch uri := req.Params.URI; {
		case uri == "doc://readme":
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "read me"}}}, nil
		case strings.HasPrefix(uri, "doc://page/"):
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "one"}, {URI: uri, MIMEType: "image/png", Blob: []byte("two")}}}, nil
		}
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	l.mcp.AddResource(&mcp.Resource{URI: "doc://readme", Name: "readme", MIMEType: "text/plain"}, read)
	l.mcp.AddResource(&mcp.Resource{URI: "doc://gone", Name: "gone"}, read)
	l.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "doc://page/{n}", Name: "page"}, read)
	return l
}

func TestPromptsAndResourcesAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := offerLab(t, Config{})
		defer l.Close()
		l.Refresh(t.Context())
		got := l.Listings()[0]
		wantPrompts := []discovery.ListedPrompt{{Name: "review", Description: "Review a change.", Arguments: []discovery.PromptArgument{{Name: "code", Required: true}}}}
		wantResources := []discovery.ListedResource{{URI: "doc://gone", Name: "gone"}, {URI: "doc://readme", Name: "readme", MIMEType: "text/plain"},
			{URI: "doc://page/{n}", Name: "page", Template: true}}
		if diff := cmp.Diff(wantPrompts, got.Prompts) + cmp.Diff(wantResources, got.Resources); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		kept, ok := l.cache.Load(l.server.cfg.key())
		if !ok || len(kept.Listing.Prompts) != 1 || len(kept.Listing.Resources) != 3 || len(kept.Listing.Problems) > 0 {
			t.Errorf("kept: %+v", kept.Listing)
		}
		l.mcp.RemovePrompts("review")
		<-time.After(time.Minute)
		if got := l.Listings()[0].Prompts; len(got) != 0 {
			t.Errorf("a prompt that is gone is listed: %v", got)
		}
	})
}

func TestPromptsAndResourcesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := offerLab(t, Config{})
		defer l.Close()
		for _, tt := range []struct{ method, args, want string }{
			{ReadResource, `{"uri":"doc://readme"}`, `{"content":[{"type":"text","text":"read me"}]}`},
			{ReadResource, `{"uri":"doc://page/7"}`, `{"content":[{"type":"resource","resource":{"uri":"doc://page/7","text":"one"}},` +
				`{"type":"resource","resource":{"uri":"doc://page/7","mimeType":"image/png","blob":"dHdv"}}]}`},
			{GetPrompt, `{"name":"review","arguments":{"code":"x = 1"}}`,
				`{"content":[],"structuredContent":{"messages":[{"content":{"type":"text","text":"Review x = 1"},"role":"user"}]}}`},
		} {
			got, err := l.Call(t.Context(), "s", tt.method, json.RawMessage(tt.args), nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s %s = %s, %v; want %s", tt.method, tt.args, got, err, tt.want)
			}
		}
		for _, tt := range [][2]string{{ReadResource, `{"uri":"doc://gone"}`}, {ReadResource, `{"uri":7}`}, {GetPrompt, `{"name":"other"}`}, {GetPrompt, `{"name":[]}`}} {
			_, err := l.Call(t.Context(), "s", tt[0], json.RawMessage(tt[1]), nil)
			if rpc, ok := errors.AsType[*RPCError](err); !ok || rpc.Tool != tt[0] {
				t.Errorf("%s %s: %v, want an *RPCError", tt[0], tt[1], err)
			}
		}
	})
}

// A server that does not answer keeps its tools, and what it had offered before.
func TestSilenceAboutPromptsIsNoLossOfTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := offerLab(t, Config{})
		defer l.Close()
		var silent atomic.Bool
		l.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if silent.Load() && (method == "prompts/list" || method == "resources/list") {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return next(ctx, method, req)
			}
		})
		l.Refresh(t.Context())
		silent.Store(true)
		start := time.Now()
		l.Refresh(t.Context())
		got := l.Listings()[0]
		if took := time.Since(start); took > 3*time.Second+time.Second {
			t.Errorf("the tools are held up for %s", took)
		}
		if len(got.Tools) != 6 || len(got.Prompts) != 1 || len(got.Resources) != 3 || !strings.Contains(strings.Join(got.Problems, "\n"), "cannot list its prompts: no answer for 3 s") {
			t.Errorf("%d tools, %v, %v, problems %q", len(got.Tools), got.Prompts, got.Resources, got.Problems)
		}
	})
}
