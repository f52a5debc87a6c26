package broker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

func TestListServersIsBounded(t *testing.T) {
	var tools []listedTool
	for i := range 3000 {
		tools = append(tools, listedTool{Name: fmt.Sprintf("%s_%d", strings.Repeat("x", 100), i), InputSchema: stringParams()})
	}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{listing(t, "many", tools...)}})
	eventually(t, "the server is listed", func() bool { return len(b.Catalog().Tools()) == len(tools) })
	a := b.ListServers("many")
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 10_000 || a.Servers[0].ToolCount != len(tools) {
		t.Errorf("%d bytes for %d tools", len(text), a.Servers[0].ToolCount)
	}
	next := len(a.Servers[0].Tools)
	if want := fmt.Sprintf(`the first %d of 3000 tools; search_tools {"query": "", "server": "many", "offset": %d} shows more`, next, next); !strings.HasPrefix(a.Note, want) {
		t.Errorf("note %q, want %q", a.Note, want)
	}
	found, err := b.Search(t.Context(), broker.SearchRequest{Server: "many", Offset: next})
	if err != nil || len(found.Tools) == 0 || found.Tools[0].Name != b.Catalog().Tools()[next].ID {
		t.Errorf("the search goes on with %d tools, the first of them not the next: %v", len(found.Tools), err)
	}
}
