package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

func versionCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(e) },
	}
}

func printVersion(e *env) error {
	if e.JSON {
		return e.PrintJSON(map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	_, err := cli.Fprintf(e.Out, "broker %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
