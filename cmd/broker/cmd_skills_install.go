package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/extensions"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/remote"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// fetchTimeout bounds one request to a host of skills.
const fetchTimeout = 2 * time.Minute

// skillsInstallOptions are the options of broker skills install.
type skillsInstallOptions struct {
	how installHow
	all bool
	git gitFlags
}

func skillsInstallCommand(e *env) *cobra.Command {
	o := &skillsInstallOptions{}
	c := &cobra.Command{
		Use:   "install SOURCE [NAME...]",
		Short: "Install skills from an archive, a folder, a git repository or a host",
		Long: "Install skills into the folder custom of the config's skills: from an archive (.skill, .zip, .tar.gz), a folder, a git repository (its address, or\n" +
			"OWNER/NAME on GitHub), or a host that lists its skills (https://host). From a folder or repository with several skills, it installs the named\n" +
			"ones, or all with --all; without either it lists them. From a host, it installs all skills or the named ones. It runs nothing in a skill.\n\n" +
			"A skill that breaks the standard but loads is installed with a warning; --strict refuses it.",
		Example: "  broker skills install review.skill\n  broker skills install owner/skills\n  broker skills install owner/skills review --ref v1.2\n" +
			"  broker skills install https://example.com review",
		Args: cli.SomeArgs(1, -1, "an archive, a folder, a repository or https://host"),
		RunE: withLibrary(e, func(ctx context.Context, l *library.Library, _ *application.Home, args []string) error {
			return o.run(ctx, e, l, args)
		}),
	}
	c.Flags().BoolVar(&o.how.force, "force", false, "replace a skill of that name")
	c.Flags().BoolVar(&o.how.strict, "strict", false, "refuse a skill that breaks the standard")
	c.Flags().BoolVar(&o.all, "all", false, "install every skill of a folder or repository")
	o.git.add(c)
	return c
}

func (o *skillsInstallOptions) run(ctx context.Context, e *env, l *library.Library, args []string) error {
	if isHost(args[0]) {
		return installRemote(ctx, e, l, args[0], args[1:], o.how)
	}
	from, err := o.git.source(args[0])
	if err != nil {
		return err
	}
	if from != nil || holdsSkills(args[0]) {
		return installSome(ctx, e, l, args, from, o.all, o.how)
	}
	if len(args) > 1 {
		return cli.Usagef("skills install takes one source, got %q too; names are for hosts, repositories and folders with several skills", args[1])
	}
	got, err := l.InstallSkill(ctx, library.From{Path: args[0], Strict: o.how.strict}, o.how.force)
	if err != nil {
		return sourceError(e, err)
	}
	return printInstalled(e, l.Skills(), []*pack.Installed{got})
}

// installHow are the options of an installation.
type installHow struct{ force, strict bool }

// isHost reports whether a source is a host that lists its skills: an address
// without a path, or that of the list.
func isHost(source string) bool {
	u, err := url.Parse(source)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && (strings.Trim(u.Path, "/") == "" || strings.HasSuffix(u.Path, ".json"))
}

// holdsSkills reports whether path is a folder that is not itself a skill.
func holdsSkills(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	dir, file := skills.Locate(path)
	_, err = os.Stat(filepath.Join(dir, file))
	return err != nil
}

// installSome installs skills of a folder or a repository, or lists what there is.
func installSome(ctx context.Context, e *env, l *library.Library, args []string, from *repo.Source, all bool, how installHow) error {
	stop := e.Busy("reading " + args[0])
	c, err := library.OpenCollection(ctx, args[0], from)
	if stop(); err != nil {
		return sourceError(e, err)
	}
	defer c.Close()
	for _, n := range c.Notes {
		cli.Fprintf(e.Err, "%s: %s\n", gate.Terminal(args[0]), gate.Terminal(n))
	}
	refused := printRefused(e, c.Problems)
	names := args[1:]
	switch {
	case all || len(names) == 0 && len(c.Skills) == 1:
		names = c.Names()
	case len(names) == 0:
		return listCollection(e, args[0], c)
	default:
		refused = 0 // the others were not requested
	}
	picked, err := c.Pick(names)
	if err != nil {
		return sourceError(e, err)
	}
	list := []*pack.Installed{}
	for i, f := range picked {
		f.Strict = how.strict
		got, err := l.InstallSkill(ctx, f, how.force)
		if err != nil {
			cli.Fprintf(e.Err, "%s: not installed: %s\n", gate.Terminal(names[i]), gate.Terminal(err.Error()))
			refused++
			continue
		}
		list = append(list, got)
	}
	if err := printInstalled(e, l.Skills(), list); err != nil {
		return err
	}
	return notAll(refused, len(list))
}

