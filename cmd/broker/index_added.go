package main

import (
	"context"

	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// thenIndex ends a command that has added servers, nil for those of the config that
// were never listed: it prints what the command did, connects to the servers, and says
// what they cost without and with the broker. With --json the report is part of
// what is printed.
func thenIndex(ctx context.Context, e *env, background, skip bool, added []string, print func(*api.IndexReport) error, known ...string) (*api.IndexReport, error) {
	if skip || added != nil && len(added)+len(known) == 0 {
		return nil, print(nil)
	}
	if !e.JSON {
		if err := print(nil); err != nil {
			return nil, err
		}
	}
	report, err := indexAdded(ctx, e, background, added, known)
	if err != nil { // the command has done what it was for
		cli.Fprintf(e.Err, "not indexed: %v\n", err)
	}
	switch {
	case e.JSON:
		return report, print(report)
	case report != nil:
		cli.Fprintln(e.Out)
		setup.PrintIndex(e.Out, *report)
	}
	return report, nil
}

func indexAdded(ctx context.Context, e *env, background bool, added, known []string) (*api.IndexReport, error) {
	s, err := e.open(application.Overrides{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return await.Added(ctx, &e.IO, s, added, known, func() bool { return background && e.client(application.Overrides{}).EnsureDaemon(ctx) })
}
