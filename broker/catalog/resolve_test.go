package catalog_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
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
