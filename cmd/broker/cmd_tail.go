package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
)

func tailCommand(e *env) *cobra.Command {
	t := records.Tail{IO: &e.IO, Open: e.openRecord}
	c := &cobra.Command{
		Use: "tail", Short: "Print executions and calls as lines, newest last",
		Long: "Print recorded executions and calls as lines, newest last: time, client, tool, class, status, milliseconds, and what the\n" +
			"policy decided. With --follow, keep printing what any process records, until interrupted. With --json, each line is\n" +
			"{\"execution\"} or {\"call\"}.",
		Args: cli.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if t.Status != "" && !slices.Contains(records.TailStatuses, t.Status) {
				return cli.Usagef("unknown status %q\nhint: %s", t.Status, strings.Join(records.TailStatuses, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.Run(cmd.Context())
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&t.Follow, "follow", "f", false, "keep printing new lines until interrupted")
	flags.IntVar(&t.Limit, "limit", 20, "maximum number of lines to begin with; negative for all")
	flags.StringVar(&t.Server, "server", "", "only calls of this server")
	flags.StringVar(&t.Status, "status", "", "only these: "+strings.Join(records.TailStatuses, ", "))
	return c
}
