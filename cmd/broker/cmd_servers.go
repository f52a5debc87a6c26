package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
)

func (a *app) serversCommand() *cobra.Command {
	return group("servers", "Manage the configured servers", a.serversListCommand(), a.serversAddCommand(), a.serversRemoveCommand(),
		a.serversSwitchCommand("enable", "Enable a server", false), a.serversSwitchCommand("disable", "Disable a server without removing it", true),
		a.serversTestCommand(), a.serversLogsCommand())
}

func (a *app) serversListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers with status and number of tools; for one, its tools",
		Args:  someArgs(0, 1, "at most one server"),
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
			ans := s.broker.ListServers(name)
			if ans.Note != "" {
				return usage("%s", ans.Note)
			}
			if a.json {
				return a.printJSON(ans)
			}
			err = table[broker.ServerInfo]{"SERVER\tTRANSPORT\tSTATUS\tTOOLS\t", func(i broker.ServerInfo) []any {
				return []any{i.Name, i.Transport, i.Status, i.ToolCount, oneLine(cmp.Or(i.Error, i.Description), 100)}
			}}.print(a.stdout, ans.Servers)
			if err != nil {
				return err
			}
			for _, i := range ans.Servers {
				for _, t := range i.Tools {
					sayln(a.stdout, t)
				}
			}
			return nil
		},
	}
}
