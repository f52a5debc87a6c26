package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// initFlags answer the questions of broker init beforehand.
type initFlags struct {
	yes, all, take, leave, console, noConsole, noIndex bool
	projects, noProjects, moveFailed                   bool
	clients                                            []string // "none" connects none
	secrets                                            string
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use: "init", Short: "Set up: take over the servers of your clients, and connect the clients",
		Long: "Set up the broker. Find the clients, show their servers, offer to take these over into servers.json, index them, and\n" +
			"say what that saves. Then connect the clients that you choose: each gets the broker as one entry, and the servers\n" +
			"that were taken over leave its file. Servers that do not start, or not within 45 s, stay with their client, and what\n" +
			"is left to do is listed at the end, with commands. Nothing is written before it is shown; broker uninstall CLIENT\n" +
			"restores a file, byte for byte. Each question has a flag; without a terminal, it is an error if no flag says what to\n" +
			"take over and connect, and nothing is written. Project files are left alone; for these see broker import and broker\n" +
			"install CLIENT --project.\n\nClients: " + strings.Join(clients.IDs(), ", "),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), f) },
	}
	flags := c.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "answer yes: take the servers over, connect all clients found, open the console on a terminal")
	flags.BoolVar(&f.take, "import", false, "take the servers over into servers.json")
	flags.BoolVar(&f.leave, "no-import", false, "leave the servers with the clients")
	flags.BoolVar(&f.projects, "projects", false, "take over the servers that Claude Code has for single projects, too")
	flags.BoolVar(&f.noProjects, "no-projects", false, "leave the servers for single projects with Claude Code")
	flags.BoolVar(&f.moveFailed, "move-failed", false, "move servers that do not start, or not soon, out of the clients' files, too")
	flags.StringSliceVar(&f.clients, "client", nil, "take over the servers of these clients only, such as cursor,vscode, and connect them; none connects none")
	flags.BoolVar(&f.all, "all", false, "connect all clients found")
	flags.BoolVar(&f.console, "console", false, "open the console at the end without asking, on a terminal")
	flags.BoolVar(&f.noConsole, "no-console", false, "do not offer to open the console")
	noIndexFlag(c, &f.noIndex)
	secretsFlag(c, &f.secrets)
	return c
}

// check finds mistakes in the flags before anything is done.
func (f *initFlags) check() error {
	if f.take && f.leave {
		return cli.Usagef("--import and --no-import exclude each other")
	}
	if f.console && f.noConsole {
		return cli.Usagef("--console and --no-console exclude each other")
	}
	if f.projects && f.noProjects {
		return cli.Usagef("--projects and --no-projects exclude each other")
	}
	if f.all && f.clients != nil {
		return cli.Usagef("--client and --all exclude each other")
	}
	if slices.Equal(f.clients, []string{"none"}) {
		f.clients = []string{}
	}
	for _, id := range f.clients {
		if clients.Lookup(id) == nil {
			return unknownClient(id)
		}
	}
	f.take = f.take || f.yes && !f.leave
	f.all = f.all || f.yes && f.clients == nil
	f.projects = f.projects || f.yes && !f.noProjects
	if f.secrets == "" && f.yes {
		f.secrets = secretsKeep
	}
	return checkSecrets(f.secrets)
}

// An initRun is one broker init.
type initRun struct {
	initFlags
	a     *app
	out   io.Writer // for people
	env   clients.Env
	found []*clients.Client
	seen  initReport

	plan      importPlan
	index     *indexReport
	stuck     map[string]indexRow // servers that do not work yet, by name
	kept      []clients.Outcome   // servers that stay with their clients
	disabled  []string            // those that servers.json has, disabled
	waited    time.Duration
	ahead     bool // a daemon goes on with what was not waited for
	connected map[string]*clients.Client
}

// An initReport is what "broker init --json" prints.
type initReport struct {
	Found []clientRow `json:"found"`
	// Projects are folders for which Claude Code has servers.
	Projects  []clients.ProjectServers `json:"projects,omitempty"`
	Import    *importReport            `json:"import,omitempty"`
	Installed []clients.InstallResult  `json:"installed"`
	Undo      []string                 `json:"undo"`
	Todo      []task                   `json:"todo"`
}

