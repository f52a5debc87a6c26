package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

func pluginsCommand(e *env) *cobra.Command {
	return cli.Group("plugins", "Manage plugins: folders with MCP servers, skills and commands",
		pluginsListCommand(e), pluginsShowCommand(e), pluginsInstallCommand(e), pluginsApproveCommand(e), pluginsAddCommand(e),
		pluginsSwitchCommand(e, "enable", "Enable a plugin", true), pluginsSwitchCommand(e, "disable", "Disable a plugin without removing it", false),
		pluginsRemoveCommand(e))
}

// pluginsListOptions are the options of broker plugins list.
type pluginsListOptions struct {
	offers bool
}

func pluginsListCommand(e *env) *cobra.Command {
	o := &pluginsListOptions{}
	c := &cobra.Command{
		Use:   "list [MARKETPLACE]",
		Short: "List the installed plugins, or what a marketplace offers",
		Long: "List the installed plugins. With --offers, list what the marketplaces offer that broker plugins add has made known; with a name or a folder, what\n" +
			"that marketplace offers.",
		Args: cli.SomeArgs(0, 1, "at most one marketplace"),
		RunE: withLibrary(e, func(_ context.Context, l *library.Library, _ *application.Home, args []string) error {
			return o.run(e, l, args)
		}),
	}
	c.Flags().BoolVar(&o.offers, "offers", false, "list what can be installed by name")
	return c
}

func (o *pluginsListOptions) run(e *env, l *library.Library, args []string) error {
	if len(args) == 1 || o.offers {
		return listOffers(e, l, args)
	}
	rows, problems, err := l.Plugins()
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"plugins": rows, "problems": append([]skills.Problem{}, problems...)})
	}
	t := cli.NewTable("PLUGIN\tVERSION\tSTATE\tSERVERS\tSKILLS\tCOMMANDS\t", func(r library.Plugin) []any {
		return []any{r.Name, cli.OneLine(r.Version, 20), onOff(r.Enabled), serverCount(r), len(r.Skills), len(r.Commands), cli.OneLine(r.Description, 70)}
	})
	if err := t.Print(e.Out, rows); err != nil {
		return err
	}
	printProblems(e, nil, problems, true)
	return nil
}

// serverCount says how many servers a plugin has, and if they do not start.
func serverCount(p library.Plugin) string {
	if len(p.Servers) > 0 && p.Approved == nil {
		return fmt.Sprintf("%d, not approved", len(p.Servers))
	}
	return fmt.Sprint(len(p.Servers))
}

// listOffers lists what the known marketplaces offer, or the one that is named.
func listOffers(e *env, l *library.Library, args []string) error {
	list, problems, err := l.Markets()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		m, err := marketOf(l, args[0])
		if err != nil {
			return cli.Usagef("%w", err)
		}
		list, problems = []library.Market{m}, nil
	}
	if e.JSON {
		if len(args) == 1 {
			return e.PrintJSON(list[0])
		}
		return e.PrintJSON(map[string]any{"marketplaces": append([]library.Market{}, list...), "problems": append([]skills.Problem{}, problems...)})
	}
	var rows [][]any
	for _, m := range list {
		for _, o := range m.Offers {
			rows = append(rows, []any{cli.OneLine(o.Name, 64), cli.OneLine(m.Name, 64), cli.OneLine(o.Version, 20), offerSource(o), cli.OneLine(o.Description, 90)})
		}
	}
	t := cli.NewTable("PLUGIN\tMARKETPLACE\tVERSION\tKEPT\t", func(r []any) []any { return r })
	if err := t.Print(e.Out, rows); err != nil {
		return err
	}
	printProblems(e, nil, problems, true)
	return nil
}

// marketOf is the known marketplace of that name, else that in the folder.
func marketOf(l *library.Library, name string) (library.Market, error) {
	known, err := l.Market(name)
	if _, stat := os.Stat(name); err == nil || stat != nil && !isPath(name) {
		return known, err
	}
	m, err := plugin.OpenMarket(name)
	return library.Market{Market: m}, err
}

// offerSource says where an offer is.
func offerSource(o plugin.Offer) string {
	switch {
	case o.Path != "":
		return "there"
	case o.Repository != "":
		return cli.OneLine(o.Repository, 70)
	}
	return "unknown"
}

func pluginsShowCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the servers, skills and commands of a plugin", Args: cli.OneArg("the name of a plugin"),
		RunE: withLibrary(e, func(_ context.Context, l *library.Library, _ *application.Home, args []string) error {
			return runPluginsShow(e, l, args)
		}),
	}
}

func runPluginsShow(e *env, l *library.Library, args []string) error {
	r, err := l.Plugin(args[0])
	if err != nil {
		return sourceError(e, err)
	}
	if e.JSON {
		return e.PrintJSON(r)
	}
	for _, f := range [][2]string{{"name", r.Name}, {"version", r.Version}, {"description", r.Description}, {"author", r.Author}, {"state", onOff(r.Enabled)}, {"path", r.Dir}, {"source", sourceText(r.Source)}} {
		if f[1] != "" {
			cli.Fprintf(e.Out, "%-12s %s\n", f[0], cli.OneLine(f[1], 1024))
		}
	}
	var env []string
	if r.Approved != nil {
		env = r.Approved.Env
	} else if len(r.Servers) > 0 {
		cli.Fprintf(e.Out, "%-12s %s: broker plugins approve %s\n", "not approved", "its servers do not start", r.Name)
	}
	for _, s := range r.Servers {
		used := ""
		if slices.Contains(r.Overridden, s.Name) {
			used = "  not used: the config has a server of that name"
		}
		cli.Fprintf(e.Out, "server       %s%s\n", gate.Terminal(s.Name), used)
		if run, err := application.DescribePluginServer(s); err == nil {
			cli.Fprintf(e.Out, "%s", runLines(run, env, "             "))
		}
	}
	for _, s := range r.Skills {
		cli.Fprintf(e.Out, "skill        %s\n", s)
	}
	for _, c := range r.Commands {
		cli.Fprintf(e.Out, "command      %s\n", strings.TrimSpace(cli.OneLine(c.Name+" "+c.ArgumentHint, 80)+"  "+cli.OneLine(c.Description, 80)))
	}
	if len(r.Unused) > 0 {
		cli.Fprintf(e.Out, "not used     %s\n", strings.Join(r.Unused, ", "))
	}
	printProblems(e, nil, r.Problems, true)
	return nil
}

// sourceText is a repository with what was fetched of it.
func sourceText(s *repo.Source) string {
	if s == nil {
		return ""
	}
	text := s.URL
	if s.Folder != "" {
		text += " " + s.Folder
	}
	if s.Ref != "" {
		text += " " + s.Ref
	}
	return text + " at " + s.Commit
}

// pluginsSwitchOptions are the options of broker plugins enable and disable.
type pluginsSwitchOptions struct {
	use string
	on  bool
}

func pluginsSwitchCommand(e *env, use, short string, on bool) *cobra.Command {
	o := &pluginsSwitchOptions{use: use, on: on}
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a plugin"),
		RunE: withLibrary(e, func(_ context.Context, l *library.Library, h *application.Home, args []string) error {
			return o.run(e, l, h, args)
		}),
	}
}

func (o *pluginsSwitchOptions) run(e *env, l *library.Library, h *application.Home, args []string) error {
	p, err := l.SwitchPlugin(args[0], o.on)
	if err != nil {
		return sourceError(e, err)
	}
	return printChange(e, h.Switches.String(), o.use+"d", p.Name)
}

// pluginsRemoveOptions are the options of broker plugins remove.
type pluginsRemoveOptions struct {
	market bool
}

func pluginsRemoveCommand(e *env) *cobra.Command {
	o := &pluginsRemoveOptions{}
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove a plugin that was installed, or forget a marketplace", Args: cli.OneArg("the name of a plugin"),
		RunE: withLibrary(e, func(_ context.Context, l *library.Library, h *application.Home, args []string) error {
			return o.run(e, l, h, args)
		}),
	}
	c.Flags().BoolVar(&o.market, "marketplace", false, "NAME is a marketplace; what was installed from it stays")
	return c
}

func (o *pluginsRemoveOptions) run(e *env, l *library.Library, h *application.Home, args []string) error {
	remove, at := l.RemovePlugin, h.Plugins
	if o.market {
		remove, at = l.RemoveMarket, h.Switches.String()
	}
	if err := remove(args[0]); err != nil {
		return sourceError(e, err)
	}
	return printChange(e, at, "removed", args[0])
}

func onOff(on bool) string {
	if on {
		return string(skills.Enabled)
	}
	return string(skills.Disabled)
}
