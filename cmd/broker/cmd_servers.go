package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
)

func (a *app) serversCommand() *cobra.Command {
	return group("servers", "Manage the configured servers", a.serversListCommand(), a.serversAddCommand(), a.serversRemoveCommand(),
		a.serversSwitchCommand("enable", "Enable a server", false), a.serversSwitchCommand("disable", "Disable a server without removing it", true),
		a.serversPinCommand(), a.serversTestCommand(), a.serversLogsCommand())
}

func (a *app) serversListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers with status and number of tools; for one, its tools and who shares an instance",
		Long: "List the servers with status and number of tools; for one, its tools and who shares an instance. RUNS is the package\n" +
			"that runs directly for a server, without npx or uvx, or \"as written\" if its command does.",
		Args: someArgs(0, 1, "at most one server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openAnyway(-1)
			if err != nil {
				return err
			}
			defer s.close()
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			a.learnMissing(cmd, s, name)
			rows := (&api.Reader{Broker: s.broker}).Servers(cmd.Context(), name)
			if rows.Note != "" {
				return usage("%s", rows.Note)
			}
			if a.json {
				return a.printJSON(rows)
			}
			err = table[api.ServerRow]{"SERVER\tTRANSPORT\tSTATUS\tTOOLS\tRUNS\t", func(i api.ServerRow) []any {
				return []any{i.Name, i.Transport, i.Status, i.ToolCount, runsAs(i), oneLine(cmp.Or(why(i.Error), i.Description), 100)}
			}}.print(a.stdout, rows.Servers)
			if err != nil {
				return err
			}
			for _, i := range rows.Servers {
				if name != "" {
					say(a.stdout, "instances: %s, %s; calls at a time: %d\n", i.Instances, i.InstancesWhy, i.MaxConcurrent)
				}
				for _, t := range i.Tools {
					sayln(a.stdout, t)
				}
			}
			return nil
		},
	}
}

// runsAs is what runs for a server.
func runsAs(s api.ServerRow) string {
	switch {
	case s.Package != "":
		return s.Package
	case s.Transport == "stdio":
		return "as written"
	}
	return ""
}
