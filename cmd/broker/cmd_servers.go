package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func serversCommand(e *env) *cobra.Command {
	return cli.Group("servers", "Manage the configured servers", serversListCommand(e), serversAddCommand(e), serversRemoveCommand(e),
		serversSwitchCommand(e, "enable", "Enable a server", false), serversSwitchCommand(e, "disable", "Disable a server without removing it", true),
		serversPinCommand(e), serversUpdateCommand(e), serversTestCommand(e), serversLogsCommand(e))
}

// serversListOptions are the options of broker servers list.
type serversListOptions struct {
	refresh bool
}

func serversListCommand(e *env) *cobra.Command {
	o := &serversListOptions{}
	c := &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers with status and number of tools; for one, its tools and the clients that share an instance",
		Long: "List the servers with status and number of tools; for one, its tools and the clients that share an instance. The\n" +
			"states in a running daemon are included; no server is started without --refresh. RUNS is the package that runs directly for a\n" +
			"server, without npx or uvx, or \"as written\" if the command runs unchanged.",
		Args: cli.SomeArgs(0, 1, "at most one server"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	refreshFlag(c, &o.refresh)
	return c
}

func (o *serversListOptions) run(ctx context.Context, e *env, args []string) error {
	s, err := e.open(application.Overrides{})
	if err != nil {
		return err
	}
	defer s.Close()
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	await.Known(ctx, &e.IO, s, o.refresh, name)
	rows := (&api.Reader{Broker: s.Broker}).Servers(ctx, name)
	if rows.Note != "" {
		return cli.Usagef("%s", rows.Note)
	}
	if e.JSON {
		return e.PrintJSON(rows)
	}
	shown := slices.Clone(rows.Servers)
	for _, name := range rows.Disabled {
		shown = append(shown, api.ServerRow{ServerInfo: broker.ServerInfo{Name: name, Status: api.StatusDisabled, Held: "broker servers enable " + gate.Name(name)}})
	}
	width := cli.Width(e.Out)
	err = cli.NewTable("SERVER\tTRANSPORT\tSTATUS\tTOOLS\tRUNS\t", func(i api.ServerRow) []any {
		return []any{i.Name, i.Transport, i.Status, i.ToolCount, runsAs(i), serverNote(i, width)}
	}).Print(e.Out, shown)
	if err != nil {
		return err
	}
	cli.Fprintf(e.Out, "%s", cli.Lines(causesBelow(shown, width)))
	for _, i := range rows.Servers {
		if name != "" && i.RetryAt != nil {
			cli.Fprintf(e.Out, "tried again %s; now: broker servers test %s\n", cli.InTime(*i.RetryAt, time.Now()), gate.Name(i.Name))
		}
		if name != "" {
			cli.Fprintf(e.Out, "instances: %s, %s; calls at a time: %d\n", i.Instances, i.InstancesWhy, i.MaxConcurrent)
		}
		for _, t := range i.Tools {
			cli.Fprintln(e.Out, t)
		}
	}
	return nil
}

// maxNote is how many characters of a note are shown where a program reads it.
const maxNote = 400

// serverNote is the last column of a server. On a terminal, which would cut it, the
// cause of a failure is below the table instead.
func serverNote(i api.ServerRow, width int) any {
	cause := standingOf(i)
	if width > 0 && cause != "" {
		return ""
	}
	note := cmp.Or(cause, strings.Trim(i.Held+"; "+i.Update, "; "))
	if note != "" && i.Error == "" {
		return cli.Hint(cli.OneLine(note, maxNote))
	}
	return cli.OneLine(cmp.Or(note, i.Description), maxNote)
}

// causesBelow says why servers do not work, in lines of a terminal's width.
func causesBelow(rows []api.ServerRow, width int) string {
	var b strings.Builder
	for _, i := range rows {
		if cause := standingOf(i); width > 0 && cause != "" {
			b.WriteString(cli.Fold(gate.Name(i.Name)+": "+cli.OneLine(cause, maxNote), width, "  ") + "\n")
		}
	}
	return b.String()
}

// standingOf returns the reason a server has no tools or does not work, or how long it
// has been starting.
func standingOf(s api.ServerRow) string {
	switch {
	case s.Since != nil:
		return strings.TrimPrefix(cmp.Or(s.Doing, s.Status)+", ", s.Status+", ") + "for " + cli.Duration(time.Since(*s.Since))
	case s.FailedAt != nil:
		return cli.FailedAgo(s.Status, s.Error, *s.FailedAt, time.Now())
	case s.Error == "" && s.Status == string(upstream.StateIdle):
		return "not listed yet: broker index"
	case s.Status == string(upstream.StateIdle):
		return "not listed yet, broker index waits for it: " + s.Error
	}
	return cli.Cause(s.Error)
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
