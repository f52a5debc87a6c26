package upstream

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that says how long its tools are good for is listed again when it is
// used after that, and not before.
func TestListingExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		defer l.Close()
		var lists atomic.Int32
		l.mcp = mcp.NewServer(&mcp.Implementation{Name: "ttl", Version: "1"}, &mcp.ServerOptions{
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
				c.TTLMs = int((2 * time.Minute).Milliseconds())
			},
		})
		l.mcp.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		l.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		for _, step := range []struct {
			wait time.Duration
			want int32
		}{{0, 1}, {time.Minute, 1}, {2 * time.Minute, 2}, {time.Minute, 2}, {3 * time.Minute, 3}} {
			<-time.After(step.wait)
			l.echo(t)
			<-time.After(time.Second) // listing is not in the way of the call
			if got := lists.Load(); got != step.want {
				t.Errorf("after %s more: listed %d times, want %d", step.wait, got, step.want)
			}
		}
	})
}
