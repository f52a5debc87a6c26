package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/policy/scan"
	"github.com/mcpbroker/mcpbroker/state"
)

// withPins returns the RunE of a command that calls f with the offers of SERVER[.NAME]
// or of all servers, as far as they are known. With refresh it lists the servers first.
func withPins(e *env, refresh *bool, f func(*application.App, []pins.Row) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := e.open(application.Overrides{})
		if err != nil {
			return err
		}
		defer s.Close()
		name := ""
		if len(args) > 0 {
			name = serverIn(s, args[0])
		}
		await.Known(cmd.Context(), &e.IO, s, *refresh, name)
		listings := s.Broker.Listings()
		rows, err := s.Pins.Rows(listings)
		if err == nil && len(args) > 0 {
			if name != "" && slices.Contains(s.Broker.Unlisted(), name) {
				return await.NotListed(s, name, "pins list "+gate.Name(name), *refresh)
			}
			rows, err = rowsNamed(listings, rows, args[0])
		}
		if err == nil {
			err = f(s, rows)
		}
		if err == nil && !e.JSON {
			if name == "" {
				printDisabled(e, s)
			}
			await.PrintMissing(e.Err, s, name, "")
		}
		return err
	}
}

// serverIn returns the configured server that SERVER or SERVER.NAME names, or "".
func serverIn(s *application.App, name string) string {
	longest := ""
	for _, st := range s.Broker.Status() {
		if (name == st.Name || strings.HasPrefix(name, st.Name+".")) && len(st.Name) > len(longest) {
			longest = st.Name
		}
	}
	return longest
}

// rowsNamed keeps what SERVER or SERVER.NAME names: the longest name of a server
// counts.
func rowsNamed(listings []discovery.Listing, rows []pins.Row, name string) ([]pins.Row, error) {
	var names []string
	server, found := "", false
	for _, l := range listings {
		names = append(names, gate.Name(l.Server))
		if (name == l.Server || strings.HasPrefix(name, l.Server+".")) && (!found || len(l.Server) > len(server)) {
			server, found = l.Server, true
		}
	}
	if !found {
		return nil, cli.Usagef("nothing is known of a server %q\nhint: known are %s", name, strings.Join(names, ", "))
	}
	one := strings.TrimPrefix(strings.TrimPrefix(name, server), ".")
	rows = slices.DeleteFunc(rows, func(r pins.Row) bool { return r.Server != server || one != "" && r.Title() != one })
	if one != "" && len(rows) == 0 {
		return nil, cli.Usagef("server %q has no %q\nhint: broker pins list %s", server, one, gate.Name(server))
	}
	return rows, nil
}

const pinArgs = "SERVER or SERVER.NAME"

// pinsListOptions are the options of broker pins list.
type pinsListOptions struct {
	refresh bool
}

func pinsListCommand(e *env) *cobra.Command {
	o := &pinsListOptions{}
	c := &cobra.Command{
		Use:   "list [SERVER[.NAME]]",
		Short: "List what servers offer and what has changed since it was approved",
		Args:  cli.SomeArgs(0, 1, pinArgs),
		RunE:  withPins(e, &o.refresh, func(_ *application.App, rows []pins.Row) error { return o.run(e, rows) }),
	}
	refreshFlag(c, &o.refresh)
	return c
}

func (o *pinsListOptions) run(e *env, rows []pins.Row) error {
	return cli.PrintList(&e.IO, rows, "no tools are known", cli.NewTable("SERVER\tNAME\tSTATE\tHELD\tSCAN", func(r pins.Row) []any {
		return []any{r.Server, r.Title(), r.State, cli.Yes(r.Held), r.Verdict.String()}
	}))
}

// pinsDiffOptions are the options of broker pins diff.
type pinsDiffOptions struct {
	refresh bool
}

