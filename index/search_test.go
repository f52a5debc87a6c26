package index

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// The repository's own queries: each finds its tool among the first five, and
// nearly all first. A change that loses one shows here by name.
func TestRankingOfOwnQueries(t *testing.T) {
	c := loadTools(t, filepath.Join("testdata", "tools.jsonl"))
	r, err := evaluate.Run(t.Context(), loadQueries(t, filepath.Join("testdata", "queries.jsonl")), searcher(newIndex(t, c), c))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Misses {
		t.Errorf("%s: %q finds %v at %d, want it in the first five; first are %v", m.Query.Set, m.Query.Text, m.Query.Relevant, m.Rank, m.Found)
	}
	if r.All.Hit1 < .85 {
		t.Errorf("the right tool is first for %.2f of the queries, want .85", r.All.Hit1)
	}
}

func TestQueriesWithoutAWordOfTheName(t *testing.T) {
	needRetrieval(t)
	c := loadCatalogues(t, catalogues.Recorded("catalog"))
	r, err := evaluate.Run(t.Context(), loadQueries(t, filepath.Join("testdata", "paraphrase.jsonl")), searcher(newIndex(t, c), c))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d queries over %d tools: hit@5 %.3f, hit@15 %.3f", r.All.Queries, len(c.Tools()), r.All.Hit5, r.All.Hit15)
	if r.All.Hit15 < .70 {
		t.Errorf("hit@15 is %.3f, want at least .70", r.All.Hit15)
	}
}

func TestWhatBecameOfTheWords(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	for _, c := range []struct {
		query     string
		unmatched []string
		repaired  []Repair
	}{
		{"list the issues", nil, nil},
		{"please show me all of the issues", nil, nil},
		{"list isues", nil, []Repair{{"isues", "issues"}}},
		{"directry entries", nil, []Repair{{"directry", "directory"}}},
		{"readfile", nil, []Repair{{"readfile", "read file"}}},
		{"list qwxyz issues, Zorgblatt!", []string{"qwxyz", "Zorgblatt"}, nil},
		{"xq", []string{"xq"}, nil},
	} {
		h, err := x.Search(t.Context(), Query{Text: c.query})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.unmatched, h.Unmatched); diff != "" {
			t.Errorf("Search(%q).Unmatched (-want +got):\n%s", c.query, diff)
		}
		if diff := cmp.Diff(c.repaired, h.Repaired); diff != "" {
			t.Errorf("Search(%q).Repaired (-want +got):\n%s", c.query, diff)
		}
	}
}

// A word that some tool uses is never taken for another.
func TestKnownWordsAreNotRepaired(t *testing.T) {
	tools := append(slices.Clone(issues), discovery.ListedTool{Name: "isue", Description: "A word that looks like a mistake."})
	h, err := newIndex(t, catalog(tools...)).Search(t.Context(), Query{Text: "isue"})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Repaired) > 0 || !h.Exact || h.Hits[0].ID != "git_hub__isue" {
		t.Errorf("Search(isue) = %+v, want the tool of that name and no repair", h)
	}
}

func TestNamesComeFirst(t *testing.T) {
	c := discovery.NewCatalog([]discovery.Listing{
		{Server: "a", Tools: []discovery.ListedTool{{Name: "search", Description: "Search."}, {Name: "search_search", Description: "Search search search."}}},
		{Server: "b", Tools: []discovery.ListedTool{{Name: "search", Description: "Something else entirely."}}},
	})
	x := newIndex(t, c)
	for _, q := range []struct {
		text  string
		first []string
		exact bool
	}{
		{"a__search", []string{"a__search"}, true},
		{"b.search", []string{"b__search"}, true},
		{"b/search", []string{"b__search"}, true},
		{"search", []string{"a__search", "b__search"}, true},
		{"SEARCH_Search", []string{"a__search_search"}, true},
		{"search something", nil, false},
	} {
		h, err := x.Search(t.Context(), Query{Text: q.text})
		if err != nil {
			t.Fatal(err)
		}
		if h.Exact != q.exact {
			t.Errorf("Search(%q).Exact = %v", q.text, h.Exact)
		}
		for i, id := range q.first {
			if h.Hits[i].ID != id {
				t.Errorf("Search(%q) has %s at %d, want %s", q.text, h.Hits[i].ID, i+1, id)
			}
		}
	}
}

// What has changed is in an index of its own until everything is built again:
// the scores must agree to the last bit, or equal tools would change places when
// a third one changes.
func TestChangedAndUnchangedToolsAreScoredAlike(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	x, y := newIndex(t, changed(c, 300, 0)), newIndex(t, c)
	x.quiet = time.Hour
	for _, n := range []int{250, 150, 50, 20, 19, 18, 17, 16, 15, 14, 13} {
		syncWith(t, x, changed(c, n, 1))
	}
	syncWith(t, x, c)
	if n := len(x.current.parts); n < 2 || n > maxParts+1 {
		t.Errorf("%d parts, want a few", n)
	}
	for range 2 {
		for _, q := range loadQueries(t, filepath.Join(retrieval, "queries.jsonl"))[:150] {
			want, err := y.Search(t.Context(), Query{Text: q.Text, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Search(t.Context(), Query{Text: q.Text, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("Search(%q) (-built at once +after changes):\n%s", q.Text, diff)
			}
		}
		if err := x.settle(); err != nil {
			t.Fatal(err)
		}
		if len(x.current.parts) != 1 {
			t.Errorf("%d parts after everything was built again", len(x.current.parts))
		}
	}
}

func TestHugeQueriesAndLimits(t *testing.T) {
	x := newIndex(t, catalog(issues...))
	for _, text := range []string{strings.Repeat("list issues ", 9000), strings.Repeat("x", 100_000), strings.Repeat("問題", 40_000), "list\x00issues\x1b[31m"} {
		h, err := x.Search(t.Context(), Query{Text: text, Limit: 1 << 40})
		if err != nil {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		if len(h.Hits) != h.Total {
			t.Errorf("%d hits of %d without a limit", len(h.Hits), h.Total)
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"list issues", "+-:*\"~^(a OR b)", "\xff\xfe", "getHTTPStatus2", "火车票 メール", "a__b.c/d", "http://[::1", "İ", "C:\\", "@a.com", strings.Repeat("9", 60)} {
		f.Add(s)
	}
	x := newIndex(f, catalog(issues...))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := x.Search(t.Context(), Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		for i, hit := range h.Hits {
			if hit.ID == "" || i > 0 && hit.Score > h.Hits[i-1].Score {
				t.Errorf("hit %d of %d is out of order: %+v", i, len(h.Hits), h.Hits)
			}
		}
		if len(h.Hits) > h.Total || len(h.Hits) > 8 {
			t.Errorf("%d hits of %d", len(h.Hits), h.Total)
		}
	})
}

// Tools come from servers that anybody may write.
func FuzzSync(f *testing.F) {
	f.Add("getX2", "Do it. Then\nmore.", `{"properties":{"a":{"enum":["x",1,null],"description":"d"},"b":7}}`)
	f.Add("\xff", "。", `[`)
	f.Fuzz(func(t *testing.T, name, description, schema string) {
		x := newIndex(t, catalog(discovery.ListedTool{Name: name, Description: description, InputSchema: []byte(schema)}))
		if _, err := x.Search(t.Context(), Query{Text: name + " " + description}); err != nil {
			t.Fatal(err)
		}
	})
}
