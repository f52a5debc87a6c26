package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func toolsCommand(e *env) *cobra.Command {
	return cli.Group("tools", "List the tools of the servers, or show one", toolsListCommand(e), toolsShowCommand(e))
}

// A toolRow is one tool in a list.
type toolRow struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	ReadOnly    bool   `json:"read_only"`
	Description string `json:"description,omitempty"`
	// Held is the reason a tool cannot be called: it is held back until a person
	// approves it.
	Held string `json:"held,omitempty"`
}

// toolsListOptions are the options of broker tools list.
type toolsListOptions struct {
	readOnly bool
	server   string
	refresh  bool
}

func toolsListCommand(e *env) *cobra.Command {
	o := &toolsListOptions{}
	c := &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List all tools, or those of one server",
		Args:  cli.SomeArgs(0, 1, "at most one server"),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.server, "server", "", "only this server")
	refreshFlag(c, &o.refresh)
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *toolsListOptions) run(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		o.server = args[0]
	}
	s, err := e.open(application.Overrides{ReadOnly: o.readOnly})
	if err != nil {
		return err
	}
	defer s.Close()
	only, known := s.Broker.Catalog().FindServer(o.server)
	if !known && o.server != "" {
		return cli.Usagef("%s", s.Broker.ListServers(o.server).Note)
	}
	if known {
		o.server = only.Listing.Server
	}
	await.Known(ctx, &e.IO, s, o.refresh, o.server)
	rows := []toolRow{}
	for _, t := range s.Broker.Catalog().Tools() {
		if !known || t.Server == o.server {
			rows = append(rows, toolRow{Name: t.ID, Server: t.Server, ReadOnly: t.ReadOnly(), Description: t.Description})
		}
	}
	if err := printTools(e, append(rows, heldRows(s.Broker.Catalog(), o.server)...)); err != nil {
		return err
	}
	if !known {
		printDisabled(e, s)
	}
	if await.PrintMissing(e.Err, s, o.server, "") > 0 {
		return cli.Exit(cli.ExitServers, nil)
	}
	return nil
}

func printTools(e *env, rows []toolRow) error {
	room := cli.ScreenWidth - len("  READ-ONLY  ") - cli.Longest(len("TOOL"), rows, func(r toolRow) string { return r.Name })
	return cli.PrintList(&e.IO, rows, "there are no tools", cli.NewTable("TOOL\tREAD-ONLY\tDESCRIPTION", func(r toolRow) []any {
		if r.Held != "" {
			return []any{r.Name, "", cli.Hint(gate.Terminal(r.Held))}
		}
		return []any{r.Name, cli.Yes(r.ReadOnly), cli.OneLine(codegen.FirstSentence(r.Description, max(room, 30)), max(room, 30))}
	}))
}

// heldRows returns rows for the tools that are held back, of one server or of all. Only
// their names are shown.
func heldRows(c *discovery.Catalog, server string) (rows []toolRow) {
	for _, s := range c.Servers() {
		for _, h := range s.Held {
			if h.Kind == "tool" && (server == "" || s.Listing.Server == server) {
				rows = append(rows, toolRow{Name: gate.Name(s.Prefix + "__" + h.Name), Server: s.Listing.Server, Held: "held back (" + h.State + "): broker pins diff " + gate.Name(s.Listing.Server)})
			}
		}
	}
	return rows
}

// printDisabled names the disabled servers, whose tools are not in a list.
func printDisabled(e *env, s *application.App) {
	if off := application.Disabled(s.Config); len(off) > 0 {
		cli.Fprintf(e.Err, "disabled: %s; broker servers enable NAME\n", gate.Terminal(strings.Join(off, ", ")))
	}
}

// toolsShowOptions are the options of broker tools show.
type toolsShowOptions struct {
	readOnly bool
	refresh  bool
}

func toolsShowCommand(e *env) *cobra.Command {
	o := &toolsShowOptions{}
	c := &cobra.Command{
		Use:   "show TOOL",
		Short: "Show the description and the parameters of a tool",
		Args:  cli.OneArg("the name of a tool"),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	refreshFlag(c, &o.refresh)
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *toolsShowOptions) run(ctx context.Context, e *env, args []string) error {
	s, err := e.open(application.Overrides{ReadOnly: o.readOnly})
	if err != nil {
		return err
	}
	await.Known(ctx, &e.IO, s, o.refresh, serverOf(s, args[0]))
	d, err := s.Broker.Known(args[0])
	if unlisted, ok := errors.AsType[*broker.UnlistedError](err); ok {
		err = await.NotListed(s, unlisted.Server, "tools show "+gate.Name(args[0]), o.refresh)
		_ = s.Close() // no server was started
		return err
	}
	closed := s.Close()
	if err != nil {
		return cli.CallError(err)
	}
	if e.JSON {
		return e.PrintJSON(d)
	}
	if err := printTool(e.Out, d); err != nil {
		return err
	}
	return closed
}

// serverOf returns the server named by the beginning of a tool's name, or "".
func serverOf(s *application.App, tool string) string {
	if server, ok := s.Broker.Catalog().ServerOf(tool); ok {
		return server.Listing.Server
	}
	return ""
}

func printTool(w io.Writer, d broker.ToolDescription) error {
	access := "not marked read-only"
	if d.ReadOnly {
		access = "read-only"
	}
	cli.Fprintf(w, "%s (server %s, %s)\n", d.Name, d.Server, access)
	if d.Description != "" {
		cli.Fprintf(w, "\n%s\n", cli.Lines(cli.Fold(string(cli.Indent("  ", strings.TrimSpace(d.Description))), cli.Width(w), "  ")))
	}
	cli.Fprintf(w, "\n%s\n\n", cli.Lines(cli.Fold("  "+gate.Terminal(d.Signature), cli.Width(w), "    ")))
	if i := d.Instructions; i != nil {
		whose := "The server says about its tools"
		if i.Configured != "" {
			whose = "The config says about the tools of the server"
		}
		cli.Fprintf(w, "%s:\n%s\n\n", whose, cli.Lines(cli.Fold(string(cli.Indent("  ", i.Text())), cli.Width(w), "  ")))
	}
	params := cli.ReadSchema(d.InputSchema).Parameters()
	if len(params) == 0 {
		_, err := cli.Fprintln(w, "It takes no parameters.")
		return err
	}
	return printParameters(w, params)
}

// printParameters prints a table and wraps its last column.
func printParameters(w io.Writer, params []cli.Parameter) error {
	room := cli.ScreenWidth - len("  REQUIRED  ") - len("  ") -
		cli.Longest(len("PARAMETER"), params, func(p cli.Parameter) string { return p.Name }) -
		cli.Longest(len("TYPE"), params, func(p cli.Parameter) string { return p.Kind }) -
		cli.Longest(len("DEFAULT"), params, func(p cli.Parameter) string { return p.Default })
	var rows [][]any
	for _, p := range params {
		said := cli.Wrap(p.Description, max(room, 30))
		rows = append(rows, []any{p.Name, p.Kind, cli.Yes(p.Required), p.Default, said[0]})
		for _, line := range said[1:] {
			rows = append(rows, []any{"", "", "", "", line})
		}
	}
	return cli.NewTable("PARAMETER\tTYPE\tREQUIRED\tDEFAULT\tDESCRIPTION", func(r []any) []any { return r }).Print(w, rows)
}
