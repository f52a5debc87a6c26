package broker

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// BenchmarkAnswer searches 796 real tools with queries that agents and people
// typed, and reports what an answer takes of a model's context.
func BenchmarkAnswer(b *testing.B) {
	const dir = "../../shared/retrieval/"
	byServer := make(map[string]int)
	var listings []discovery.Listing
	readLines(b, dir+"tools_core.jsonl", func(line []byte) error {
		var t struct {
			Server string `json:"server"`
			discovery.ListedTool
		}
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		at, ok := byServer[t.Server]
		if !ok {
			at = len(listings)
			byServer[t.Server] = at
			listings = append(listings, discovery.Listing{Server: t.Server})
		}
		listings[at].Tools = append(listings[at].Tools, t.ListedTool)
		return nil
	})
	var queries []string
	readLines(b, dir+"queries.jsonl", func(line []byte) error {
		var q struct{ Query string }
		err := json.Unmarshal(line, &q)
		queries = append(queries, q.Query)
		return err
	})
	x, err := New(Options{Runner: inproc.New()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = x.Close() })
	x.mu.Lock()
	x.full = discovery.NewCatalog(listings)
	x.scope, x.dirty = x.full, false
	x.mu.Unlock()
	for _, c := range []struct {
		name string
		req  SearchRequest
	}{
		{"8 hits", SearchRequest{}},
		{"5 hits", SearchRequest{Limit: 5}},
		{"3 hits with declarations", SearchRequest{Limit: 3}},
		{"15 names", SearchRequest{Limit: 15, Detail: DetailName}},
		{"3 in full", SearchRequest{Limit: 3, Detail: DetailFull}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var sizes []int
			n := 0
			for b.Loop() {
				c.req.Query = queries[n%len(queries)]
				n++
				a, err := x.Search(b.Context(), c.req)
				if err != nil {
					b.Fatal(err)
				}
				sizes = append(sizes, len(compactJSON(a)))
			}
			slices.Sort(sizes)
			b.ReportMetric(float64(sizes[len(sizes)/2]), "median-bytes")
			b.ReportMetric(float64(sizes[len(sizes)*99/100]), "p99-bytes")
		})
	}
}

func readLines(b *testing.B, file string, each func(line []byte) error) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Skipf("the labelled queries are not beside the repository: %v", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
}
