package find_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/policy"
)

// sampleListings returns the listings of two servers.
func sampleListings() []discovery.Listing {
	return []discovery.Listing{
		{Server: "files", Tools: []discovery.ListedTool{
			{Name: "read_file", Description: "Read the contents of a file."},
			{Name: "write_file", Description: "Write a file."},
			{Name: "delete_file", Description: "Delete a file for good."},
			{Name: "list_directory", Description: "List a folder."},
		}},
		{Server: "notes", Tools: []discovery.ListedTool{
			{Name: "create_page", Description: "Create a page in a notebook."},
			{Name: "delete_page", Description: "Delete a page."},
			{Name: "search_pages", Description: "Search pages by their words."},
			{Name: "purge_notebook", Description: "Remove a notebook with all that is in it."},
		}},
	}
}

// finderWith returns a finder of a catalogue with settings.
func finderWith(t *testing.T, o catalog.Options, pool *upstream.Options) *find.Finder {
	t.Helper()
	c := catalog.New(o, pool, func() {})
	f := find.New(find.Options{}, c, &index.Options{})
	t.Cleanup(func() { f.Close(); c.Close() })
	c.Pool.Refresh(t.Context())
	return f
}

func noteOf(t *testing.T, f *find.Finder, query, server string) string {
	t.Helper()
	a, err := f.Search(t.Context(), find.SearchRequest{Query: query, Server: server, NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	return a.Note
}

// A search that would have found what the policy denies says so, with the rule's reason;
// others do not.
func TestAnswersNameWhatIsDenied(t *testing.T) {
	for name, text := range map[string]string{
		"by name":  `{"preset": "open", "rules": [{"effect": "deny", "tools": ["*.delete_*", "notes.purge_notebook"], "reason": "nothing is deleted from here"}]}`,
		"by class": `{"preset": "open", "rules": [{"effect": "deny", "class": ["destructive"], "reason": "nothing is deleted from here"}]}`,
	} {
		rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(text)})
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		f := finderWith(t, catalog.Options{Fixed: sampleListings(), Rules: rules}, &upstream.Options{})
		for _, tt := range []struct{ query, server, want string }{
			{"delete a file", "", "1 tool that matches is denied by the policy (nothing is deleted from here): files__delete_file"},
			{"delete page", "notes", "1 tool that matches is denied by the policy (nothing is deleted from here): notes__delete_page"},
			{"remove the notebook", "", "notes__purge_notebook"},
			{"delete", "", "2 tools that match are denied by the policy (nothing is deleted from here): "},
			{"delete page", "files", "1 tool that matches is denied by the policy (nothing is deleted from here): files__delete_file"},
			{"read the contents of a file", "", ""},
			{"search pages", "", ""},
			{"list a folder", "", ""},
		} {
			note := noteOf(t, f, tt.query, tt.server)
			if !strings.Contains(note, tt.want) || tt.want == "" && strings.Contains(note, "denied") {
				t.Errorf("%s: search %q on %q: note %q, want %q", name, tt.query, tt.server, note, tt.want)
			}
			if strings.Contains(note, "denied") && (strings.Contains(note, "no tool has") || strings.Contains(note, "nothing matches: delete")) {
				t.Errorf("%s: search %q says that nothing matches: %q", name, tt.query, note)
			}
		}
	}
	f := finderWith(t, catalog.Options{Fixed: sampleListings()}, &upstream.Options{})
	if a, err := f.Search(t.Context(), find.SearchRequest{Query: "delete a file"}); err != nil || strings.Contains(a.Note, "denied") || a.Tools[0].Name != "files__delete_file" {
		t.Errorf("without a policy: %+v, %v", a, err)
	}
}

// A search says so if no hit has half of its words.
func TestAnswersSayWhatFitsBadly(t *testing.T) {
	f := finderWith(t, catalog.Options{Fixed: sampleListings()}, &upstream.Options{})
	for query, bad := range map[string]bool{
		"book a hotel room near the page of the lake": true,
		"translate french subtitles of this file":     true,
		"rotate pages by ninety degrees clockwise":    true,
		"write a file":   false,
		"create page":    false,
		"list_directory": false,
		"list_directory of my oldest photographs please today": false, // names one
	} {
		if note := noteOf(t, f, query, ""); strings.Contains(note, "nothing fits well") != bad {
			t.Errorf("search %q: note %q, want a bad fit: %t", query, note, bad)
		}
	}
}

// A disabled server is named by a search for its tools, if they were listed before, else
// by its description and package. So is a tool that "tools" of its server leaves out.
func TestAnswersNameToolsOfDisabledServers(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	for name, about := range map[string]string{"put_object": "Store an object in a bucket.", "sendMail": "Send a message.", "translate": "Translate a text."} {
		s.AddTool(&mcp.Tool{Name: name, Description: about, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(ts.Close)
	dir, store := t.TempDir(), upstream.Config{Name: "store", URL: ts.URL}
	tools := policy.ToolLists{"store": {Deny: []string{"translate"}}}
	on := finderWith(t, catalog.Options{Servers: []upstream.Config{store}, Tools: tools}, &upstream.Options{CacheDir: dir})
	if note := noteOf(t, on, "translate a text", ""); !strings.Contains(note, `1 tool that matches is denied by the policy ("tools" of its server): store.translate`) {
		t.Errorf("of a tool that is left out: note %q", note)
	}
	off := finderWith(t, catalog.Options{Fixed: sampleListings(), Tools: tools, Disabled: []string{"store", "gh", "pg"}, DisabledServers: []upstream.Config{
		store,
		{Name: "gh", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-github"}},
		{Name: "pg", Command: "uvx", Args: []string{"db-mcp"}, Description: "Query the warehouse of orders with SQL"},
	}}, &upstream.Options{CacheDir: dir})
	for _, tt := range []struct{ query, want, not string }{
		{"put an object into the bucket", "disabled, so its tools are not searched: store (has put_object; broker servers enable store)", "gh ("},
		{"send mail", "store (has sendMail; broker servers enable store)", "pg ("},
		{"github", "gh (broker servers enable gh)", "store"},
		{"warehouse orders", "pg (broker servers enable pg)", "store"},
		{"store", "store (broker servers enable store)", "gh ("},
		{"translate a text", "", "has translate"},
		{"read a file", "", "disabled"},
		{"search pages", "", "disabled"},
	} {
		note := noteOf(t, off, tt.query, "")
		if !strings.Contains(note, tt.want) || strings.Contains(note, tt.not) {
			t.Errorf("search %q: note %q, want %q without %q", tt.query, note, tt.want, tt.not)
		}
	}
}
