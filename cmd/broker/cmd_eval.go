package main

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

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

func (a *app) evalCommand() *cobra.Command {
	var tools string
	var misses bool
	c := &cobra.Command{
		Use:   "eval QUERIES.jsonl",
		Short: "Measure the search with queries whose right tools are known", Hidden: true,
		Long: `Measure the search with queries whose right tools are known.

QUERIES.jsonl holds one JSON object a line:
  {"query": "list open issues", "relevant": ["github/list_issues"], "set": "mine"}
Any one of the tools in "relevant" is a hit; "set" may be left out.

The queries run on your own catalogue, or with --tools on recorded tools, one
JSON object a line:
  {"server": "github", "name": "list_issues", "description": "…", "inputSchema": {…}}

docs/search.md says how to read the table.`,
		Args: cli.OneArg("a file of queries: broker eval QUERIES.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			queries, err := readQueries(args[0])
			if err != nil {
				return err
			}
			b, done, err := a.evaluated(cmd, tools)
			if err != nil {
				return err
			}
			defer done()
			// The first search waits for the index.
			if _, err := b.Search(cmd.Context(), broker.SearchRequest{Query: queries[0].Text}); err != nil {
				return err
			}
			report, err := evaluate.Run(cmd.Context(), queries, searchOf(b))
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(report)
			}
			return printReport(a.Out, report, misses)
		},
	}
	c.Flags().StringVar(&tools, "tools", "", "search these recorded tools instead of the configured servers")
	c.Flags().BoolVar(&misses, "misses", false, "also list queries whose right tool was not among the first five")
	return c
}

// evaluated is the broker that is measured: that of the config with all of its
// servers, or one that knows recorded tools only.
func (a *app) evaluated(cmd *cobra.Command, tools string) (*broker.Broker, func(), error) {
	if tools == "" {
		s, err := a.open(-1)
		if err != nil {
			return nil, nil, err
		}
		await.Learn(cmd.Context(), &a.IO, s, "")
		return s.Broker, func() { _ = s.Close() }, nil
	}
	listings, err := readTools(tools)
	if err != nil {
		return nil, nil, err
	}
	b, err := broker.New(broker.Deps{Fixed: listings, Runner: inproc.New(), Logger: a.logger(), Version: version}, broker.Settings{})
	if err != nil {
		return nil, nil, err
	}
	return b, func() { _ = b.Close() }, nil
}

// searchOf asks as an agent does, for the tokens and the time, and then for
// more names, for the ranks.
func searchOf(b *broker.Broker) evaluate.Search {
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

func readQueries(path string) ([]evaluate.Query, error) {
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

// readTools reads recorded tools, one a line, as listings in the order in which
// their servers first occur.
func readTools(path string) ([]discovery.Listing, error) {
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

func printReport(w io.Writer, r *evaluate.Report, misses bool) error {
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
