package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// noIndexFlag is the flag that thenIndex obeys.
func noIndexFlag(c *cobra.Command, skip *bool) {
	c.Flags().BoolVar(skip, "no-index", false, "do not connect to the servers that were added")
}

// thenIndex ends a command that has added servers, nil for those of the config that
// were never listed: it prints what the command did, connects to the servers, and says
// what they cost without and with the broker. With --json the report is part of
// what is printed.
func (a *app) thenIndex(ctx context.Context, skip bool, added []string, print func(*api.IndexReport) error, known ...string) (*api.IndexReport, error) {
	if skip || added != nil && len(added)+len(known) == 0 {
		return nil, print(nil)
	}
	if !a.JSON {
		if err := print(nil); err != nil {
			return nil, err
		}
	}
	report, err := a.indexAdded(ctx, added, known)
	if err != nil { // the command has done what it was for
		cli.Fprintf(a.Err, "not indexed: %v\n", err)
	}
	switch {
	case a.JSON:
		return report, print(report)
	case report != nil:
		cli.Fprintln(a.Out)
		setup.PrintIndex(a.Out, *report)
	}
	return report, nil
}

func (a *app) indexAdded(ctx context.Context, added, known []string) (*api.IndexReport, error) {
	s, err := a.open(-1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return await.Added(ctx, &a.IO, s, added, known, func() bool { return a.background && a.client().EnsureDaemon(ctx) })
}
