package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
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
			ans := s.broker.ListServers(name)
			if ans.Note != "" {
				return usage("%s", ans.Note)
			}
			rows := serverRowsOf(cmd.Context(), s.broker, ans)
			if a.json {
				return a.printJSON(rows)
			}
			err = table[serverRow]{"SERVER\tTRANSPORT\tSTATUS\tTOOLS\tRUNS\t", func(i serverRow) []any {
				return []any{i.Name, i.Transport, i.Status, i.ToolCount, i.runs(), oneLine(cmp.Or(why(i.Error), i.Description), 100)}
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

// A serverRow is a server as the command lists it: what models see of it, who
// shares an instance, and what runs.
type serverRow struct {
	broker.ServerInfo
	Instances     upstream.Sharing `json:"instances,omitempty"`
	InstancesWhy  string           `json:"instances_why,omitempty"`
	MaxConcurrent int              `json:"max_concurrent,omitempty"`
	// Package runs directly, without npx or uvx; empty if the command runs as it is
	// written.
	Package string `json:"package,omitempty"`
}

func (r serverRow) runs() string {
	switch {
	case r.Package != "":
		return r.Package
	case r.Transport == "stdio":
		return "as written"
	}
	return ""
}

// serverRows is broker.ServersAnswer with such rows.
type serverRows struct {
	Servers []serverRow `json:"servers"`
	broker.ServersAnswer
}

func serverRowsOf(ctx context.Context, b *broker.Broker, ans broker.ServersAnswer) serverRows {
	rows := serverRows{ServersAnswer: ans, Servers: []serverRow{}}
	byName := make(map[string]upstream.Status)
	for _, st := range b.Status() {
		byName[st.Name] = st
	}
	for _, i := range ans.Servers {
		st := byName[i.Name]
		rows.Servers = append(rows.Servers, serverRow{i, st.Sharing, st.SharingWhy, st.MaxConcurrent, b.Package(ctx, i.Name)})
	}
	return rows
}
