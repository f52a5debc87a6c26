package index

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// Sixty queries over the recorded catalogues, in which no word of the name of a right tool
// occurs. Of those that are missed the file says why.
func TestSixtyQueriesWithoutTheName(t *testing.T) {
	queries := loadQueries(t, "testdata/sixty.jsonl")
	if len(queries) != 60 {
		t.Errorf("%d queries", len(queries))
	}
	for _, q := range queries {
		for _, right := range q.Relevant {
			_, name, _ := strings.Cut(right, "/")
			var names []string
			eachWord(name, false, func(w, _ string) { names = append(names, stem(w)) })
			eachWord(q.Text, true, func(w, _ string) {
				if !words().stop[w] && slices.Contains(names, stem(w)) {
					t.Errorf("%q has the word %q of %s", q.Text, w, right)
				}
			})
		}
	}
	dir := catalogues.Recorded("catalog")
	if dir == "" {
		t.Skip("a measurement: BROKER_RECORDED names no folder with recorded catalogues")
	}
	c := loadCatalogues(t, dir)
	r, err := evaluate.Run(t.Context(), queries, searcher(newIndex(t, c), c))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/sixty.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		var q struct{ Query, Missed string }
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		explained[q.Query] = q.Missed != ""
	}
	for _, m := range r.Misses {
		t.Logf("%d: %q finds %v, not %s", m.Rank, m.Query.Text, m.Found, m.Query.Relevant[0])
		if !explained[m.Query.Text] {
			t.Errorf("%q is missed, and sixty.jsonl does not say why", m.Query.Text)
		}
	}
	t.Logf("hit@1 %.3f, @5 %.3f, @15 %.3f", r.All.Hit1, r.All.Hit5, r.All.Hit15)
	if r.All.Hit1 < .33 || r.All.Hit5 < .48 || r.All.Hit15 < .58 {
		t.Errorf("hit@1 %.3f, @5 %.3f, @15 %.3f, want .330, .480 and .580", r.All.Hit1, r.All.Hit5, r.All.Hit15)
	}
}
