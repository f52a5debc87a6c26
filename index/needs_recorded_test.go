package index

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// Of the needs of queries that are made of two or three labelled ones, nine in ten are met
// within eight hits.
func TestNeedsOfRecordedQueries(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	x := newIndex(t, c)
	var list []evaluate.Query
	for _, q := range loadQueries(t, filepath.Join(retrieval, "queries.jsonl")) {
		if _, begins, _ := action(q.Text); begins && len(strings.Fields(q.Text)) <= 8 {
			list = append(list, q)
		}
	}
	joints := []string{" and ", ", then ", "; ", ". ", " and then "}
	for _, made := range []struct{ needs, queries int }{{2, 60}, {3, 40}} {
		met, all := 0, 0
		for i := range made.queries {
			var parts []evaluate.Query
			for k := range made.needs {
				parts = append(parts, list[(i*7+k*53)%len(list)])
			}
			var text strings.Builder
			for k, p := range parts {
				if k > 0 {
					text.WriteString(joints[i%len(joints)])
				}
				text.WriteString(strings.TrimRight(p.Text, ".?!"))
			}
			h, err := x.Search(t.Context(), Query{Text: text.String()})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				all++
				if slices.ContainsFunc(h.Hits, func(h Hit) bool {
					tool, ok := c.Tool(h.ID)
					return ok && slices.Contains(p.Relevant, tool.Server+"/"+tool.Name)
				}) {
					met++
				}
			}
		}
		share := float64(met) / float64(all)
		t.Logf("%d needs: %d of %d are met, %.3f", made.needs, met, all, share)
		if share < .9 {
			t.Errorf("%.3f of %d needs are met, want .900", share, made.needs)
		}
	}
}
