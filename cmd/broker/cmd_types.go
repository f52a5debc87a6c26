package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/typefiles"
)

// typesOptions are the options of broker types.
type typesOptions struct {
	readOnly bool
	out      string
}

func typesCommand(e *env) *cobra.Command {
	o := &typesOptions{}
	c := &cobra.Command{
		Use:   "types --out DIR",
		Short: "Write typed wrappers of all tools for editor completion",
		Long: "Write servers/SERVER/TOOL.ts for every tool, and what an editor needs beside them. A script in DIR that the\n" +
			"editor accepts runs unchanged with broker exec. Files that are up to date are not touched, files of tools that no\n" +
			"longer exist are removed, and files that the broker did not write are left alone.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.AddCommand(typesLearnedCommand(e))
	c.Flags().StringVar(&o.out, "out", "", "directory to write to; created if missing")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *typesOptions) run(ctx context.Context, e *env) error {
	if o.out == "" {
		return cli.Usagef("types needs a directory to write to\nhint: broker types --out code")
	}
	s, err := e.open(application.Overrides{ReadOnly: o.readOnly})
	if err != nil {
		return err
	}
	await.Learn(ctx, &e.IO, s, "")
	unlisted := s.Broker.Unlisted()
	r, err := typefiles.Write(o.out, s.Broker.CodeFiles(), unlisted)
	if closed := s.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := typefiles.Print(&e.IO, r); err != nil {
		return err
	}
	if len(unlisted) > 0 {
		return cli.Exit(cli.ExitServers, cli.Errorf("the tools of %s are not known: files written for them before are kept\nhint: broker index",
			strings.Join(unlisted, ", ")))
	}
	return nil
}