// printRefused prints the problems of the skills in a collection, and returns the
// number of skills that cannot be installed.
func printRefused(e *env, problems []skills.Problem) (refused int) {
	var copies []string
	for _, p := range problems {
		if p.Code == library.CodeCopy {
			copies = append(copies, p.Path)
			continue
		}
		cli.Fprintf(e.Err, "%s: %s\n", gate.Terminal(p.Path), gate.Terminal(p.Message))
		if p.Severity == skills.Error || p.Code == library.CodeSameName {
			refused++
		}
	}
	if len(copies) > 0 {
		cli.Fprintf(e.Err, "%s: copies of other skills, not installed twice\n", gate.Terminal(cli.Few(copies)))
	}
	return refused
}

// notAll returns the error of an installation that left skills out.
func notAll(refused, installed int) error {
	if refused == 0 {
		return nil
	}
	return fmt.Errorf("%s installed, and %d not: the reasons are above", cli.Count(installed, "skill"), refused)
}

// listCollection lists the skills that can be installed, and how. That none was
// chosen is wrong usage.
func listCollection(e *env, source string, c *library.Collection) error {
	type row struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	var rows []row
	for _, k := range c.Skills {
		rows = append(rows, row{k.Name, k.Description})
	}
	if e.JSON {
		if err := e.PrintJSON(map[string]any{"skills": rows}); err != nil {
			return err
		}
	} else {
		t := cli.NewTable("SKILL\tDESCRIPTION\t", func(r row) []any { return []any{cli.OneLine(r.Name, 64), cli.OneLine(r.Description, 100)} })
		if err := t.Print(e.Out, rows); err != nil {
			return err
		}
	}
	return cli.Usagef("%s has %s: which of them?\nhint: broker skills install %s %s, or --all", source, cli.Count(len(rows), "skill"), source, rows[0].Name)
}

// printInstalled says what was installed, and of what the skills are now why it
// is not in use.
func printInstalled(e *env, now *skills.Snapshot, list []*pack.Installed) error {
	printWarnings(e, list)
	for _, i := range list {
		noteInstalled(e, now, i.Path)
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"installed": list})
	}
	for _, i := range list {
		word := "installed"
		if i.Replaced {
			word = "replaced"
		}
		cli.Fprintf(e.Out, "%s: %s %s, %s\n", i.Path, word, i.Name, cli.Count(len(i.Files), "file"))
	}
	return nil
}

// printWarnings prints the warnings about installed skills, each kind once with the
// skills concerned, and the links that were left out.
func printWarnings(e *env, list []*pack.Installed) {
	type kind struct{ code, field string }
	type warning struct {
		skills []string
		first  skills.Diagnostic
		differ bool // whether the messages differ
	}
	var order []*warning
	kinds := map[kind]*warning{}
	for _, i := range list {
		for _, n := range i.Notes {
			cli.Fprintf(e.Err, "%s: %s\n", gate.Terminal(i.Name), gate.Terminal(n))
		}
		for _, d := range i.Diagnostics {
			if len(list) > 1 {
				d.Line = 0 // it differs between skills
			}
			w := kinds[kind{d.Code, d.Field}]
			if w == nil {
				w = &warning{first: d}
				kinds[kind{d.Code, d.Field}] = w
				order = append(order, w)
			}
			w.differ = w.differ || d != w.first
			if !slices.Contains(w.skills, i.Name) {
				w.skills = append(w.skills, i.Name)
			}
		}
	}
	slices.SortStableFunc(order, func(x, y *warning) int { return len(y.skills) - len(x.skills) })
	for _, w := range order {
		about := cli.Few(w.skills)
		if n := len(w.skills); n > 1 && w.differ {
			about = fmt.Sprintf("%d skills, such as %s", n, w.skills[0])
		}
		cli.Fprintf(e.Err, "%s: %s\n", gate.Terminal(about), gate.Terminal(w.first.String()))
	}
	if len(order) > 0 && len(list) > 1 {
		cli.Fprintf(e.Err, "hint: broker skills list --diagnostics shows the warnings of each skill\n")
	}
}

// noteInstalled says why the skill in a folder is not in use, if so.
func noteInstalled(e *env, now *skills.Snapshot, dir string) {
	for _, k := range now.All() {
		if k.Dir() == dir {
			noteState(e, k)
			return
		}
	}
	for _, p := range now.Problems {
		if p.Path == dir || p.Code == application.CodeSkillsOff {
			cli.Fprintf(e.Err, "note: %s is not in use: %s\n", filepath.Base(dir), p.Message)
		}
	}
}

