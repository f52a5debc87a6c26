package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// newBleve indexes the catalogue as bleve does by default: the baseline for
// speed and ranking. Scorch in memory is the cheaper of its two engines.
func newBleve(t testing.TB, c *discovery.Catalog) bleve.Index {
	t.Helper()
	x, err := bleve.New("", bleve.NewIndexMapping())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	batch := x.NewBatch()
	for _, tool := range c.Tools() {
		text := []string{tool.Server, tool.Name, tool.Description}
		for _, p := range parameters(tool.InputSchema) {
			text = append(text, p.name, p.description, strings.Join(p.values, " "))
		}
		if err := batch.Index(tool.ID, map[string]any{"text": strings.Join(text, "\n")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Batch(batch); err != nil {
		t.Fatal(err)
	}
	return x
}

func searchBleve(t testing.TB, x bleve.Index, text string, limit int) []string {
	t.Helper()
	req := bleve.NewSearchRequestOptions(bleve.NewMatchQuery(text), limit, 0, false)
	res, err := x.SearchInContext(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// Whatever a plain full-text index finds by a word that is spelled as the tool
// spells it must be among our hits too: the ranking never hides a tool.
func TestEveryToolThatHoldsAWordIsAHit(t *testing.T) {
	c := catalog(issues...)
	x, reference := newIndex(t, c), newBleve(t, c)
	for _, word := range []string{"list", "issues", "repository", "contents", "modified", "entries", "directory", "service"} {
		want := searchBleve(t, reference, word, 100)
		got := ids(t, x, Query{Text: word, Limit: 100})
		if len(want) == 0 {
			t.Errorf("the reference finds nothing for %q", word)
		}
		for _, id := range want {
			if !slices.Contains(got, id) {
				t.Errorf("Search(%q) = %v lacks %s", word, got, id)
			}
		}
	}
}
