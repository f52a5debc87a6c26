package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// everyName returns the names of the commands below root, hidden ones too.
func everyName(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// newRoot returns the command line, with all commands.
func newRoot(e *env) *cobra.Command {
	var asked bool // for the version
	root := &cobra.Command{
		Use:           "broker",
		Short:         "One MCP server in front of many: search their tools, run code that calls them",
		Long:          "One MCP server in front of many: search their tools, run code that calls them.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return printVersion(e)
			}
			if _, exists, err := config.Target(e.configPath); err == nil && !exists && e.Person() != nil {
				return new(initOptions).run(cmd.Context(), e)
			}
			printStarting(e)
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&asked, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVar(&e.configPath, "config", "", "config file (default ./servers.json, then $XDG_CONFIG_HOME/broker/servers.json)")
	flags.StringVar(&e.stateDir, "state-dir", "", "where the catalogue and the audit log are (default $XDG_STATE_HOME/broker/…)")
	flags.StringVar(&e.profile, "profile", "", "use this profile of the config (default $BROKER_PROFILE)")
	flags.BoolVar(&e.JSON, "json", false, "print JSON")
	flags.BoolVarP(&e.verbose, "verbose", "v", false, "log what happens to stderr")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usagef("%w\nhint: %s", cli.FlagError(err), flagHint(cmd, err))
	})
	root.SetHelpCommand(helpCommand(e, root))
	root.AddCommand(
		serveCommand(e), indexCommand(e), searchCommand(e), callCommand(e), toolsCommand(e), evalCommand(e), execCommand(e), runCommand(e), scriptsCommand(e), serversCommand(e),
		tailCommand(e), topCommand(e), auditCommand(e), runsCommand(e), approvalsCommand(e), policyCommand(e), doctorCommand(e), waitCommand(e), sandboxCommand(e), authCommand(e), initCommand(e), importCommand(e), installCommand(e), uninstallCommand(e),
		typesCommand(e), storeCommand(e), promptCommand(e), versionCommand(e), manCommand(),
		redactCommand(e),
		profilesCommand(e), tokensCommand(e), projectsCommand(e),
		skillsCommand(e), pluginsCommand(e), pinsCommand(e), consoleCommand(e), sandboxdCommand(e), daemonCommand(e), serviceCommand(e),
	)
	completer{e}.add(root)
	cli.FitHelp(root, e.Out)
	groupCommands(root)
	setRootHelp(e, root)
	return root
}
