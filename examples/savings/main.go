// Command savings computes what the broker saves, and where it costs more: for tasks
// whose tools are known, what a model reads with all servers connected to its client,
// and with the broker in front. docs/how-it-works.md has its figures and its assumptions.
//
//	go run ./examples/savings --data DIR             the tasks in DIR, under several assumptions
//	go run ./examples/savings --data DIR --each      each task, under the assumptions of the other flags
//	go run ./examples/savings --audit FILE           your own record: broker audit export >FILE, or a state directory
//
// DIR holds tools.jsonl, tasks.jsonl and queries.jsonl, one JSON object a line:
//
//	{"server": "github", "name": "list_issues", "description": "…", "inputSchema": {…}}
//	{"id": "task-1", "query": "…", "relevant": ["github/list_issues", "slack/post_message"]}
//	{"id": "agent-1-0", "query": "open issues", "relevant": ["github/list_issues"]}
//
// A query belongs to the task that has the number in its id.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "savings:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var a assumptions
	flags := flag.NewFlagSet("savings", flag.ContinueOnError)
	data := flags.String("data", "", "`directory` with tools.jsonl, tasks.jsonl and queries.jsonl")
	tools := flags.String("tools", "tools.jsonl", "another `file` of tools in --data")
	each := flags.Bool("each", false, "print each task, under the assumptions of the flags below")
	audit := flags.String("audit", "", "output of broker audit export, or a state directory: a `path`")
	index := flags.String("index", "", "with --audit, the output of broker index --json: a `file`")
	a.addFlags(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case (*data == "") == (*audit == ""):
		return errors.New("give either --data DIR or --audit PATH; --help lists the flags")
	case *audit != "":
		return showAudit(ctx, out, *audit, *index, a)
	}
	d, err := readData(*data, *tools)
	if err != nil {
		return err
	}
	if *each {
		return showEach(ctx, out, d, a)
	}
	return showScenarios(ctx, out, d, a)
}

// scenarios are the rows of the page, from what is good for the broker to what is not.
var scenarios = []struct {
	name   string
	change func(*assumptions)
}{
	{"all servers connected", func(*assumptions) {}},
	{"· the model reads a tenth of the results", func(a *assumptions) { a.read = 0.1 }},
	{"· results of 4,000 tokens, all read by the model", func(a *assumptions) { a.result = 4000 }},
	{"· results of 4,000 tokens, a tenth read", func(a *assumptions) { a.result, a.read = 4000, 0.1 }},
	{"· one script for each call", func(a *assumptions) { a.each = true }},
	{"· what is read again costs a tenth", func(a *assumptions) { a.reread = 0.1 }},
	{"only the servers that the task needs", func(a *assumptions) { a.needed = true }},
	{"· the model reads a tenth of the results", func(a *assumptions) { a.needed, a.read = true, 0.1 }},
	{"· results of 4,000 tokens, a tenth read", func(a *assumptions) { a.needed, a.result, a.read = true, 4000, 0.1 }},
	{"· one script for each call", func(a *assumptions) { a.needed, a.each = true, true }},
	{"· what is read again costs a tenth", func(a *assumptions) { a.needed, a.reread = true, 0.1 }},
}

func showScenarios(ctx context.Context, out io.Writer, d *data, a assumptions) error {
	fmt.Fprintf(out, "%d tasks, %d tools of %d servers; medians, in tokens\n\n", len(d.tasks), d.tools(), len(d.listings))
	fmt.Fprintln(out, "| assumption | window, direct | broker | read in all turns, direct | broker | broker costs more in | even at |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|")
	for _, s := range scenarios {
		now := a
		s.change(&now)
		list, err := d.compare(ctx, now)
		if err != nil {
			return err
		}
		m := medians(list)
		more := 0
		for _, c := range list {
			if c.broker.read > c.direct.read {
				more++
			}
		}
		fmt.Fprintf(out, "| %s | %d | %d | %.0f | %.0f | %d tasks | %d |\n", s.name, m.direct.window, m.broker.window, m.direct.read, m.broker.read, more, m.even)
	}
	return nil
}

func showEach(ctx context.Context, out io.Writer, d *data, a assumptions) error {
	list, err := d.compare(ctx, a)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "task\tcalls\tsearches\tbrowsed\tdefinitions\tbroker's\twindow, direct\tbroker\tread, direct\tbroker\teven at\t")
	row := func(c comparison) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%d\t\n", c.task, c.calls, c.searches, c.browsed,
			c.direct.definitions, c.broker.definitions, c.direct.window, c.broker.window, c.direct.read, c.broker.read, c.even)
	}
	for _, c := range list {
		row(c)
	}
	row(medians(list))
	return w.Flush()
}

// medians are those of each column by itself.
func medians(list []comparison) comparison {
	return comparison{
		task: "median", calls: median(list, func(c comparison) int { return c.calls }),
		searches: median(list, func(c comparison) int { return c.searches }), browsed: median(list, func(c comparison) int { return c.browsed }),
		even:   median(list, func(c comparison) int { return c.even }),
		direct: medianCost(list, func(c comparison) cost { return c.direct }),
		broker: medianCost(list, func(c comparison) cost { return c.broker }),
	}
}

func medianCost(list []comparison, of func(comparison) cost) cost {
	return cost{
		definitions: median(list, func(c comparison) int { return of(c).definitions }),
		window:      median(list, func(c comparison) int { return of(c).window }),
		read:        median(list, func(c comparison) float64 { return of(c).read }),
	}
}

func median[T cmp.Ordered](list []comparison, of func(comparison) T) T {
	values := make([]T, len(list))
	for i, c := range list {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
