package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/policy/scan"
	"github.com/mcpbroker/mcpbroker/state"
)

// pinStore is where the tools that were approved are kept.
func (a *app) pinStore(cfg *config.Config, state string) *pins.Store {
	return pins.Open(filepath.Join(state, "pins"), pinMode(cfg), a.logger())
}

func pinMode(cfg *config.Config) pins.Mode {
	return pins.Mode(cmp.Or(cfg.Broker.Pins, string(pins.On)))
}

// A pinned is what the commands of pins work on.
type pinned struct {
	store    *pins.Store
	listings []discovery.Listing
	tool     string // the only one; empty means all
	note     func(state.Event)
}

// rows are the tools as they are compared with their pins.
func (p *pinned) rows() ([]pins.Row, error) {
	var list []pins.Row
	for _, l := range p.listings {
		rows, err := p.store.Rows(l)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if p.tool == "" || r.Tool == p.tool {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// withPins is a command's RunE that does f with the tools of SERVER[.TOOL], or of
// all servers.
func (a *app) withPins(f func(*pinned) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.openAnyway(-1)
		if err != nil {
			return err
		}
		defer s.close()
		s.broker.StartLazily(cmd.Context())
		a.learnMissing(cmd, s, "")
		p := &pinned{store: a.pinStore(s.config, s.state), listings: s.broker.Listings(), note: s.audit.Note}
		if len(args) > 0 {
			if err := p.only(args[0]); err != nil {
				return err
			}
		}
		return f(p)
	}
}

// only keeps what SERVER or SERVER.TOOL names: the longest name of a server
// counts.
func (p *pinned) only(name string) error {
	var names []string
	best := -1
	for i, l := range p.listings {
		names = append(names, gate.Name(l.Server))
		if (name == l.Server || strings.HasPrefix(name, l.Server+".")) && (best < 0 || len(l.Server) > len(p.listings[best].Server)) {
			best = i
		}
	}
	if best < 0 {
		return usage("no tools are known of a server %q\nhint: known are %s", name, strings.Join(names, ", "))
	}
	l := p.listings[best]
	p.listings = []discovery.Listing{l}
	p.tool = strings.TrimPrefix(strings.TrimPrefix(name, l.Server), ".")
	return nil
}

func (a *app) pinsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [SERVER[.TOOL]]",
		Short: "List tools and whether they are as they were approved",
		Args:  someArgs(0, 1, "SERVER or SERVER.TOOL"),
		RunE: a.withPins(func(p *pinned) error {
			rows, err := p.rows()
			if err != nil {
				return err
			}
			return printList(a, rows, "no tools are known", table[pins.Row]{"SERVER\tTOOL\tSTATE\tHELD\tSCAN", func(r pins.Row) []any {
				return []any{r.Server, r.Tool, r.State, yes(r.Held), r.Verdict.String()}
			}})
		}),
	}
}

func (a *app) pinsDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff [SERVER[.TOOL]]",
		Short: "Show what differs from what was approved, and why tools are held",
		Args:  someArgs(0, 1, "SERVER or SERVER.TOOL"),
		RunE: a.withPins(func(p *pinned) error {
			rows, err := p.rows()
			if err != nil {
				return err
			}
			rows = slices.DeleteFunc(rows, func(r pins.Row) bool { return r.State == pins.Approved })
			if a.json {
				return a.printJSON(append([]pins.Row{}, rows...))
			}
			if len(rows) == 0 {
				sayln(a.stdout, "all tools are as they were approved")
			}
			for _, r := range rows {
				a.printPin(r)
			}
			return nil
		}),
	}
}

func (a *app) printPin(r pins.Row) {
	held := ""
	if r.Held {
		held = ", held back"
	}
	say(a.stdout, "%s.%s: %s%s\n", r.Server, r.Tool, r.State, lines(held))
	for _, d := range r.Changes {
		say(a.stdout, "  %s\n", d.Text)
	}
	if r.Verdict > scan.Pass {
		for _, f := range r.Finding {
			say(a.stdout, "  scan: %s: %s (%s)\n", f.Where, f.Verdict.String(), strings.Join(f.Kinds, ", "))
		}
	}
}

func (a *app) pinsApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve SERVER[.TOOL]",
		Short: "Approve tools as they are now",
		Args:  oneArg("SERVER or SERVER.TOOL (broker pins diff shows what differs)"),
		RunE: a.withPins(func(p *pinned) error {
			rows, err := p.rows()
			if err != nil {
				return err
			}
			names := map[string]bool{}
			l := p.listings[0]
			if p.tool != "" {
				names[p.tool] = true
				if !slices.ContainsFunc(l.Tools, func(t discovery.ListedTool) bool { return t.Name == p.tool }) {
					return usage("server %q has no tool %q\nhint: broker pins list", l.Server, p.tool)
				}
			}
			if err := p.store.Approve(l, names); err != nil {
				return err
			}
			n, approved := 0, ""
			for _, r := range rows {
				if r.State != pins.Approved {
					approved += " " + r.Tool
					a.printPin(r)
					n++
				}
			}
			p.note(state.Event{Kind: state.EventPins, Server: l.Server, Client: clientCLI, Detail: "approved" + cmp.Or(approved, " as it was")})
			say(a.stdout, "approved: %s\n", counted(n, "tool"))
			return nil
		}),
	}
}

func (a *app) pinsBlockCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "block SERVER.TOOL",
		Short: "Hold a tool back until it is approved",
		Args:  oneArg("SERVER.TOOL"),
		RunE: a.withPins(func(p *pinned) error {
			l := p.listings[0]
			if !slices.ContainsFunc(l.Tools, func(t discovery.ListedTool) bool { return t.Name == p.tool }) {
				return usage("server %q has no tool %q\nhint: broker pins list", l.Server, p.tool)
			}
			if err := p.store.Block(l.Server, []string{p.tool}); err != nil {
				return err
			}
			p.note(state.Event{Kind: state.EventPins, Server: l.Server, Client: clientCLI, Detail: "blocked " + p.tool})
			say(a.stdout, "blocked: %s.%s\n", l.Server, p.tool)
			return nil
		}),
	}
}
