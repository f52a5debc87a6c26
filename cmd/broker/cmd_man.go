package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// manCommand writes the man pages of packages; broker completion writes the rest. It is
// hidden, since an installed package contains the pages.
func manCommand() *cobra.Command {
	var date string
	c := &cobra.Command{
		Use: "man DIR", Short: "Write the man pages of all commands into a directory", Hidden: true,
		Args: cli.OneArg("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WriteManPages(cmd.Root(), args[0], date, version)
		},
	}
	c.Flags().StringVar(&date, "date", "", "the date of the pages, such as 2026-01-31")
	return c
}
