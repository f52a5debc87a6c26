package measure

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

// Search asks as an agent does, for the tokens and the time, and then for
// more names, for the ranks.
func Search(b *broker.Broker) evaluate.Search {
	return func(ctx context.Context, text string) (evaluate.Answer, error) {
		var a evaluate.Answer
		start := time.Now()
		shown, err := b.Search(ctx, broker.SearchRequest{Query: text})
		a.Took = time.Since(start)
		if err != nil {
			return a, err
		}
		if a.Tokens, err = api.JSONTokens(shown); err != nil {
			return a, err
		}
		deep, err := b.Search(ctx, broker.SearchRequest{Query: text, Detail: broker.DetailName, Limit: evaluate.Depth})
		catalog := b.Catalog()
		for _, h := range deep.Tools {
			t, ok := catalog.Tool(h.Name)
			if !ok {
				continue
			}
			var same []string
			for _, id := range h.Also {
				if t, ok := catalog.Tool(id); ok {
					same = append(same, t.Server+"/"+t.Name)
				}
			}
			a.Found, a.Same = append(a.Found, t.Server+"/"+t.Name), append(a.Same, same)
		}
		return a, err
	}
}

func ReadQueries(path string) ([]evaluate.Query, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	defer f.Close()
	queries, err := evaluate.Read(f)
	if err == nil && len(queries) == 0 {
		err = errors.New("no queries in it")
	}
	if err != nil {
		return nil, cli.Usagef("%s: %w\nhint: broker eval --help shows a line", path, err)
	}
	return queries, nil
}

// ReadTools reads recorded tools, one a line, as listings in the order in which
// their servers first occur.
func ReadTools(path string) ([]discovery.Listing, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	defer f.Close()
	var list []discovery.Listing
	at := map[string]int{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var t struct {
			Server string `json:"server"`
			discovery.ListedTool
		}
		if err := json.Unmarshal(sc.Bytes(), &t); err != nil {
			return nil, cli.Usagef("%s: line %d: %w", path, n, err)
		}
		if t.Server == "" || t.Name == "" {
			return nil, cli.Usagef("%s: line %d: a tool needs \"server\" and \"name\"", path, n)
		}
		if _, ok := at[t.Server]; !ok {
			at[t.Server] = len(list)
			list = append(list, discovery.Listing{Server: t.Server})
		}
		l := &list[at[t.Server]]
		l.Tools = append(l.Tools, t.ListedTool)
	}
	if err := sc.Err(); err != nil {
		return nil, cli.Usagef("%s: %w", path, err)
	}
	return list, nil
}

func Print(w io.Writer, r *evaluate.Report, misses bool) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	cli.Fprintf(tw, "SET\tQUERIES\tHIT@1\t@5\t@10\t@15\tMRR@10\tNDCG@10\tTOKENS\tP50 MS\tP99 MS\t\n")
	for _, f := range r.Sets {
		printFigures(tw, f)
	}
	printFigures(tw, r.All)
	m := r.Macro
	cli.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\t\t\t\n", m.Set, m.Queries, m.Hit1, m.Hit5, m.Hit10, m.Hit15, m.MRR, m.NDCG)
	if err := tw.Flush(); err != nil || !misses {
		return err
	}
	for _, m := range r.Misses {
		rank := "not among the first 15"
		if m.Rank > 0 {
			rank = fmt.Sprintf("found at %d", m.Rank)
		}
		cli.Fprintf(w, "\n%s: %s\n  %s: %v\n  first: %v\n", cmp.Or(m.Query.ID, m.Query.Set), m.Query.Text, rank, m.Query.Relevant, m.Found)
	}
	return nil
}

func printFigures(w io.Writer, f evaluate.Figures) {
	cli.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%.2f\t%.2f\t\n",
		f.Set, f.Queries, f.Hit1, f.Hit5, f.Hit10, f.Hit15, f.MRR, f.NDCG, f.Tokens, f.P50, f.P99)
}
