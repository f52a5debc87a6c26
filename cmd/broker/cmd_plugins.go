package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

func (a *app) pluginsCommand() *cobra.Command {
	return group("plugins", "Plugins: folders with MCP servers, skills and commands",
		a.pluginsListCommand(), a.pluginsShowCommand(), a.pluginsInstallCommand(),
		a.pluginsSwitchCommand("enable", "Switch a plugin on", true), a.pluginsSwitchCommand("disable", "Switch a plugin off without removing it", false),
		a.pluginsRemoveCommand())
}

// enabledPlugins are the installed plugins that are switched on. When it cannot
// be known which are off, none is on.
func (h *skillHome) enabledPlugins() (list []*plugin.Plugin, problems []skills.Problem) {
	off, err := skills.ReadSwitches(h.switches)
	if err != nil {
		return nil, nil // the registry says what is wrong
	}
	all, problems := plugin.Installed(h.plugins)
	for _, p := range all {
		if off.On(skills.KindPlugin, p.Name) {
			list = append(list, p)
		}
	}
	return list, problems
}

// A pluginRow is a plugin in the answers of the commands.
type pluginRow struct {
	*plugin.Plugin
	Enabled bool     `json:"enabled"`
	Skills  []string `json:"skills"`
}

// pluginRows are the installed plugins, with their skills.
func (h *skillHome) pluginRows() ([]pluginRow, []skills.Problem, error) {
	off, err := skills.ReadSwitches(h.switches)
	if err != nil {
		return nil, nil, err
	}
	list, problems := plugin.Installed(h.plugins)
	rows := []pluginRow{}
	for _, p := range list {
		r := pluginRow{p, off.On(skills.KindPlugin, p.Name), []string{}}
		reg := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return p.Roots(), nil }})
		for _, s := range reg.Refresh().All() {
			r.Skills = append(r.Skills, s.ID())
		}
		rows = append(rows, r)
	}
	return rows, problems, nil
}

func (a *app) pluginsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [MARKETPLACE]",
		Short: "List the installed plugins, or what the marketplace in a folder offers",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("plugins list takes at most one folder, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 { // a folder that is named needs no config
				return a.listMarket(args[0])
			}
			return a.withHome(a.listPlugins)(cmd, args)
		},
	}
}

func (a *app) listPlugins(h *skillHome, _ []string) error {
	rows, problems, err := h.pluginRows()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"plugins": rows, "problems": append([]skills.Problem{}, problems...)})
	}
	t := table[pluginRow]{"PLUGIN\tVERSION\tSTATE\tSERVERS\tSKILLS\tCOMMANDS\t", func(r pluginRow) []any {
		return []any{r.Name, oneLine(r.Version, 20), onOff(r.Enabled), len(r.Servers), len(r.Skills), len(r.Commands), oneLine(r.Description, 70)}
	}}
	if err := t.print(a.stdout, rows); err != nil {
		return err
	}
	a.printProblems(nil, problems, true)
	return nil
}

func onOff(on bool) string {
	if on {
		return string(skills.Enabled)
	}
	return string(skills.Disabled)
}

func (a *app) listMarket(dir string) error {
	m, err := plugin.OpenMarket(dir)
	if err != nil {
		return usage("%w", err)
	}
	if a.json {
		return a.printJSON(m)
	}
	return table[plugin.Offer]{"PLUGIN\tVERSION\tHERE\t", func(o plugin.Offer) []any {
		here := "no"
		if o.Path != "" {
			here = "yes"
		}
		return []any{oneLine(o.Name, 64), oneLine(o.Version, 20), here, oneLine(o.Description, 90)}
	}}.print(a.stdout, m.Offers)
}

// knownPlugin finds an installed plugin.
func (h *skillHome) knownPlugin(name string) (pluginRow, error) {
	rows, _, err := h.pluginRows()
	if err != nil {
		return pluginRow{}, err
	}
	var known []string
	for _, r := range rows {
		if r.Name == name {
			return r, nil
		}
		known = append(known, r.Name)
	}
	hint := "broker plugins list"
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", near[0])
	}
	return pluginRow{}, usage("unknown plugin %q\nhint: %s", name, hint)
}

