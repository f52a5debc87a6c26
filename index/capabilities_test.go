package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// capabilities reads the groups of recorded tools that do the same job.
func capabilities(t testing.TB) (groups [][]string) {
	t.Helper()
	b, err := os.ReadFile("testdata/capabilities.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, tools, ok := strings.Cut(line, ": ")
		list := strings.Fields(tools)
		if !ok || name == "" || len(list) < 2 {
			t.Fatalf("capabilities.txt: %q is no group", line)
		}
		groups = append(groups, list)
	}
	return groups
}

// byCapability returns queries that are answered by every tool that does the job of a right
// one.
func byCapability(queries []evaluate.Query, groups [][]string) []evaluate.Query {
	list := slices.Clone(queries)
	for i := range list {
		right := slices.Clone(list[i].Relevant)
		for _, g := range groups {
			if slices.ContainsFunc(list[i].Relevant, func(tool string) bool { return slices.Contains(g, tool) }) {
				for _, tool := range g {
					if !slices.Contains(right, tool) {
						right = append(right, tool)
					}
				}
			}
		}
		list[i].Relevant = right
	}
	return list
}

// Figures by the labels of the recordings, and by what tools do. Every tool of a group was
// recorded.
func TestRankingByCapability(t *testing.T) {
	groups := capabilities(t)
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	for _, g := range groups {
		for _, tool := range g {
			server, name, _ := strings.Cut(tool, "/")
			if s, ok := c.Server(server); !ok || !slices.ContainsFunc(s.Listing.Tools, func(l discovery.ListedTool) bool { return l.Name == name }) {
				t.Errorf("capabilities.txt names %s, which was not recorded", tool)
			}
		}
	}
	queries := loadQueries(t, filepath.Join(retrieval, "queries.jsonl"))
	search := searcher(newIndex(t, c), c)
	for _, by := range []struct {
		what    string
		queries []evaluate.Query
		hit1    float64
		hit5    float64
	}{{"tool", queries, .74, .93}, {"capability", byCapability(queries, groups), .76, .94}} {
		r, err := evaluate.Run(t.Context(), by.queries, search)
		if err != nil {
			t.Fatal(err)
		}
		agent := r.Sets[slices.IndexFunc(r.Sets, func(f evaluate.Figures) bool { return f.Set == "agent" })]
		t.Logf("by %s: all %.3f/%.3f/%.3f, agents %.3f/%.3f/%.3f", by.what, r.All.Hit1, r.All.Hit5, r.All.Hit15, agent.Hit1, agent.Hit5, agent.Hit15)
		if r.All.Hit1 < by.hit1 || r.All.Hit5 < by.hit5 {
			t.Errorf("by %s: hit@1 %.3f and @5 %.3f, want %.3f and %.3f", by.what, r.All.Hit1, r.All.Hit5, by.hit1, by.hit5)
		}
	}
}
