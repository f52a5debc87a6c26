package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// A review names what the pins would hold back of another listing, and pins nothing.
func TestReviewNamesWhatWouldBeHeld(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	for _, name := range []string{"put", "get"} {
		s.AddTool(&mcp.Tool{Name: name, Description: "Does it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(ts.Close)
	open := func(mode pins.Mode) *catalog.Catalog {
		o := catalog.Options{Servers: []upstream.Config{{Name: "t", URL: ts.URL}, {Name: "other", URL: ts.URL}}}
		if mode != pins.Off {
			o.Pins = pins.Open(files.OpenPins(t.TempDir()), &pins.Options{Mode: mode})
		}
		c := catalog.New(o, &upstream.Options{}, func() {})
		t.Cleanup(func() { c.Close() })
		c.Pool.Refresh(t.Context())
		c.Both()
		return c
	}
	for name, tt := range map[string]struct {
		mode   pins.Mode
		change func(*discovery.Listing)
		want   string
	}{
		"the same": {pins.On, func(*discovery.Listing) {}, "[]"},
		"a schema": {pins.On, func(l *discovery.Listing) {
			l.Tools[0].InputSchema = json.RawMessage(`{"type":"object","required":["bcc"],"properties":{"bcc":{"type":"string"}}}`)
		}, "[{tool get changed}]"},
		"words":        {pins.On, func(l *discovery.Listing) { l.Tools[0].Description = "Does it well." }, "[]"},
		"new":          {pins.On, func(l *discovery.Listing) { l.Tools = append(l.Tools, discovery.ListedTool{Name: "more"}) }, "[]"},
		"careful, new": {pins.Careful, func(l *discovery.Listing) { l.Tools = append(l.Tools, discovery.ListedTool{Name: "more"}) }, "[{tool more new}]"},
		"no pins":      {pins.Off, func(l *discovery.Listing) { l.Tools = nil }, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(tt.mode)
			var next discovery.Listing
			for _, l := range c.Pool.Listings() {
				if l.Server == "t" {
					next = l
				}
			}
			next.Tools = append([]discovery.ListedTool(nil), next.Tools...)
			tt.change(&next)
			for range 2 { // the first review must not pin it
				if got := fmt.Sprint(c.Review(next)); got != tt.want {
					t.Errorf("Review = %s, want %s", got, tt.want)
				}
			}
			if s, ok := c.Scope().Server("t"); !ok || len(s.Tools) != 2 || len(s.Held) != 0 {
				t.Errorf("the catalogue has changed: %+v", s)
			}
		})
	}
}