// installRemote installs skills of a host.
func installRemote(ctx context.Context, e *env, l *library.Library, address string, names []string, how installHow) error {
	client, err := remote.New(address, fetchTimeout)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	stop := e.Busy("reading what " + client.Host() + " lists")
	index, notes, err := client.Index(ctx)
	if stop(); err != nil {
		return err
	}
	for _, n := range notes {
		cli.Fprintf(e.Err, "%s: %s\n", client.Host(), n)
	}
	entries, err := pickEntries(index, names, client.Host())
	if err != nil {
		return err
	}
	list, failed := extensions.InstallHosted(ctx, &e.IO, l, client, entries, how.strict, how.force)
	if err := printInstalled(e, l.Skills(), list); err != nil {
		return err
	}
	return notAll(failed, len(list))
}

// pickEntries are those of the names, or all.
func pickEntries(index *remote.Index, names []string, host string) ([]remote.Entry, error) {
	if len(names) == 0 {
		return index.Skills, nil
	}
	byName := map[string]remote.Entry{}
	var known []string
	for _, entry := range index.Skills {
		byName[entry.Name] = entry
		known = append(known, entry.Name)
	}
	var picked []remote.Entry
	for _, n := range names {
		entry, ok := byName[n]
		if !ok {
			text := cli.Lines(fmt.Sprintf("%s has no skill %q", host, n))
			if near := nearest.Names(n, known, 3); len(near) > 0 {
				text = cli.Lines(gate.Terminal(string(text)) + "\nhint: did you mean " + gate.Terminal(strings.Join(near, " or ")) + "?")
			}
			return nil, cli.Usagef("%s", text)
		}
		picked = append(picked, entry)
	}
	return picked, nil
}

func skillsRemoveCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a skill that was installed", Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSkillsRemove(cmd.Context(), e, args) },
	}
}

func runSkillsRemove(ctx context.Context, e *env, args []string) error {
	return withView(e, func(h *application.Home, v *application.SkillView) error {
		if strings.Contains(args[0], ":") && !v.Registry.Refresh().Contains(args[0]) {
			learnSkills(ctx, e, v) // it may be a server's, which is more than unknown
		}
		if err := libraryOf(e, h).RemoveSkill(args[0]); err != nil {
			return sourceError(e, err)
		}
		return printChange(e, h.Custom(), "removed", args[0])
	})
}

func skillsLintCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "lint FOLDER",
		Short: "Check a skill beyond the standard: links, files that nothing mentions, its description, its workflow",
		Long: "Check a skill beyond the standard: links that lead nowhere, files that nothing mentions, a description that does not say when, a text that is too\n" +
			"long, a workflow.json that cannot end. With a config, tools that no listed server has are reported too.",
		Args: cli.OneArg("the folder of a skill"),
		RunE: func(_ *cobra.Command, args []string) error { return runSkillsLint(e, args) },
	}
}

func runSkillsLint(e *env, args []string) error {
	doc := skills.ReadPath(args[0])
	ok, list := doc.Judge(skills.Strict)
	known, err := knownTool(e)
	if err != nil {
		return err
	}
	more, err := skills.Lint(args[0], &skills.LintOptions{KnownTool: known})
	if err != nil && ok {
		return err
	}
	for _, d := range more {
		ok = ok && d.Severity != skills.Error
		list = slices.DeleteFunc(list, func(l skills.Diagnostic) bool { return l.Code == d.Code }) // it is judged anew
	}
	v := verdict{ok, doc.Name, doc.Description, append(append([]skills.Diagnostic{}, list...), more...)}
	if err := printVerdict(e, args[0], v); err != nil {
		return err
	}
	if !ok {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

// knownTool returns a function that reports whether a server of the config has a tool.
// It assumes that unlisted servers have every tool. It returns nil without a config or
// servers.
func knownTool(e *env) (func(id string) bool, error) {
	path, exists, err := config.Target(e.configPath)
	if err != nil || !exists {
		return nil, err
	}
	cfg, err := config.Load(path)
	if err != nil || len(cfg.Servers) == 0 {
		return nil, err
	}
	s, err := e.open(application.Overrides{})
	if err != nil {
		return nil, err
	}
	tools := s.Broker.Catalog()
	if err := s.Close(); err != nil {
		return nil, err
	}
	return func(id string) bool {
		if _, ok := tools.Tool(id); ok {
			return true
		}
		server, ok := tools.ServerOf(id)
		return ok && len(server.Listing.Tools) == 0
	}, nil
}
