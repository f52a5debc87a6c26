package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func (a *app) serversCommand() *cobra.Command {
	return group("servers", "Manage the configured servers", a.serversListCommand(), a.serversAddCommand(), a.serversRemoveCommand(),
		a.serversSwitchCommand("enable", "Enable a server", false), a.serversSwitchCommand("disable", "Disable a server without removing it", true),
		a.serversPinCommand(), a.serversUpdateCommand(), a.serversTestCommand(), a.serversLogsCommand())
}

func (a *app) serversListCommand() *cobra.Command {
	var refresh bool
	c := &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers with status and number of tools; for one, its tools and who shares an instance",
		Long: "List the servers with status and number of tools; for one, its tools and who shares an instance. It includes the\n" +
			"states in a running daemon, and starts no server without --refresh. RUNS is the package that runs directly for a\n" +
			"server, without npx or uvx, or \"as written\" if the command runs unchanged.",
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
			a.readKnown(cmd, s, refresh, name)
			rows := (&api.Reader{Broker: s.broker}).Servers(cmd.Context(), name)
			if rows.Note != "" {
				return usage("%s", rows.Note)
			}
			if a.json {
				return a.printJSON(rows)
			}
			shown := slices.Clone(rows.Servers)
			for _, name := range rows.Disabled {
				shown = append(shown, api.ServerRow{ServerInfo: broker.ServerInfo{Name: name, Status: statusDisabled, Held: "broker servers enable " + gate.Name(name)}})
			}
			err = table[api.ServerRow]{"SERVER\tTRANSPORT\tSTATUS\tTOOLS\tRUNS\t", func(i api.ServerRow) []any {
				return []any{i.Name, i.Transport, i.Status, i.ToolCount, runsAs(i), oneLine(cmp.Or(standingOf(i), strings.Trim(i.Held+"; "+i.Update, "; "), i.Description), 100)}
			}}.print(a.stdout, shown)
			if err != nil {
				return err
			}
			for _, i := range rows.Servers {
				if name != "" && i.RetryAt != nil {
					say(a.stdout, "tried again %s; now: broker servers test %s\n", inTime(*i.RetryAt, time.Now()), gate.Name(i.Name))
				}
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
	refreshFlag(c, &refresh)
	return c
}

// standingOf returns the reason a server has no tools or does not work.
func standingOf(s api.ServerRow) string {
	switch {
	case s.FailedAt != nil:
		return failedAgo(s.Status, *s.FailedAt, time.Now()) + why(s.Error)
	case s.Error == "" && s.Status == string(upstream.StateIdle):
		return "not listed yet: broker index"
	case s.Status == string(upstream.StateIdle):
		return "not listed yet, broker index waits for it: " + s.Error
	}
	return why(s.Error)
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
