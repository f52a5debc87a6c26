package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/policies"
)

func pinsCommand(e *env) *cobra.Command {
	return cli.Group("pins", "Check the tools of servers for changes and hidden instructions",
		pinsListCommand(e), pinsDiffCommand(e), pinsApproveCommand(e), pinsBlockCommand(e), pinsScanCommand(e))
}

func pinsScanCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "scan FILE",
		Short: "Scan definitions of tools for hidden instructions",
		Long: `Scan definitions of tools for hidden instructions, and compare them with what they were.

FILE, or - for standard input, is JSON: {"cases": [{"id", "server", "tool", "with"?}], "pairs": [{"id", "server", "before", "after"}]}. A tool is an
entry of tools/list; "with" are tools of other servers, {"server", "tool", "description"?}. It needs no config and asks no server.

The verdict is pass (no known pattern, which does not mean that the tool is harmless), review or block. The exit code is 0 whatever the verdicts.`,
		Args: cli.OneArg("a file with definitions of tools, or -"),
		RunE: func(_ *cobra.Command, args []string) error { return runPinsScan(e, args) },
	}
}

func runPinsScan(e *env, args []string) error {
	r, err := policies.ScanFile(e.In, args[0])
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(r)
	}
	return r.Print(e.Out)
}