func (a *app) initialize(ctx context.Context, f initFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	i := initRun{initFlags: f, a: a, out: a.Out, stuck: map[string]indexRow{}, connected: map[string]*clients.Client{},
		seen: initReport{Found: []clientRow{}, Installed: []clients.InstallResult{}, Undo: []string{}}}
	if a.JSON {
		i.out = io.Discard
	}
	var err error
	if i.env, err = clients.CurrentEnv(); err != nil {
		return err
	}
	if err := i.find(); err != nil {
		return err
	}
	if a.Person() == nil && (!f.take && !f.leave || !f.all && f.clients == nil) {
		return cli.Usagef("nobody can be asked here: nothing was written\nhint: broker init --yes, or --import or --no-import, and --client NAMES or --all")
	}
	took, err := i.takeOver(ctx)
	if err != nil {
		return err
	}
	err = i.connect(ctx, took)
	i.seen.Todo = i.tasks()
	if a.JSON {
		return errors.Join(a.PrintJSON(i.seen), err)
	}
	i.wayBack()
	person := a.Person()
	if err != nil || f.noConsole || person == nil {
		return err
	}
	open := f.yes || f.console
	if !open {
		open, err = person.Confirm(ctx, "Open the console in a browser?", false)
	}
	if err != nil || !open {
		return err
	}
	return a.openConsole(ctx, false)
}

// find shows the clients of this user, with their servers.
func (i *initRun) find() error {
	for _, c := range clients.All() {
		path, ok := clients.Found(c, i.env)
		if !ok {
			continue
		}
		i.found = append(i.found, c)
		rows := clientRows(c, i.sources(c, false))
		if rows == nil {
			rows = []clientRow{{Client: c.ID, Scope: "user", Path: path, Servers: []string{}}}
		}
		i.seen.Found = append(i.seen.Found, rows...)
	}
	if len(i.found) == 0 && len(i.clients) == 0 {
		return cli.Errorf("no client was found\nhint: broker import FILE or broker servers add adds servers, broker install CLIENT connects a client: %s", strings.Join(clients.IDs(), ", "))
	}
	if err := clientTable.Print(i.out, i.seen.Found); err != nil {
		return err
	}
	i.findProjects()
	return nil
}

// sources are what a client of this user has, but for what belongs to the project: that
// may be somebody else's.
func (i *initRun) sources(c *clients.Client, keyring bool) []clients.Source {
	return slices.DeleteFunc(clients.Read(c, i.env, i.options(keyring)), func(s clients.Source) bool { return s.Scope == "project" })
}

func (i *initRun) options(keyring bool) *clients.Options {
	o := clientOptions()
	o.Keyring = keyring
	return o
}

// takeOver writes the servers into the config, and lists their tools.
func (i *initRun) takeOver(ctx context.Context) (took bool, err error) {
	if i.leave {
		return false, nil
	}
	if err := i.askProjects(ctx); err != nil {
		return false, err
	}
	p, err := i.a.planImport(ctx, i.taken, i.secrets, false, false)
	if err != nil {
		return false, err
	}
	if i.secrets = secretsKeep; p.keyring {
		i.secrets = secretsKeyring
	}
	r := importReport{Config: p.path, Servers: p.outcomes, Needs: unset(p.outcomes), Errors: p.errors}
	added := p.added()
	if len(added) > 0 {
		cli.Fprintf(i.out, "\nWhat %s will get:\n", cli.ShortPath(p.path))
		printPlan(i.out, p.outcomes)
		if !i.take {
			if i.take, err = i.a.Person().Confirm(ctx, "Take "+cli.Count(len(added), "server")+" over?", true); err != nil || !i.take {
				return false, err
			}
		}
		if err := p.write(); err != nil {
			return false, err
		}
		i.a.recordOutcomes(p.path, "broker init", p.outcomes)
	}
	i.seen.Import, i.plan = &r, p
	i.a.background = true
	start := time.Now()
	i.index, err = i.a.thenIndex(ctx, i.noIndex, added, func(report *indexReport) error {
		r.Index = report
		cli.Fprintf(i.out, "%s: %d added\n", cli.ShortPath(r.Config), len(added))
		for _, e := range r.Errors {
			cli.Fprintf(i.out, "not read: %s\n", e)
		}
		return nil
	}, p.present()...)
	if err != nil {
		return true, err
	}
	i.waited = time.Since(start)
	return true, i.settle(ctx)
}

