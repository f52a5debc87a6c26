package find

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

var retrieval = catalogues.Recorded("retrieval") + "/"

// catalogueOf finds the tools of a file of the labelled catalogue, and the
// queries that agents and people typed.
func catalogueOf(t testing.TB, file string) (*Finder, []string) {
	byServer := make(map[string]int)
	var listings []discovery.Listing
	readLines(t, retrieval+file, func(line []byte) error {
		var tool struct {
			Server string `json:"server"`
			discovery.ListedTool
		}
		if err := json.Unmarshal(line, &tool); err != nil {
			return err
		}
		at, ok := byServer[tool.Server]
		if !ok {
			at = len(listings)
			byServer[tool.Server] = at
			listings = append(listings, discovery.Listing{Server: tool.Server})
		}
		listings[at].Tools = append(listings[at].Tools, tool.ListedTool)
		return nil
	})
	var queries []string
	readLines(t, retrieval+"queries.jsonl", func(line []byte) error {
		var q struct{ Query string }
		err := json.Unmarshal(line, &q)
		queries = append(queries, q.Query)
		return err
	})
	return finderOf(t, listings...), queries
}

// ownCatalogue returns an index of made-up servers, and queries for their tools.
func ownCatalogue(t testing.TB) (*Finder, []string) {
	var listings []discovery.Listing
	for _, file := range catalogues.Own() {
		var l discovery.Listing
		if err := json.Unmarshal(file.Data, &l); err != nil {
			t.Fatal(file.Name, err)
		}
		listings = append(listings, l)
	}
	return finderOf(t, listings...), []string{"when are all of us free", "send a mail with a file", "open tickets of a project", "refund a payment", "logs of a pod", "rows of a table",
		"delete a page", "picture of the page", "what was said in the channel", "way by bicycle", "silence an alert", "make a folder"}
}

// Five hits take at most 700 bytes of a model's context on average, over the queries of
// many tools.
func TestFiveRealHitsAreShort(t *testing.T) {
	check := func(name string, f *Finder, queries []string) {
		total := 0
		for _, q := range queries {
			a, err := f.Search(t.Context(), SearchRequest{Query: q, Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			total += len(gate.Compact(a))
		}
		if mean := total / len(queries); mean > 700 {
			t.Errorf("%s: five hits take %d bytes on average, want at most 700", name, mean)
		}
	}
	f, queries := ownCatalogue(t)
	check("own", f, queries)
	if retrieval != "/" {
		f, queries = catalogueOf(t, "tools_core.jsonl")
		check("retrieval", f, queries)
		f, queries = recordedCatalogue(t)
		check("catalog", f, queries)
	}
}

// recordedCatalogue returns an index of recorded servers, and queries for their tools.
func recordedCatalogue(t testing.TB) (*Finder, []string) {
	var listings []discovery.Listing
	for _, file := range catalogues.All()[len(catalogues.Own()):] {
		var l discovery.Listing
		if err := json.Unmarshal(file.Data, &l); err != nil {
			t.Fatal(file.Name, err)
		}
		listings = append(listings, l)
	}
	return finderOf(t, listings...), strings.Split("list open issues of a repository, create a pull request, search the web for news, scrape a page into markdown, send a message to a slack channel, "+
		"list channels, read the history of a channel, create a calendar event, when am I free next week, delete an event, send an email, list unread mail, reply to a message, "+
		"upload a file to onedrive, create a todo task, read a file, write a file, search files by name, list a directory, directions between two places, geocode an address, "+
		"find places nearby, take a screenshot of a page, click a button, fill a form, refund a payment, create an invoice, list customers, create a contact, search deals in the crm, "+
		"find documents in a collection, aggregate a collection, drop a database, pods in a namespace, logs of a pod, scale a deployment, sync an application, list feature flags, "+
		"toggle a flag, create a story, move a story to done, draw a bar chart, pie chart of shares, remember a fact, search nodes in the knowledge graph, docs of a library, "+
		"run a workflow, validate a workflow, merge a merge request, comment on an issue, list pipelines, download figma images", ", ")
}

// BenchmarkAnswer searches real tools, and reports what an answer takes of a
// model's context.
func BenchmarkAnswer(b *testing.B) {
	for _, file := range []string{"tools_core.jsonl", "tools.jsonl"} {
		x, queries := catalogueOf(b, file)
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
			b.Run(file+"/"+c.name, func(b *testing.B) {
				var sizes []int
				n, total := 0, 0
				for b.Loop() {
					c.req.Query = queries[n%len(queries)]
					n++
					a, err := x.Search(b.Context(), c.req)
					if err != nil {
						b.Fatal(err)
					}
					sizes = append(sizes, len(gate.Compact(a)))
					total += sizes[len(sizes)-1]
				}
				slices.Sort(sizes)
				b.ReportMetric(float64(total)/float64(len(sizes)), "mean-bytes")
				b.ReportMetric(float64(sizes[len(sizes)/2]), "median-bytes")
				b.ReportMetric(float64(sizes[len(sizes)*99/100]), "p99-bytes")
			})
		}
	}
}

func readLines(t testing.TB, file string, each func(line []byte) error) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("the labelled queries are not beside the repository: %v", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkWhatWorkedBefore compares searches with and without 300 searches to learn
// from.
func BenchmarkWhatWorkedBefore(b *testing.B) {
	f, queries := ownCatalogue(b)
	if retrieval != "/" {
		f, queries = catalogueOf(b, "tools_core.jsonl")
	}
	learned := usage.New(nil)
	b.Cleanup(func() { _ = learned.Close() })
	for i := range 300 {
		words := index.Words(queries[i%len(queries)])
		learned.Searched(usage.Who{}, words, []string{"azure__redis_list"})
		learned.Called(usage.Who{}, []string{"azure__redis_list"})
		if i%50 == 0 {
			learned.Favor("", words) // lets the others be learned
		}
	}
	for i, store := range []*usage.Store{nil, learned, nil, learned} {
		f.Configure(Options{Usage: store})
		b.Run([]string{"without", "with"}[i%2], func(b *testing.B) {
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				start := time.Now()
				if _, err := f.Search(b.Context(), SearchRequest{Query: queries[n%len(queries)]}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
		})
	}
}
