package console_test

import (
	"bufio"
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
)

// follow is a page that reads the stream of news.
func (p *place) follow(b *testing.B) *bufio.Scanner {
	b.Helper()
	res, err := p.get(b.Context(), "stream")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		b.Fatal(lines.Err())
	}
	return lines
}

// BenchmarkNews is how long it takes from the end of an execution to the news of it at
// a page.
func BenchmarkNews(b *testing.B) {
	p := newPlace(b, nil, b.TempDir())
	lines := p.follow(b)
	for b.Loop() {
		id := []byte(p.record("ann", 1))
		for ended := []byte(`"status":"done"`); lines.Scan() && !(bytes.Contains(lines.Bytes(), id) && bytes.Contains(lines.Bytes(), ended)); {
		}
	}
}

// BenchmarkCalls runs a script of ten calls, by turns while nobody looks and while
// a page is open. Its figure is how much longer that takes, in percent of the
// median.
func BenchmarkCalls(b *testing.B) {
	var medians [2]time.Duration
	var places [2]*place
	for i := range places {
		places[i] = newPlace(b, []upstream.Config{{Name: "shelf", URL: shelf(b)}}, b.TempDir())
	}
	lines := places[1].follow(b)
	go func() {
		for lines.Scan() { // until the end of the benchmark
		}
	}()
	const code = "for (let i = 0; i < 10; i++) await shelf.listBooks({})"
	var took [2][]time.Duration
	for b.Loop() {
		for i, p := range places {
			start := time.Now()
			if a := p.broker.Execute(b.Context(), broker.ExecuteRequest{Code: code, Language: "javascript", Client: "ann", Owner: state.Local}); a.ExitCode != 0 {
				b.Fatalf("%+v", a)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	for i := range took {
		slices.Sort(took[i])
		medians[i] = took[i][len(took[i])/2]
	}
	b.ReportMetric(100*float64(medians[1]-medians[0])/float64(medians[0]), "%watched")
	b.ReportMetric(float64(medians[0].Microseconds())/1e4, "ms/call")
}
