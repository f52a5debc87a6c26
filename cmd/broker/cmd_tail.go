package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

// tailOptions are the options of broker tail.
type tailOptions struct {
	tail records.Tail
}

func tailCommand(e *env) *cobra.Command {
	o := &tailOptions{tail: records.Tail{IO: &e.IO}}
	c := &cobra.Command{
		Use: "tail", Short: "Print executions and calls as lines, newest last",
		Long: "Print recorded executions and calls as lines, newest last: time, client, tool, class, status, milliseconds, and what the\n" +
			"policy decided. With --follow, keep printing what any process records, until interrupted. With --json, each line is\n" +
			"{\"execution\"} or {\"call\"}.",
		Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if o.tail.Status != "" && !slices.Contains(records.TailStatuses, o.tail.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", o.tail.Status, strings.Join(records.TailStatuses, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	flags := c.Flags()
	flags.BoolVarP(&o.tail.Follow, "follow", "f", false, "keep printing new lines until interrupted")
	flags.IntVar(&o.tail.Limit, "limit", 20, "maximum number of lines to begin with; negative for all")
	flags.StringVar(&o.tail.Server, "server", "", "only calls of this server")
	flags.StringVar(&o.tail.Status, "status", "", "only these: "+strings.Join(records.TailStatuses, ", "))
	return c
}

func (o *tailOptions) run(ctx context.Context, e *env) error {
	o.tail.Open = func() (state.AuditStore, error) { return e.openRecord(ctx) }
	return o.tail.Run(ctx)
}
