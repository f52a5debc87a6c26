package main

import (
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) serversCommand() *cobra.Command {
	return group("servers", "The configured servers", a.serversListCommand(), a.serversAddCommand(), a.serversRemoveCommand(),
		a.serversSwitchCommand("enable", "Switch a server on", false), a.serversSwitchCommand("disable", "Switch a server off without removing it", true),
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
			tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			say(tw, "SERVER\tTRANSPORT\tSTATUS\tTOOLS\t\n")
			for _, i := range ans.Servers {
				note := i.Error
				if note == "" {
					note = i.Description
				}
				say(tw, "%s\t%s\t%s\t%d\t%s\n", i.Name, i.Transport, i.Status, i.ToolCount, oneLine(note, 100))
			}
			if err := tw.Flush(); err != nil {
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
