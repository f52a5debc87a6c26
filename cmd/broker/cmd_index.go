package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

func indexCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "index",
		Short: "Connect to every server, index its tools and count the tokens saved",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runIndex(cmd.Context(), e) },
	}
	return c
}

func runIndex(ctx context.Context, e *env) error {
	s, err := e.open(application.Overrides{})
	if err != nil {
		return err
	}
	status := await.Refresh(ctx, &e.IO, s)
	if ctx.Err() != nil {
		_ = s.Close() // the interruption is what there is to say
		return errors.New("index: interrupted before every server was listed")
	}
	report, err := api.ReportIndex(s.Broker, status)
	for _, name := range application.Disabled(s.Config) {
		report.Servers = append(report.Servers, api.IndexRow{Name: name, Status: api.StatusDisabled})
	}
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if e.JSON {
		err = e.PrintJSON(report)
	} else {
		setup.PrintIndex(e.Out, report)
	}
	if err != nil {
		return err
	}
	return failedServers(status)
}

// failedServers is the error with exit code 3 if a server could not be listed or was
// skipped.
func failedServers(status []upstream.Status) error {
	var names []string
	what := "failed"
	for _, st := range status {
		if st.State == upstream.StateStarting {
			what = "failed or are still starting"
		} else if st.Err == nil {
			continue
		}
		names = append(names, st.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return cli.Exit(cli.ExitServers, cli.Errorf("%d of %d servers %s: %s\nhint: broker doctor", len(names), len(status), what, strings.Join(names, ", ")))
}
