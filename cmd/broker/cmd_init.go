package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// initOptions are the options of broker init.
type initOptions struct {
	setup.InitOptions
}

func initCommand(e *env) *cobra.Command {
	o := &initOptions{}
	c := &cobra.Command{
		Use: "init", Short: "Set up: take over the servers of your clients, and connect the clients",
		Long: "Set up the broker. Find the clients, show their servers, offer to take these over into servers.json, index them, and\n" +
			"say what that saves. Then connect the clients that you choose: each gets the broker as one entry, and the servers\n" +
			"that were taken over leave its file. Servers that do not start, or not within 45 s, stay with their client, and what\n" +
			"is left to do is listed at the end, with commands. Nothing is written before it is shown; broker uninstall CLIENT\n" +
			"restores a file, byte for byte. Each question has a flag; without a terminal, it is an error if no flag says what to\n" +
			"take over and connect, and nothing is written. Project files are left alone; for these see broker import and broker\n" +
			"install CLIENT --project.\n\nClients: " + strings.Join(clients.IDs(), ", "),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	flags := c.Flags()
	flags.BoolVarP(&o.Yes, "yes", "y", false, "answer yes: take the servers over, connect all clients found, open the console on a terminal")
	flags.BoolVar(&o.Import, "import", false, "add the servers of your clients to servers.json")
	flags.BoolVar(&o.NoImport, "no-import", false, "leave the servers with the clients")
	flags.BoolVar(&o.Projects, "projects", false, "take over the servers that Claude Code has for single projects, too")
	flags.BoolVar(&o.NoProjects, "no-projects", false, "leave the servers for single projects with Claude Code")
	flags.BoolVar(&o.MoveFailed, "move-failed", false, "move servers that do not start, or not soon, out of the clients' files, too")
	flags.StringSliceVar(&o.Clients, "client", nil, "take over the servers of these clients only, such as cursor,vscode, and connect them; none connects none")
	flags.BoolVar(&o.All, "all", false, "connect all clients found")
	flags.BoolVar(&o.Console, "console", false, "open the console at the end without asking, on a terminal")
	flags.BoolVar(&o.NoConsole, "no-console", false, "do not offer to open the console")
	noIndexFlag(c, &o.NoIndex)
	secretsFlag(c, &o.Secrets)
	return c
}

func (o *initOptions) run(ctx context.Context, e *env) error {
	open, err := clientSetupIn(e, true).Initialize(ctx, o.InitOptions)
	if err != nil || !open {
		return err
	}
	return openConsole(ctx, e, false)
}