// taken returns the servers of the clients that are to be taken over.
func (i *initRun) taken(keyring bool) (all []clients.Source, _ error) {
	for _, c := range i.found {
		if !i.wants(c) {
			continue
		}
		all = append(all, i.sources(c, keyring)...)
		if c.ID == claudeCode && i.projects {
			for _, p := range clients.OtherProjects(c, i.env, i.options(keyring)) {
				all = append(all, p.Sources...)
			}
		}
	}
	return all, nil
}

// wants reports whether the servers of a client are to be taken over.
func (i *initRun) wants(c *clients.Client) bool {
	return len(i.clients) == 0 || slices.Contains(i.clients, c.ID)
}

// connect installs the broker in the clients that are chosen.
func (i *initRun) connect(ctx context.Context, took bool) error {
	candidates := i.found
	if i.clients != nil {
		candidates = nil
		for _, id := range i.clients {
			candidates = append(candidates, clients.Lookup(id))
		}
	}
	path, exists, err := config.Target(i.a.configPath)
	if err != nil {
		return err
	}
	if !exists && len(candidates) > 0 {
		if len(i.clients) == 0 && !i.all {
			return nil
		}
		return cli.Errorf("%w at %s, so the broker would have no servers\nhint: broker init --import, or broker servers add", config.ErrNoConfig, path)
	}
	var failed []error
	for _, c := range candidates {
		res, err := i.install(ctx, c, took)
		if err != nil {
			failed = append(failed, fmt.Errorf("connect %s: %w", c.Title, err))
		} else if res.Changed {
			printEntry(i.out, false, res)
			i.seen.Installed = append(i.seen.Installed, res)
			i.seen.Undo = append(i.seen.Undo, "broker uninstall "+c.ID)
		}
	}
	return errors.Join(failed...)
}

// install shows what connecting a client would change, and does it unless the person
// declines. What it returns is not Changed then.
func (i *initRun) install(ctx context.Context, c *clients.Client, took bool) (clients.InstallResult, error) {
	r := clients.Request{Name: "broker", Move: took, Keep: i.kept, Projects: i.foldersOf(c)}
	err := i.a.aim(&r, c.ID)
	if err == nil {
		err = i.a.prepare(&r)
	}
	if err != nil {
		return clients.InstallResult{}, err
	}
	r.Options.Keyring, r.Store, r.DryRun = i.secrets == secretsKeyring, storeSecret, true
	res, err := clients.Install(r)
	switch {
	case err != nil:
		return res, err
	case !res.Changed:
		i.connected[res.Path] = c
		cli.Fprintf(i.out, "%s: %s has the broker already\n", c.ID, cli.ShortPath(res.Path))
		return res, nil
	}
	cli.Fprintf(i.out, "%s: %s will get the entry %q", c.ID, cli.ShortPath(res.Path), res.Name)
	between := " in place of "
	for _, o := range res.Moved {
		if o.Action == clients.Same || o.Action == clients.Added || o.Action == clients.Replaced {
			cli.Fprintf(i.out, "%s%s", between, named(o))
			between = ", "
		}
	}
	if len(res.Others) > 0 {
		cli.Fprintf(i.out, ", and keep %s", strings.Join(res.Others, ", "))
	}
	cli.Fprintln(i.out)
	if !i.all && i.clients == nil {
		if yes, err := i.a.Person().Confirm(ctx, "Connect "+c.Title+"?", true); err != nil || !yes {
			return clients.InstallResult{}, err
		}
	}
	r.DryRun = false
	if res, err = clients.Install(r); err == nil {
		i.connected[res.Path] = c
	}
	return res, err
}

// wayBack says what to do next, and how to undo it all.
func (i *initRun) wayBack() {
	switch {
	case len(i.seen.Installed) == 0 && len(i.connected) > 0:
		cli.Fprintf(i.out, "\nthe clients are as they were\n")
	case len(i.seen.Installed) == 0:
		cli.Fprintf(i.out, "\nno client was connected; broker init does it later\n")
	default:
		cli.Fprintf(i.out, "\nrestart what was connected; to try the search here: broker search QUERY\nthe way back, byte for byte:\n")
	}
	for _, command := range i.seen.Undo {
		cli.Fprintln(i.out, "  "+command)
	}
	printTasks(i.out, i.seen.Todo)
}