// withPlugin is a command's RunE that does f with the installed plugin which
// the first argument names.
func (a *app) withPlugin(f func(*skillHome, pluginRow) error) func(*cobra.Command, []string) error {
	return a.withHome(func(h *skillHome, args []string) error {
		r, err := h.knownPlugin(args[0])
		if err != nil {
			return err
		}
		return f(h, r)
	})
}

func (a *app) pluginsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the servers, skills and commands of a plugin", Args: oneArg("the name of a plugin"),
		RunE: a.withPlugin(func(_ *skillHome, r pluginRow) error {
			if a.json {
				return a.printJSON(r)
			}
			for _, f := range [][2]string{{"name", r.Name}, {"version", r.Version}, {"description", r.Description}, {"author", r.Author}, {"state", onOff(r.Enabled)}, {"path", r.Dir}} {
				if f[1] != "" {
					fmt.Fprintf(a.stdout, "%-12s %s\n", f[0], oneLine(f[1], 1024))
				}
			}
			for _, s := range r.Servers {
				fmt.Fprintf(a.stdout, "server       %s\n", s.Name)
			}
			for _, s := range r.Skills {
				fmt.Fprintf(a.stdout, "skill        %s\n", s)
			}
			for _, c := range r.Commands {
				fmt.Fprintf(a.stdout, "command      %s\n", strings.TrimSpace(oneLine(c.Name+" "+c.ArgumentHint, 80)+"  "+oneLine(c.Description, 80)))
			}
			a.printProblems(nil, r.Problems, true)
			return nil
		}),
	}
}

func (a *app) pluginsInstallCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "install SOURCE [NAME...]",
		Short: "Install a plugin from an archive or a folder, or by name from the marketplace in a folder",
		Long: "Install a plugin from an archive (.zip, .tar.gz) or a folder into the config's folder of plugins; with names, those plugins of the marketplace\n" +
			"in the folder SOURCE. Nothing of a plugin is run by this.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s needs an archive or a folder\nhint: %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: a.withHome(func(h *skillHome, args []string) error {
			sources, err := pluginSources(args[0], args[1:])
			if err != nil {
				return usage("%w", err)
			}
			list := []*plugin.Plugin{}
			for _, s := range sources {
				p, err := plugin.Install(h.plugins, s, force)
				if err != nil {
					return a.pluginError(err)
				}
				list = append(list, p)
			}
			if a.json {
				return a.printJSON(map[string]any{"installed": list})
			}
			for _, p := range list {
				fmt.Fprintf(a.stdout, "%s: installed %s: %d servers, %d commands\n", p.Dir, p.Name, len(p.Servers), len(p.Commands))
				a.printProblems(nil, p.Problems, true)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&force, "force", false, "replace a plugin of that name")
	return c
}

// pluginSources are the folders of the plugins that a marketplace has under
// these names; without names it is the source itself.
func pluginSources(source string, names []string) ([]string, error) {
	if len(names) == 0 {
		return []string{source}, nil
	}
	m, err := plugin.OpenMarket(source)
	if err != nil {
		return nil, err
	}
	var sources []string
	for _, n := range names {
		s, err := m.Find(n)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// pluginError is packError for what has the codes of plugins too.
func (a *app) pluginError(err error) error {
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		err = &pack.Error{Code: e.Code, Message: e.Message}
	}
	return a.packError(err)
}

func (a *app) pluginsSwitchCommand(use, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: oneArg("the name of a plugin"),
		RunE: a.withPlugin(func(h *skillHome, r pluginRow) error {
			if err := skills.SetSwitch(h.switches, skills.KindPlugin, r.Name, on); err != nil {
				return err
			}
			return a.printChange(h.switches, use+"d", r.Name)
		}),
	}
}

func (a *app) pluginsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a plugin that was installed", Args: oneArg("the name of a plugin"),
		RunE: a.withPlugin(func(h *skillHome, r pluginRow) error {
			if err := pack.Remove(h.plugins, filepath.Base(r.Dir)); err != nil {
				return a.packError(err)
			}
			return a.printChange(h.plugins, "removed", r.Name)
		}),
	}
}
