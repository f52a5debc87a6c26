package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// pluginsInstallOptions are the options of broker plugins install.
type pluginsInstallOptions struct {
	force   bool
	git     gitFlags
	approve approveFlags
}

func pluginsInstallCommand(e *env) *cobra.Command {
	o := &pluginsInstallOptions{}
	c := &cobra.Command{
		Use:   "install SOURCE [NAME...]",
		Short: "Install a plugin from an archive, a folder, a git repository or a marketplace",
		Long: "Install a plugin into the config's folder of plugins: from an archive (.zip, .tar.gz), a folder, the address of a git repository, or by its name (NAME\n" +
			"or NAME@MARKETPLACE) from the marketplaces added with broker plugins add; with names, those plugins of the marketplace in the folder\n" +
			"SOURCE. A repository is fetched with git, and the commit is kept. This runs nothing in a plugin.\n\n" +
			"It shows what the servers of a plugin run or connect to, and installs only if you say yes, on the terminal or with --yes. The servers may\n" +
			"start until they or the files of the plugin change: see broker plugins approve. They see no environment variables but those that --env\n" +
			"names, and nothing from the keyring.",
		Example: "  broker plugins install ./sales\n  broker plugins install https://github.com/owner/plugin --ref v1.2\n  broker plugins install sales@team",
		Args:    cli.SomeArgs(1, -1, "an archive, a folder, a repository or a name"),
		RunE: withLibrary(e, func(ctx context.Context, l *library.Library, _ *application.Home, args []string) error {
			return o.run(ctx, e, l, args)
		}),
	}
	c.Flags().BoolVar(&o.force, "force", false, "replace a plugin of that name")
	o.git.add(c)
	o.approve.add(c)
	return c
}

func (o *pluginsInstallOptions) run(ctx context.Context, e *env, l *library.Library, args []string) error {
	sources, err := pluginSources(l, o.git, args)
	if err != nil {
		return sourceError(e, err)
	}
	if len(sources) > 1 && len(o.approve.env) > 0 {
		return cli.Usagef("--env is for one plugin: install them one by one")
	}
	list := []library.Plugin{}
	for _, s := range sources {
		stop, ask := e.Busy("installing "+strings.Join(args, " ")), askFor(ctx, e, o.approve, o.git.line(o.force, args)...)
		p, _, notes, err := l.InstallPlugin(ctx, s, o.force, func(r library.Request) ([]string, error) {
			stop() // the question has the line
			return ask(r)
		})
		if stop(); err != nil {
			return sourceError(e, err)
		}
		for _, n := range notes {
			cli.Fprintf(e.Err, "%s: %s\n", p.Name, n)
		}
		list = append(list, p)
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"installed": list})
	}
	for _, p := range list {
		at := ""
		if p.Source != nil {
			at = ", commit " + p.Source.Commit
		}
		cli.Fprintf(e.Out, "%s: installed %s: %s, %s, %s%s\n", p.Dir, p.Name,
			cli.Count(len(p.Servers), "server"), cli.Count(len(p.Skills), "skill"), cli.Count(len(p.Commands), "command"), at)
		printProblems(e, nil, p.Problems, true)
		noteUnused(e, p)
	}
	return nil
}

// noteUnused prints which parts of a plugin the broker does not use.
func noteUnused(e *env, p library.Plugin) {
	if len(p.Unused) > 0 {
		cli.Fprintf(e.Err, "note: %s also has parts for other programs, which broker does not use: %s\n", p.Name, strings.Join(p.Unused, ", "))
	}
}

// line are the words of an installation with these flags.
func (g gitFlags) line(force bool, args []string) []string {
	words := append([]string{"install"}, args...)
	if g.ref != "" {
		words = append(words, "--ref", g.ref)
	}
	if g.folder != "" {
		words = append(words, "--folder", g.folder)
	}
	if force {
		words = append(words, "--force")
	}
	return words
}

// pluginSources are where the plugins come from that the arguments of install
// mean: a source, or a folder with a marketplace and the names of plugins.
func pluginSources(l *library.Library, git gitFlags, args []string) ([]library.From, error) {
	from, err := git.source(args[0])
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		if from != nil {
			return nil, cli.Usagef("names are for the marketplace in a folder\nhint: broker plugins add %s, then broker plugins install %s", args[0], args[1])
		}
		return marketSources(args[0], args[1:])
	}
	if from != nil {
		return []library.From{{Repo: from}}, nil
	}
	if _, err := os.Stat(args[0]); err == nil || isPath(args[0]) {
		return []library.From{{Path: args[0]}}, nil
	}
	offer, err := l.Offer(args[0])
	if err != nil {
		return nil, err
	}
	return []library.From{{Offer: offer}}, nil
}

// marketSources are the plugins of these names in a marketplace.
func marketSources(dir string, names []string) ([]library.From, error) {
	m, err := plugin.OpenMarket(dir)
	if err != nil {
		return nil, err
	}
	var sources []library.From
	for _, n := range names {
		offer, err := library.OfferOf(library.Market{Market: m}, n)
		if err != nil {
			return nil, err
		}
		sources = append(sources, library.From{Offer: offer})
	}
	return sources, nil
}

// pluginsAddOptions are the options of broker plugins add.
type pluginsAddOptions struct {
	git gitFlags
}

func pluginsAddCommand(e *env) *cobra.Command {
	o := &pluginsAddOptions{}
	c := &cobra.Command{
		Use:   "add SOURCE",
		Short: "Add a marketplace: a folder or git repository that lists plugins",
		Long: "Add a marketplace, so that its plugins can be installed by name: a folder with " + plugin.MarketFile + ", or the address of a git\n" +
			"repository with one, of which a copy is kept. Adding it again fetches the newest commit. Nothing in it is run.",
		Example: "  broker plugins add https://github.com/owner/plugins\n  broker plugins list --offers\n  broker plugins install sales",
		Args:    cli.OneArg("a folder or the address of a repository"),
		RunE: withLibrary(e, func(ctx context.Context, l *library.Library, h *application.Home, args []string) error {
			return o.run(ctx, e, l, h, args)
		}),
	}
	o.git.add(c)
	return c
}

func (o *pluginsAddOptions) run(ctx context.Context, e *env, l *library.Library, h *application.Home, args []string) error {
	from, err := o.git.source(args[0])
	if err != nil {
		return err
	}
	m, err := l.AddMarket(ctx, args[0], from)
	if err != nil {
		return sourceError(e, err)
	}
	if e.JSON {
		return e.PrintJSON(m)
	}
	for _, n := range m.Notes {
		cli.Fprintf(e.Err, "%s: %s\n", m.Name, gate.Terminal(n))
	}
	if err := printChange(e, h.Switches.String(), "added", m.Name); err != nil {
		return err
	}
	_, err = cli.Fprintf(e.Out, "%s: broker plugins list %s\n", cli.Count(len(m.Offers), "plugin"), m.Name)
	return err
}
