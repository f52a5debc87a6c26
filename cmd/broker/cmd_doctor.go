package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/doctor"
)

// doctorOptions are the options of broker doctor.
type doctorOptions struct {
	doctor.Options
}

func doctorCommand(e *env) *cobra.Command {
	o := &doctorOptions{}
	c := &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Diagnose config, servers and sandbox",
		Long: "Check the config, the state directory and the sandbox, and report what is known of each server: from a running daemon,\n" +
			"from its last listing, or from its last failure, with the time. Servers that were never started are started, and get\n" +
			"2 s; the checks that have not ended by then are listed. With --refresh, or for the named servers, each server is started and waited\n" +
			"for, its tools are listed, and what it wrote is shown if it failed. On a terminal, a key ends the wait.\n\n" +
			"Exit codes:\n  0   no problem was found; the checks that have not ended are listed\n  1   something other than a server failed\n" +
			"  2   wrong usage or config\n  3   a server failed, or has failed when it was last started",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.Fix, "fix", false, "first move aside npx packages that are only half installed; nothing is deleted")
	c.Flags().BoolVar(&o.Refresh, "refresh", false, "start every server, and wait until each is listed or has failed")
	return c
}

func (o *doctorOptions) run(ctx context.Context, e *env, args []string) error {
	o.Begun, o.Servers, o.Lookup, o.Expand = time.Now(), args, lookupVariable, expand
	s, err := e.openAs(application.OpenOptions{AllProfiles: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return doctor.Examine(ctx, &e.IO, s, o.Options)
}
