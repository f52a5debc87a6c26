package index

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// recorded are the catalogues of the benchmarks: about 800 and 10,000 tools.
var recorded = []string{"tools_core.jsonl", "tools.jsonl"}

// BenchmarkSearch reports p50 and p99 over the recorded queries, ours and those
// of bleve with its defaults, taken in turns.
func BenchmarkSearch(b *testing.B) {
	eachRecorded(b, func(b *testing.B, r recording) {
		var ours, theirs []time.Duration
		b.ReportAllocs()
		for b.Loop() {
			for _, q := range r.queries {
				start := time.Now()
				ids(b, r.ours, Query{Text: q.Text})
				middle := time.Now()
				searchBleve(b, r.bleve, q.Text, 8)
				ours, theirs = append(ours, middle.Sub(start)), append(theirs, time.Since(middle))
			}
		}
		for name, list := range map[string][]time.Duration{"": ours, "-bleve": theirs} {
			slices.Sort(list)
			b.ReportMetric(float64(list[len(list)/2].Microseconds()), "p50"+name+"-µs")
			b.ReportMetric(float64(list[len(list)*99/100].Microseconds()), "p99"+name+"-µs")
		}
	})
}

// A recording is a catalogue, indexed by us and by bleve with its defaults, and
// the queries whose right tools are known.
type recording struct {
	catalog *discovery.Catalog
	queries []evaluate.Query
	ours    *Index
	bleve   bleve.Index
}

// eachRecorded runs a benchmark on each of the recorded catalogues.
func eachRecorded(b *testing.B, f func(*testing.B, recording)) {
	needRetrieval(b)
	queries := loadQueries(b, filepath.Join(retrieval, "queries.jsonl"))
	for _, file := range recorded {
		c := loadTools(b, filepath.Join(retrieval, file))
		r := recording{c, queries, openIndex(b, &Options{Dir: b.TempDir()}, c), newBleve(b, c)}
		b.Run(fmt.Sprintf("%d tools", len(c.Tools())), func(b *testing.B) { f(b, r) })
	}
}

// BenchmarkSync is the time until a catalogue can be searched: the first time,
// when a start before has kept its index, and after a change of 20 tools.
func BenchmarkSync(b *testing.B) {
	needRetrieval(b)
	start := func(b *testing.B, dir string, c *discovery.Catalog) {
		x := New(&Options{Dir: dir})
		syncWith(b, x, c)
		b.StopTimer()
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	for _, file := range recorded {
		c := loadTools(b, filepath.Join(retrieval, file))
		n := len(c.Tools())
		dir := b.TempDir()
		b.Run(fmt.Sprintf("%d tools/first", n), func(b *testing.B) {
			for b.Loop() {
				start(b, b.TempDir(), c)
			}
		})
		b.Run(fmt.Sprintf("%d tools/first, in memory", n), func(b *testing.B) {
			for b.Loop() {
				start(b, "", c)
			}
		})
		b.Run(fmt.Sprintf("%d tools/kept", n), func(b *testing.B) {
			start(b, dir, c)
			for b.Loop() {
				start(b, dir, c)
			}
		})
		b.Run(fmt.Sprintf("%d tools/first, bleve", n), func(b *testing.B) {
			for b.Loop() {
				newBleve(b, c)
			}
		})
		b.Run(fmt.Sprintf("%d tools/20 changed", n), func(b *testing.B) {
			x := openIndex(b, &Options{Dir: b.TempDir()}, c)
			turn := 0
			for b.Loop() {
				b.StopTimer()
				next := changed(c, 20, turn)
				turn++
				b.StartTimer()
				syncWith(b, x, next)
			}
		})
	}
}

// changed is the catalogue with other descriptions for n of its tools.
func changed(c *discovery.Catalog, n, turn int) *discovery.Catalog {
	var list []discovery.Listing
	i := 0
	for _, s := range c.Servers() {
		l := s.Listing
		l.Tools = slices.Clone(l.Tools)
		for j := range l.Tools {
			if i < n {
				l.Tools[j].Description += fmt.Sprintf(" Changed for the time %d.", turn)
			}
			i++
		}
		list = append(list, l)
	}
	return discovery.NewCatalog(list)
}

// BenchmarkMemory reports what an index adds to the heap, after the recorded
// queries.
func BenchmarkMemory(b *testing.B) {
	needRetrieval(b)
	queries := loadQueries(b, filepath.Join(retrieval, "queries.jsonl"))
	for _, file := range recorded {
		c := loadTools(b, filepath.Join(retrieval, file))
		for where, dir := range map[string]string{"kept": b.TempDir(), "in memory": ""} {
			syncWith(b, New(&Options{Dir: dir}), c)
			b.Run(fmt.Sprintf("%d tools/%s", len(c.Tools()), where), func(b *testing.B) {
				for b.Loop() {
					before := heap()
					x := New(&Options{Dir: dir})
					syncWith(b, x, c)
					for _, q := range queries {
						ids(b, x, Query{Text: q.Text})
					}
					b.ReportMetric(float64(heap()-before)/1e6, "MB")
					if err := x.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRanking reports the figures of bleve's defaults, to compare with
// those of "broker eval".
func BenchmarkRanking(b *testing.B) {
	eachRecorded(b, func(b *testing.B, r recording) {
		for b.Loop() {
			for name, search := range map[string]func(string) []string{
				"":       func(text string) []string { return ids(b, r.ours, Query{Text: text, Limit: 5}) },
				"-bleve": func(text string) []string { return searchBleve(b, r.bleve, text, 5) },
			} {
				b.ReportMetric(hitAt5(r.catalog, r.queries, search), "hit@5"+name)
			}
		}
	})
}

func hitAt5(c *discovery.Catalog, queries []evaluate.Query, search func(string) []string) float64 {
	hits := 0
	for _, q := range queries {
		if slices.ContainsFunc(search(q.Text), func(id string) bool {
			t, ok := c.Tool(id)
			return ok && slices.Contains(q.Relevant, t.Server+"/"+t.Name)
		}) {
			hits++
		}
	}
	return float64(hits) / float64(len(queries))
}