func pinsDiffCommand(e *env) *cobra.Command {
	o := &pinsDiffOptions{}
	c := &cobra.Command{
		Use:   "diff [SERVER[.NAME]]",
		Short: "Show what has changed since it was approved, and why it is held",
		Args:  cli.SomeArgs(0, 1, pinArgs),
		RunE:  withPins(e, &o.refresh, func(_ *application.App, rows []pins.Row) error { return o.run(e, rows) }),
	}
	refreshFlag(c, &o.refresh)
	return c
}

func (o *pinsDiffOptions) run(e *env, rows []pins.Row) error {
	rows = slices.DeleteFunc(rows, func(r pins.Row) bool { return r.State == pins.Approved })
	if e.JSON {
		return e.PrintJSON(append([]pins.Row{}, rows...))
	}
	if len(rows) == 0 {
		cli.Fprintln(e.Out, "all is as it was approved")
	}
	for _, r := range rows {
		printPin(e, r)
	}
	return nil
}

func printPin(e *env, r pins.Row) {
	held := ""
	if r.Held {
		held = ", held back"
	}
	cli.Fprintf(e.Out, "%s.%s: %s%s\n", r.Server, r.Title(), r.State, cli.Lines(held))
	for _, d := range r.Changes {
		cli.Fprintf(e.Out, "  %s\n", d.Text)
	}
	if r.Verdict > scan.Pass {
		for _, f := range r.Findings {
			cli.Fprintf(e.Out, "  scan: %s: %s (%s)\n", f.Where, f.Verdict.String(), strings.Join(f.Kinds, ", "))
		}
	}
}

// pinsApproveOptions are the options of broker pins approve.
type pinsApproveOptions struct {
	refresh bool
}

func pinsApproveCommand(e *env) *cobra.Command {
	o := &pinsApproveOptions{}
	c := &cobra.Command{
		Use:   "approve SERVER[.NAME]",
		Short: "Approve what a server offers now",
		Args:  cli.OneArg(pinArgs + " (broker pins diff shows what differs)"),
		RunE:  withPins(e, &o.refresh, func(s *application.App, rows []pins.Row) error { return o.run(e, s, rows) }),
	}
	refreshFlag(c, &o.refresh)
	return c
}

func (o *pinsApproveOptions) run(e *env, s *application.App, rows []pins.Row) error {
	if err := s.Pins.Approve(rows); err != nil {
		return err
	}
	notePins(s, "approved", rows)
	n := 0
	for _, r := range rows {
		if r.State != pins.Approved {
			printPin(e, r)
			n++
		}
	}
	cli.Fprintf(e.Out, "approved: %s of %d\n", cli.Count(n, "difference"), len(rows))
	return nil
}

// pinsBlockOptions are the options of broker pins block.
type pinsBlockOptions struct {
	refresh bool
}

func pinsBlockCommand(e *env) *cobra.Command {
	o := &pinsBlockOptions{}
	c := &cobra.Command{
		Use:   "block SERVER[.NAME]",
		Short: "Hold something back until it is approved",
		Args:  cli.OneArg(pinArgs),
		RunE:  withPins(e, &o.refresh, func(s *application.App, rows []pins.Row) error { return o.run(e, s, rows) }),
	}
	refreshFlag(c, &o.refresh)
	return c
}

func (o *pinsBlockOptions) run(e *env, s *application.App, rows []pins.Row) error {
	if err := s.Pins.Block(rows); err != nil {
		return err
	}
	notePins(s, "blocked", rows)
	for _, r := range rows {
		cli.Fprintf(e.Out, "blocked: %s.%s\n", r.Server, r.Title())
	}
	return nil
}

// notePins records what a person decided, an event for each server.
func notePins(s *application.App, decided string, rows []pins.Row) {
	names := make(map[string]string)
	for _, r := range rows {
		if decided != "approved" || r.State != pins.Approved {
			names[r.Server] += " " + r.Title()
		}
	}
	for server, what := range names {
		s.Audit.Note(state.Event{Kind: state.EventPins, Server: server, Client: application.ClientCLI, Detail: decided + what})
	}
}
