package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
	"github.com/mcpbroker/mcpbroker/internal/measure"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// evalOptions are the options of broker eval.
type evalOptions struct {
	tools  string
	misses bool
}

func evalCommand(e *env) *cobra.Command {
	o := &evalOptions{}
	c := &cobra.Command{
		Use:   "eval QUERIES.jsonl",
		Short: "Measure the search with queries of known answers", Hidden: true,
		Long: `Measure the search with queries of known answers.

QUERIES.jsonl holds one JSON object a line:
  {"query": "list open issues", "relevant": ["github/list_issues"], "set": "mine"}
Any one of the tools in "relevant" is a hit; "set" is optional: it
names the group of a query in the table.

The queries run on your own catalogue, or with --tools on recorded tools, one
JSON object a line:
  {"server": "github", "name": "list_issues", "description": "…", "inputSchema": {…}}

docs/search.md says how to read the table.`,
		Args: cli.OneArg("a file of queries: broker eval QUERIES.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.tools, "tools", "", "search these recorded tools instead of the configured servers")
	c.Flags().BoolVar(&o.misses, "misses", false, "also list queries whose right tool was not among the first five")
	return c
}

func (o *evalOptions) run(ctx context.Context, e *env, args []string) error {
	queries, err := measure.ReadQueries(args[0])
	if err != nil {
		return err
	}
	b, done, err := evaluated(ctx, e, o.tools)
	if err != nil {
		return err
	}
	defer done()
	// The first search waits for the index.
	if _, err := b.Search(ctx, broker.SearchRequest{Query: queries[0].Text}); err != nil {
		return err
	}
	report, err := evaluate.Run(ctx, queries, measure.Search(b))
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(report)
	}
	return measure.Print(e.Out, report, o.misses)
}

// evaluated is the broker that is measured: that of the config with all of its
// servers, or one that knows recorded tools only.
func evaluated(ctx context.Context, e *env, tools string) (*broker.Broker, func(), error) {
	if tools == "" {
		s, err := e.open(application.Overrides{})
		if err != nil {
			return nil, nil, err
		}
		await.Learn(ctx, &e.IO, s, "")
		return s.Broker, func() { _ = s.Close() }, nil
	}
	listings, err := measure.ReadTools(tools)
	if err != nil {
		return nil, nil, err
	}
	b, err := broker.New(broker.Deps{Fixed: listings, Runner: inproc.New(), Logger: e.logger(), Version: version}, broker.Settings{})
	if err != nil {
		return nil, nil, err
	}
	return b, func() { _ = b.Close() }, nil
}
