// Package evaluate measures a search against labelled queries: it takes the queries and the search
// as a function, and returns figures. It does no I/O except reading queries.
package evaluate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// A Query is one line of a file of labelled queries.
type Query struct {
	ID   string `json:"id"`
	Set  string `json:"set"` // may be empty; there are figures for each set
	Text string `json:"query"`
	// Relevant are the tools that answer the query, as "server/tool"; finding
	// any one of them is a hit.
	Relevant []string `json:"relevant"`
}

// maxLine is the length of the longest line of a file of queries, in bytes.
const maxLine = 1 << 20

// Read reads one JSON object per line. It skips empty lines; an error names the line.
func Read(r io.Reader) ([]Query, error) {
	var list []Query
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(sc.Bytes(), []byte("\xef\xbb\xbf")))
		if len(line) == 0 {
			continue
		}
		var q Query
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case strings.TrimSpace(q.Text) == "":
			return nil, fmt.Errorf(`line %d: no "query"`, n)
		case len(q.Relevant) == 0:
			return nil, fmt.Errorf(`line %d: no "relevant": name the tools that answer it as "server/tool"`, n)
		}
		q.Set = cmp.Or(q.Set, "queries")
		list = append(list, q)
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
	}
	return list, sc.Err()
}

// An Answer is the result of a search.
type Answer struct {
	// Found are tools as "server/tool", best first.
	Found []string
	// Same are the equal tools in the place of each of Found; finding one of them is a
	// hit. It may be nil.
	Same [][]string
	// Tokens is the number of tokens of the answer.
	Tokens int
	// Took is the duration of the search.
	Took time.Duration
}

// A Search answers one query with up to Depth tools. The tokens are those of the default output of
// the search.
type Search func(ctx context.Context, text string) (Answer, error)

// Depth is the number of tools that a Search should return: the deepest rank in the figures.
const Depth = 15

// Figures are the measurements of one set of queries. Shares are from 0 to 1.
type Figures struct {
	Set     string `json:"set"`
	Queries int    `json:"queries"`
	// Hit is the share of queries with a relevant tool among the first 1, 5, 10 and 15.
	Hit1  float64 `json:"hit@1"`
	Hit5  float64 `json:"hit@5"`
	Hit10 float64 `json:"hit@10"`
	Hit15 float64 `json:"hit@15"`
	// MRR is the mean of 1/rank of the first relevant tool, up to rank 10; NDCG is the mean of
	// 1/log2(1+rank).
	MRR  float64 `json:"mrr@10"`
	NDCG float64 `json:"ndcg@10"`
	// Tokens is the median tokens of an answer.
	Tokens int `json:"tokens,omitempty"`
	// P50 and P99 are quantiles of the duration of a search, in milliseconds.
	P50 float64 `json:"p50_ms,omitempty"`
	P99 float64 `json:"p99_ms,omitempty"`
}

// A Miss is a query without its right tool among the first five.
type Miss struct {
	Query Query    `json:"query"`
	Rank  int      `json:"rank"` // 0 if it was not found at all
	Found []string `json:"found"`
}

// A Report is the outcome of a run.
type Report struct {
	// Sets are in the order in which they first occur.
	Sets []Figures `json:"sets"`
	// All are the figures of all queries together; Macro the mean of the
	// sets', which counts a small set as much as a large one. Without queries
	// both are zero.
	All    Figures `json:"all"`
	Macro  Figures `json:"macro"`
	Misses []Miss  `json:"misses"`
}

// Run asks every query once, in order.
func Run(ctx context.Context, queries []Query, search Search) (*Report, error) {
	sets := map[string][]outcome{}
	var order []string
	var all []outcome
	r := &Report{Sets: []Figures{}, Misses: []Miss{}}
	for _, q := range queries {
		a, err := search(ctx, q.Text)
		if err != nil {
			return nil, fmt.Errorf("query %q: %w", q.Text, err)
		}
		o := outcome{rank: rank(a, q.Relevant), tokens: a.Tokens, took: a.Took}
		if sets[q.Set] == nil {
			order = append(order, q.Set)
		}
		sets[q.Set] = append(sets[q.Set], o)
		all = append(all, o)
		if o.rank == 0 || o.rank > 5 {
			r.Misses = append(r.Misses, Miss{q, o.rank, a.Found[:min(5, len(a.Found))]})
		}
	}
	for _, name := range order {
		r.Sets = append(r.Sets, figures(name, sets[name]))
	}
	r.All = figures("ALL", all)
	r.Macro = macro(r.Sets, len(all))
	return r, nil
}

type outcome struct {
	rank   int
	tokens int
	took   time.Duration
}

// rank returns the rank of the first relevant tool, from 1, or 0.
func rank(a Answer, relevant []string) int {
	right := func(tool string) bool { return slices.Contains(relevant, tool) }
	for i, f := range a.Found[:min(len(a.Found), Depth)] {
		if right(f) || i < len(a.Same) && slices.ContainsFunc(a.Same[i], right) {
			return i + 1
		}
	}
	return 0
}

func figures(name string, list []outcome) Figures {
	f := Figures{Set: name, Queries: len(list)}
	if len(list) == 0 {
		return f
	}
	tokens := make([]int, len(list))
	took := make([]time.Duration, len(list))
	for i, o := range list {
		tokens[i], took[i] = o.tokens, o.took
		if o.rank == 0 {
			continue
		}
		for k, hit := range map[int]*float64{1: &f.Hit1, 5: &f.Hit5, 10: &f.Hit10, 15: &f.Hit15} {
			if o.rank <= k {
				*hit++
			}
		}
		if o.rank <= 10 {
			f.MRR += 1 / float64(o.rank)
			f.NDCG += 1 / math.Log2(1+float64(o.rank))
		}
	}
	for _, v := range f.shares() {
		*v /= float64(len(list))
	}
	slices.Sort(tokens)
	slices.Sort(took)
	f.Tokens = tokens[len(tokens)/2]
	f.P50, f.P99 = millis(quantile(took, .5)), millis(quantile(took, .99))
	return f
}

func (f *Figures) shares() []*float64 {
	return []*float64{&f.Hit1, &f.Hit5, &f.Hit10, &f.Hit15, &f.MRR, &f.NDCG}
}

// macro returns the mean of the sets.
func macro(sets []Figures, queries int) Figures {
	m := Figures{Set: "MACRO", Queries: queries}
	for i := range sets {
		for j, v := range sets[i].shares() {
			*m.shares()[j] += *v / float64(len(sets))
		}
	}
	return m
}

// quantile returns the smallest value that at least the share q of sorted does not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func millis(d time.Duration) float64 { return math.Round(float64(d.Microseconds())) / 1000 }
