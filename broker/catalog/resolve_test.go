package catalog_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A tool is never unknown because its server was being listed at the time.
func TestResolveWhileListing(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	defer web.Close()
	for range 10 {
		c := catalog.New(catalog.Options{Servers: []upstream.Config{{Name: "t", URL: web.URL}}}, &upstream.Options{}, func() {})
		listed := make(chan struct{})
		var askers sync.WaitGroup
		for range 4 {
			askers.Go(func() {
				for last := false; !last; {
					select {
					case <-listed:
						last = true
					default:
					}
					if _, err := c.Known("t__x"); err != nil {
						if _, unlisted := errors.AsType[*catalog.UnlistedError](err); !unlisted {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		if _, err := c.Resolve(t.Context(), "t__x"); err != nil {
			t.Error(err)
		}
		close(listed)
		askers.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A tool of a disabled server is not unknown.
func TestToolsOfDisabledServers(t *testing.T) {
	listing := discovery.Listing{Server: "shelf", Tools: []discovery.ListedTool{{Name: "list_books", InputSchema: json.RawMessage(`{"type":"object"}`)}}}
	c := catalog.New(catalog.Options{Fixed: []discovery.Listing{listing}, Disabled: []string{"old-shelf", "shelf.2"}}, &upstream.Options{}, func() {})
	defer c.Close()
	for name, server := range map[string]string{
		"old_shelf__list_books": "old-shelf", "old-shelf.list_books": "old-shelf", "old-shelf/list_books": "old-shelf", "shelf.2:list_books": "shelf.2",
		"older__list_books": "", "old_shelf": "", "shelf__list_book": "",
	} {
		_, err := c.Resolve(t.Context(), name)
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || e.Server != server || strings.Contains(e.Message, "is disabled: broker servers enable "+server) != (server != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
