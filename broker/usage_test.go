package broker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// What a script calls after a search comes first in the next one, for the same owner and
// where that is on, and the explanation says so.
func TestWhatWorkedBeforeComesFirst(t *testing.T) {
	yes, no := true, false
	note := listedTool{Name: "save_note", Description: "Save a note.", InputSchema: stringParams("text")}
	servers := []upstream.Config{listing(t, "alpha", note), listing(t, "omega", note)}
	for _, c := range []struct {
		name         string
		learn        *bool
		client       string // "" is over stdio
		other        string
		code         string
		want, others string
	}{
		{"a script", nil, "", "", "return omega.saveNote({ text: 'a' })", "omega", "omega"},
		{"a search within a script", nil, "", "", "await tools.search('save a note', { limit: 9 }); return omega.saveNote({ text: 'a' })", "omega", "omega"},
		{"a script that fails", nil, "", "", "return omega.saveNote({ text: 7 })", "alpha", "alpha"},
		{"a script that calls the best", nil, "", "", "return alpha.saveNote({ text: 'a' })", "alpha", "alpha"},
		{"off", &no, "", "", "return omega.saveNote({ text: 'a' })", "alpha", "alpha"},
		{"a client with a token", nil, "ann", "bob", "return omega.saveNote({ text: 'a' })", "alpha", "alpha"},
		{"on for all", &yes, "ann", "bob", "return omega.saveNote({ text: 'a' })", "omega", "alpha"},
	} {
		store := usage.New(nil)
		t.Cleanup(func() { _ = store.Close() })
		b := newBroker(t, broker.Deps{Usage: store}, broker.Settings{Servers: servers, LearnSearches: c.learn})
		b.Refresh(t.Context())
		client := func(name string) *mcp.ClientSession {
			if name == "" {
				return connect(t, b, "2025-11-25", nil)
			}
			cs, err := dial(t, serveHTTP(t, b, map[string]string{"ann": "secret-ann", "bob": "secret-bob"}).URL+"/mcp", "secret-"+name, "2025-11-25")
			if err != nil {
				t.Fatal(err)
			}
			return cs
		}
		mine, others := client(c.client), client(c.other)
		first := func(cs *mcp.ClientSession) string {
			text, _ := call(t, cs, "search_tools", map[string]any{"query": "save a note", "expand": true, "limit": 9})
			var a struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal([]byte(text), &a); err != nil || len(a.Tools) != 2 {
				t.Fatalf("%v: %s", err, text)
			}
			return strings.TrimSuffix(a.Tools[0].Name, "__save_note")
		}
		if got := first(mine); got != "alpha" {
			t.Errorf("%s: %s is first before anything was called", c.name, got)
		}
		_, _ = call(t, mine, "execute_code", map[string]any{"code": c.code})
		words := []string{"note", "save"}
		if c.want == "omega" { // it is learned in the background
			eventually(t, "it is learned", func() bool { return store.Favor(c.client, words) != nil })
		}
		if got := first(mine); got != c.want {
			t.Errorf("%s: then %s is first, want %s", c.name, got, c.want)
		}
		if got := first(others); got != c.others {
			t.Errorf("%s: of others %s is first, want %s", c.name, got, c.others)
		}
		x, err := b.Explain(t.Context(), broker.SearchRequest{Query: "save a note"})
		if err != nil || c.client == "" && (x[0].Favored > 0) != (c.learn == nil && !strings.Contains(c.code, "7")) || x[0].Favored > 0.2 {
			t.Errorf("%s: explained as %+v, %v", c.name, x, err)
		}
	}
}
