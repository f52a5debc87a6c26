package index

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// retrieval is the folder of recorded tools and labelled queries, for measurements, or
// "".
var retrieval = catalogues.Recorded("retrieval")

func loadTools(t testing.TB, path string) *discovery.Catalog {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	by := map[string]int{}
	var list []discovery.Listing
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var tool struct {
			Server string
			discovery.ListedTool
		}
		if err := json.Unmarshal(sc.Bytes(), &tool); err != nil {
			t.Fatal(err)
		}
		i, ok := by[tool.Server]
		if !ok {
			i = len(list)
			by[tool.Server] = i
			list = append(list, discovery.Listing{Server: tool.Server})
		}
		list[i].Tools = append(list[i].Tools, tool.ListedTool)
	}
	return discovery.NewCatalog(list)
}

func searcher(x *Index, c *discovery.Catalog) evaluate.Search {
	return func(ctx context.Context, text string) (evaluate.Answer, error) {
		start := time.Now()
		h, err := x.Search(ctx, Query{Text: text, Limit: evaluate.Depth})
		a := evaluate.Answer{Took: time.Since(start)}
		for _, h := range h.Hits {
			t, _ := c.Tool(h.ID)
			a.Found = append(a.Found, t.Server+"/"+t.Name)
		}
		return a, err
	}
}

// needRetrieval skips a test where the recorded tools are not at hand.
func needRetrieval(t testing.TB) {
	t.Helper()
	if retrieval == "" {
		t.Skip("a measurement: BROKER_RECORDED names no folder with recorded tools and queries")
	}
}

func loadQueries(t testing.TB, path string) []evaluate.Query {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	queries, err := evaluate.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return queries
}

// Ranking must not fall below what it was measured to be. The floors are a
// little under the figures in docs/performance.md; raise them with those.
func TestRankingOfRecordedQueries(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	r, err := evaluate.Run(t.Context(), loadQueries(t, filepath.Join(retrieval, "queries.jsonl")), searcher(newIndex(t, c), c))
	if err != nil {
		t.Fatal(err)
	}
	agent := r.Sets[slices.IndexFunc(r.Sets, func(f evaluate.Figures) bool { return f.Set == "agent" })]
	for _, f := range []struct {
		what       string
		got, floor float64
	}{
		{"hit@1 of all", r.All.Hit1, .74},
		{"hit@5 of all", r.All.Hit5, .93},
		{"hit@5 of agents' queries", agent.Hit5, .8},
		{"hit@5, mean of the sets", r.Macro.Hit5, .91},
		{"MRR@10, mean of the sets", r.Macro.MRR, .78},
	} {
		t.Logf("%s: %.3f", f.what, f.got)
		if f.got < f.floor {
			t.Errorf("%s is %.3f, want at least %.3f", f.what, f.got, f.floor)
		}
	}
}

// loadCatalogues reads the recorded tool lists of published servers.
func loadCatalogues(t testing.TB, dir string) *discovery.Catalog {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Skip("no recorded catalogues beside the repository: " + dir)
	}
	var list []discovery.Listing
	for _, path := range paths {
		server := strings.TrimSuffix(filepath.Base(path), ".json")
		if server == "servers" {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Tools []discovery.ListedTool }
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, discovery.Listing{Server: server, Tools: l.Tools})
	}
	return discovery.NewCatalog(list)
}
