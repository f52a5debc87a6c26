package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

func installCommand(e *env) *cobra.Command {
	var r clients.Request
	noIndex, link, all, projects := false, false, false, false
	var secrets string
	c := &cobra.Command{
		Use:   "install CLIENT|--all",
		Short: "Add the broker to a client's config",
		Long: "Add the broker to the config of a client, as one entry; with --profile, the client uses that profile. Everything else in\n" +
			"the file stays as it is; the file is backed up, and broker uninstall restores it, byte for byte. With --move the\n" +
			"client's other servers become the broker's. Installing again brings the entry up to date. Then connect to the servers\n" +
			"that were never listed and say what their tools cost. With --all, every client found gets the entry.\n\nWith --link nothing is written: it prints links for VS Code and Cursor, which ask before they install.\n\n" +
			"Clients: " + strings.Join(clients.IDs(), ", "),
		Args: func(cmd *cobra.Command, args []string) error {
			if link {
				return cli.SomeArgs(0, 1, "at most one client")(cmd, args)
			}
			return clientOrAll(all)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if link {
				return clientSetup(e).PrintLinks(r, args)
			}
			if err := setup.CheckSecrets(secrets); err != nil {
				return err
			}
			if !r.Move && (r.Only != nil || projects) {
				return cli.Usagef("--server and --projects say what --move takes\nhint: add --move")
			}
			install := func(id string, noIndex bool) error {
				r := r
				if err := clientSetup(e).Aim(&r, id); err != nil {
					return err
				}
				if projects {
					r.Projects = setup.ProjectFolders(clients.OtherProjects(r.Client, r.Env, r.Options))
				}
				r.Options.Keyring, r.Store = secrets == setup.SecretsKeyring, clientSetup(e).StoreSecret
				return clientSetup(e).Install(cmd.Context(), r, secrets, noIndex)
			}
			if !all {
				return install(args[0], noIndex)
			}
			list, err := setup.Found()
			if err == nil && len(list) == 0 {
				err = cli.Errorf("no client was found\nhint: broker install CLIENT writes the file of one: %s", strings.Join(clients.IDs(), ", "))
			}
			if err != nil {
				return err
			}
			return setup.ForEach(list, func(n int, id string) error { return install(id, noIndex || n < len(list)-1) })
		},
	}
	noIndexFlag(c, &noIndex)
	secretsFlag(c, &secrets)
	c.Flags().StringVar(&r.Name, "name", "broker", "the name of the entry")
	c.Flags().BoolVar(&r.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&r.Move, "move", false, "move the other servers of the file into servers.json")
	c.Flags().StringSliceVar(&r.Only, "server", nil, "with --move, these servers of the file only")
	c.Flags().BoolVar(&projects, "projects", false, "with --move, the servers that Claude Code has for single projects, too")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "report what would change and write nothing")
	c.Flags().BoolVar(&all, "all", false, "every client found")
	c.Flags().BoolVar(&link, "link", false, "print links that install the broker when they are opened")
	return c
}

// clientOrAll accepts one client or, with --all, no argument.
func clientOrAll(all bool) cobra.PositionalArgs {
	if all {
		return cli.NoArgs
	}
	return cli.OneArg("a client, or --all")
}

func uninstallCommand(e *env) *cobra.Command {
	var r clients.Request
	var all bool
	c := &cobra.Command{
		Use:   "uninstall CLIENT|--all",
		Short: "Remove the broker from a client's config",
		Long: "Restore the file of a client to what it was before broker install, byte for byte. If it was edited since then, only\n" +
			"the broker's entry is removed and moved servers return to their places; your edits stay. With --all, every client that\n" +
			"has the broker.",
		Args: func(cmd *cobra.Command, args []string) error { return clientOrAll(all)(cmd, args) },
		RunE: func(_ *cobra.Command, args []string) error {
			uninstall := func(id string) error {
				r := r
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
			if !all {
				return uninstall(args[0])
			}
			list, err := clientSetup(e).Installed(r.Project)
			if err != nil {
				return err
			}
			if len(list) == 0 && !e.JSON {
				cli.Fprintln(e.Out, "no client has the broker")
			}
			return setup.ForEach(list, func(_ int, id string) error { return uninstall(id) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every client that has the broker")
	c.Flags().BoolVar(&r.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "report what would change and write nothing")
	return c
}
