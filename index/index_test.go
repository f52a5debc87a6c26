package index

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func catalog(tools ...discovery.ListedTool) *discovery.Catalog {
	return discovery.NewCatalog([]discovery.Listing{
		{Server: "git-hub", Tools: tools},
		{Server: "files", Tools: []discovery.ListedTool{
			{Name: "read_file", Description: "Read the complete contents of a file."},
			{Name: "list_directory", Description: "List what a directory holds.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"sortBy":{"enum":["size","modified"],"description":"order of the entries"}}}`)},
		}},
	})
}

func newIndex(t testing.TB, c *discovery.Catalog) *Index {
	t.Helper()
	return openIndex(t, nil, c)
}

// openIndex returns an index that holds c.
func openIndex(t testing.TB, o *Options, c *discovery.Catalog, entries ...Entry) *Index {
	t.Helper()
	x := New(o)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	syncWith(t, x, c, entries...)
	return x
}

func syncWith(t testing.TB, x *Index, c *discovery.Catalog, entries ...Entry) {
	t.Helper()
	if err := x.Sync(c, entries); err != nil {
		t.Fatal(err)
	}
}

func ids(t testing.TB, x *Index, q Query) []string {
	t.Helper()
	h, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%q): %v", q.Text, err)
	}
	var ids []string
	for _, h := range h.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

var issues = []discovery.ListedTool{
	{Name: "listIssues", Description: "List issues of a repository."},
	{Name: "create_issue", Description: "Open a new issue."},
	{Name: "HTTPStatus", Description: "Say how the service is."},
}

func TestSearchFindsByWords(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	for _, c := range []struct{ query, first string }{
		{"list issues", "git_hub__listIssues"},
		{"I am listing the issues", "git_hub__listIssues"},
		{"creating an issue", "git_hub__create_issue"},
		{"http status", "git_hub__HTTPStatus"},
		{"reads files", "files__read_file"},
		{"by modified", "files__list_directory"},
		{"sort entries", "files__list_directory"},
		{"files.read_file", "files__read_file"},
		{"git_hub__create_issue", "git_hub__create_issue"},
		{"git-hub/listIssues", "git_hub__listIssues"},
	} {
		got := ids(t, x, Query{Text: c.query})
		if len(got) == 0 || got[0] != c.first {
			t.Errorf("Search(%q) = %v, want %s first", c.query, got, c.first)
		}
	}
}

func TestSearchKeepsToTheServer(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	got := ids(t, x, Query{Text: "list", Server: "files"})
	if diff := cmp.Diff([]string{"files__list_directory"}, got); diff != "" {
		t.Errorf("list on files (-want +got):\n%s", diff)
	}
}

func TestSearchNeedsWords(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	for _, q := range []string{"", "   ", "+-:*\"", "the of", "zzzz"} {
		if got := ids(t, x, Query{Text: q}); len(got) != 0 {
			t.Errorf("Search(%q) = %v, want nothing", q, got)
		}
	}
}

func TestSyncFollowsTheCatalogue(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	changed := []discovery.ListedTool{{Name: "create_issue", Description: "Report a defect."}}
	syncWith(t, x, catalog(changed...))
	if n := x.Count(); n != 3 {
		t.Errorf("Count() = %d after two of five tools went, want 3", n)
	}
	if got := ids(t, x, Query{Text: "defect"}); len(got) != 1 {
		t.Errorf("changed description not found: %v", got)
	}
	if got := ids(t, x, Query{Text: "service status"}); len(got) != 0 {
		t.Errorf("removed tool still found: %v", got)
	}
}

// Equal scores must not depend on the order in which segments were written:
// bleve's own order does.
func TestOrderIsTheSameInEveryBuild(t *testing.T) {
	var tools []discovery.ListedTool
	for i := range 200 {
		tools = append(tools, discovery.ListedTool{Name: fmt.Sprintf("get_thing_%d", i%50*4+i/50), Description: "Get a thing."})
	}
	want := ids(t, newIndex(t, catalog(tools...)), Query{Text: "get thing", Limit: 50})
	if len(want) != 50 {
		t.Fatalf("%d hits, want 50", len(want))
	}
	for range 5 {
		got := ids(t, newIndex(t, catalog(tools...)), Query{Text: "get thing", Limit: 50})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order differs between builds (-first +now):\n%s", diff)
		}
	}
}

func TestEntriesAreFoundWithTheirKind(t *testing.T) {
	c := catalog(issues...)
	x := openIndex(t, nil, c, Entry{ID: "triage", Kind: "skill", Name: "triage", Description: "Sort what comes in by urgency."})
	h, err := x.Search(t.Context(), Query{Text: "urgency"})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Hits) != 1 || h.Hits[0].ID != "triage" || h.Hits[0].Kind != "skill" {
		t.Errorf("Search = %+v, want the skill triage", h.Hits)
	}
	if err := x.Sync(c, []Entry{{ID: "other", Kind: "skill", Name: "zebra"}, {ID: "odd"}}); err == nil {
		t.Error("an entry without a kind is no error")
	}
	if got := ids(t, x, Query{Text: "zebra"}); len(got) != 0 || x.Count() != 6 {
		t.Errorf("a refused call left %v, %d things", got, x.Count())
	}
	syncWith(t, x, c)
	if got := ids(t, x, Query{Text: "urgency"}); len(got) != 0 {
		t.Errorf("an entry that went is still found: %v", got)
	}
}

func TestSearchBesideSync(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if _, err := x.Search(t.Context(), Query{Text: "list issues"}); err != nil {
					t.Errorf("search beside sync: %v", err)
				}
			}
		})
	}
	for i := range 20 {
		syncWith(t, x, catalog(append(issues, discovery.ListedTool{Name: fmt.Sprint("t", i)})...))
	}
	wg.Wait()
}

func TestEachWord(t *testing.T) {
	for in, want := range map[string]string{
		"list_pullRequests.v2": "list pull requests pullrequest v2 v 2",
		"HTTPServer":           "http server",
		"get-user/byID":        "get user by id",
		"Plain words stay":     "plain words stay",
		"":                     "",
	} {
		var got []string
		eachWord(in, false, func(w, _ string) { got = append(got, w) })
		if strings.Join(got, " ") != want {
			t.Errorf("words of %q = %q, want %q", in, got, want)
		}
	}
}
