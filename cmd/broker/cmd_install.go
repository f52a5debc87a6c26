package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// installOptions are the options of broker install.
type installOptions struct {
	request  clients.Request
	noIndex  bool
	link     bool
	all      bool
	projects bool
	secrets  string
}

func installCommand(e *env) *cobra.Command {
	o := &installOptions{}
	c := &cobra.Command{
		Use:   "install CLIENT|--all",
		Short: "Add the broker to a client's config",
		Long: "Add the broker to the config of a client, as one entry; with --profile, the client uses that profile. Everything else in\n" +
			"the file stays as it is; the file is backed up, and broker uninstall restores it, byte for byte. With --move the\n" +
			"client's other servers become the broker's. Installing again brings the entry up to date. Then connect to the servers\n" +
			"that were never listed and say what their tools cost. With --all, every client found gets the entry.\n\nWith --link nothing is written: it prints links for VS Code and Cursor, which ask before they install.\n\n" +
			"Clients: " + strings.Join(clients.IDs(), ", "),
		Args: func(cmd *cobra.Command, args []string) error {
			if o.link {
				return cli.SomeArgs(0, 1, "at most one client")(cmd, args)
			}
			return clientOrAll(o.all)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	noIndexFlag(c, &o.noIndex)
	secretsFlag(c, &o.secrets)
	c.Flags().StringVar(&o.request.Name, "name", "broker", "the name of the entry")
	c.Flags().BoolVar(&o.request.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&o.request.Move, "move", false, "move the other servers of the file into servers.json")
	c.Flags().StringSliceVar(&o.request.Only, "server", nil, "with --move, these servers of the file only")
	c.Flags().BoolVar(&o.projects, "projects", false, "with --move, the servers that Claude Code has for single projects, too")
	c.Flags().BoolVar(&o.request.DryRun, "dry-run", false, "report what would change and write nothing")
	c.Flags().BoolVar(&o.all, "all", false, "every client found")
	c.Flags().BoolVar(&o.link, "link", false, "print links that install the broker when they are opened")
	return c
}

func (o *installOptions) run(ctx context.Context, e *env, args []string) error {
	if o.link {
		return clientSetup(e).PrintLinks(o.request, args)
	}
	if err := setup.CheckSecrets(o.secrets); err != nil {
		return err
	}
	if !o.request.Move && (o.request.Only != nil || o.projects) {
		return cli.Usagef("--server and --projects say what --move takes\nhint: add --move")
	}
	install := func(id string, noIndex bool) error {
		r := o.request
		if err := clientSetup(e).Aim(&r, id); err != nil {
			return err
		}
		if o.projects {
			r.Projects = setup.ProjectFolders(clients.OtherProjects(r.Client, r.Env, r.Options))
		}
		r.Options.Keyring, r.Store = o.secrets == setup.SecretsKeyring, clientSetup(e).StoreSecret
		return clientSetup(e).Install(ctx, r, o.secrets, noIndex)
	}
	if !o.all {
		return install(args[0], o.noIndex)
	}
	list, err := setup.Found()
	if err == nil && len(list) == 0 {
		err = cli.Errorf("no client was found\nhint: broker install CLIENT writes the file of one: %s", strings.Join(clients.IDs(), ", "))
	}
	if err != nil {
		return err
	}
	return setup.ForEach(list, func(n int, id string) error { return install(id, o.noIndex || n < len(list)-1) })
}

// clientOrAll accepts one client or, with --all, no argument.
func clientOrAll(all bool) cobra.PositionalArgs {
	if all {
		return cli.NoArgs
	}
	return cli.OneArg("a client, or --all")
}

// uninstallOptions are the options of broker uninstall.
type uninstallOptions struct {
	request clients.Request
	all     bool
}

func uninstallCommand(e *env) *cobra.Command {
	o := &uninstallOptions{}
	c := &cobra.Command{
		Use:   "uninstall CLIENT|--all",
		Short: "Remove the broker from a client's config",
		Long: "Restore the file of a client to what it was before broker install, byte for byte. If it was edited since then, only\n" +
			"the broker's entry is removed and moved servers return to their places; your edits stay. With --all, every client that\n" +
			"has the broker.",
		Args: func(cmd *cobra.Command, args []string) error { return clientOrAll(o.all)(cmd, args) },
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "every client that has the broker")
	c.Flags().BoolVar(&o.request.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&o.request.DryRun, "dry-run", false, "report what would change and write nothing")
	return c
}

func (o *uninstallOptions) run(e *env, args []string) error {
	uninstall := func(id string) error {
		r := o.request
		if err := clientSetup(e).Aim(&r, id); err != nil {
			return err
		}
		res, err := clients.Uninstall(r)
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(res)
		}
		setup.PrintUninstall(e.Out, res, r.DryRun)
		return nil
	}
	if !o.all {
		return uninstall(args[0])
	}
	list, err := clientSetup(e).Installed(o.request.Project)
	if err != nil {
		return err
	}
	if len(list) == 0 && !e.JSON {
		cli.Fprintln(e.Out, "no client has the broker")
	}
	return setup.ForEach(list, func(_ int, id string) error { return uninstall(id) })
}
