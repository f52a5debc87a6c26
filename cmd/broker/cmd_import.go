package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// importOptions are the options of broker import.
type importOptions struct {
	dryRun  bool
	force   bool
	noIndex bool
	from    string
	secrets string
}

func importCommand(e *env) *cobra.Command {
	o := &importOptions{}
	c := &cobra.Command{
		Use:   "import [CLIENT|FILE]",
		Short: "Import the servers of a client into servers.json",
		Long: "Import the servers of a client into servers.json, which is created if missing. Its comments stay, and so does\n" +
			"a server that has the same name. The client's own files are not touched. Then connect to the servers that\n" +
			"were added and say what their tools cost. Without an argument, list what the clients have.\n\nClients: " + strings.Join(clients.IDs(), ", "),
		Args: cli.SomeArgs(0, 1, "one client or file"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	noIndexFlag(c, &o.noIndex)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "report what would change and write nothing")
	c.Flags().BoolVar(&o.force, "force", false, "replace servers that have the same name")
	secretsFlag(c, &o.secrets)
	c.Flags().StringVar(&o.from, "from", "", "read this file in the format of the client")
	return c
}

func (o *importOptions) run(ctx context.Context, e *env, args []string) error {
	env, err := clients.CurrentEnv()
	if err != nil {
		return err
	}
	if len(args) == 0 && o.from == "" {
		return clientSetup(e).ListClients(env)
	}
	if err := setup.CheckSecrets(o.secrets); err != nil {
		return err
	}
	read := func(keyring bool) ([]clients.Source, error) { return setup.ImportSources(env, args, o.from, keyring) }
	return clientSetup(e).ImportServers(ctx, read, o.secrets, o.dryRun, o.force, o.noIndex)
}
