package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/doctor"
)

func serversTestCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Start a server, list its tools and report how long it took",
		Long:  "Start a server, even a disabled one, list its tools and report how long it took. Exits with 3 if it failed.",
		Args:  cli.OneArg("the name of a server"),
		RunE:  func(cmd *cobra.Command, args []string) error { return runServersTest(cmd.Context(), e, args) },
	}
}

func serversLogsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "logs NAME",
		Short: "Start a server and show what it logs",
		Long: "Start a server, list its tools, and show what it wrote to stderr and, apart from MCP messages, to stdout.\n" +
			"Exits with 3 if the server failed.",
		Args: cli.OneArg("the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error { return runServersLogs(cmd.Context(), e, args) },
	}
}

func runServersTest(ctx context.Context, e *env, args []string) error {
	p, err := doctor.StartServer(ctx, e.setup(), args[0], "test")
	if err != nil {
		return ownError(err)
	}
	return p.PrintTest(&e.IO)
}

func runServersLogs(ctx context.Context, e *env, args []string) error {
	p, err := doctor.StartServer(ctx, e.setup(), args[0], "logs")
	if err != nil {
		return ownError(err)
	}
	return p.PrintLogs(&e.IO)
}
