package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// InitOptions answer the questions of broker init beforehand.
type InitOptions struct {
	Yes, All, Import, NoImport, Console, NoConsole, NoIndex bool
	Projects, NoProjects, MoveFailed                        bool
	Clients                                                 []string // "none" connects none
	Secrets                                                 string
}

// check finds mistakes in the flags before anything is done.
func (f *InitOptions) check() error {
	if f.Import && f.NoImport {
		return cli.Usagef("--import and --no-import exclude each other")
	}
	if f.Console && f.NoConsole {
		return cli.Usagef("--console and --no-console exclude each other")
	}
	if f.Projects && f.NoProjects {
		return cli.Usagef("--projects and --no-projects exclude each other")
	}
	if f.All && f.Clients != nil {
		return cli.Usagef("--client and --all exclude each other")
	}
	if slices.Equal(f.Clients, []string{"none"}) {
		f.Clients = []string{}
	}
	for _, id := range f.Clients {
		if clients.Lookup(id) == nil {
			return unknownClient(id)
		}
	}
	f.Import = f.Import || f.Yes && !f.NoImport
	f.All = f.All || f.Yes && f.Clients == nil
	f.Projects = f.Projects || f.Yes && !f.NoProjects
	if f.Secrets == "" && f.Yes {
		f.Secrets = secretsKeep
	}
	return CheckSecrets(f.Secrets)
}

// An initRun is one broker init.
type initRun struct {
	InitOptions
	setup *Setup
	out   io.Writer // for people
	env   clients.Env
	found []*clients.Client
	seen  initReport

	plan      importPlan
	index     *api.IndexReport
	stuck     map[string]api.IndexRow // servers that do not work yet, by name
	kept      []clients.Outcome       // servers that stay with their clients
	disabled  []string                // those that servers.json has, disabled
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

// Initialize takes over the servers of clients and connects the clients, as the person at
// the terminal or the options say. It reports whether the console is to be opened.
func (s *Setup) Initialize(ctx context.Context, f InitOptions) (open bool, err error) {
	if err := f.check(); err != nil {
		return false, err
	}
	i := initRun{InitOptions: f, setup: s, out: s.Out, stuck: map[string]api.IndexRow{}, connected: map[string]*clients.Client{},
		seen: initReport{Found: []clientRow{}, Installed: []clients.InstallResult{}, Undo: []string{}}}
	if s.JSON {
		i.out = io.Discard
	}
	if i.env, err = clients.CurrentEnv(); err != nil {
		return false, err
	}
	if err := i.find(); err != nil {
		return false, err
	}
	if s.Person() == nil && (!f.Import && !f.NoImport || !f.All && f.Clients == nil) {
		return false, cli.Usagef("nobody can be asked here: nothing was written\nhint: broker init --yes, or --import or --no-import, and --client NAMES or --all")
	}
	took, err := i.takeOver(ctx)
	if err != nil {
		return false, err
	}
	err = i.connect(ctx, took)
	i.seen.Todo = i.tasks()
	if s.JSON {
		return false, errors.Join(s.PrintJSON(i.seen), err)
	}
	i.wayBack()
	person := s.Person()
	if err != nil || i.NoConsole || person == nil {
		return false, err
	}
	if i.Yes || i.Console {
		return true, nil
	}
	return person.Confirm(ctx, "Open the console in a browser?", false)
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
	if len(i.found) == 0 && len(i.Clients) == 0 {
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
	o := ClientOptions()
	o.Keyring = keyring
	return o
}

// takeOver writes the servers into the config, and lists their tools.
func (i *initRun) takeOver(ctx context.Context) (took bool, err error) {
	if i.NoImport {
		return false, nil
	}
	if err := i.askProjects(ctx); err != nil {
		return false, err
	}
	p, err := i.setup.planImport(ctx, i.taken, i.Secrets, false, false)
	if err != nil {
		return false, err
	}
	if i.Secrets = secretsKeep; p.keyring {
		i.Secrets = SecretsKeyring
	}
	r := importReport{Config: p.path, Servers: p.outcomes, Needs: unset(i.setup.Lookup, p.outcomes), Errors: p.errors}
	added := p.added()
	if len(added) > 0 {
		cli.Fprintf(i.out, "\nWhat %s will get:\n", cli.ShortPath(p.path))
		printPlan(i.out, p.outcomes)
		if !i.Import {
			if i.Import, err = i.setup.Person().Confirm(ctx, "Take "+cli.Count(len(added), "server")+" over?", true); err != nil || !i.Import {
				return false, err
			}
		}
		if err := p.write(i.setup.StoreSecret); err != nil {
			return false, err
		}
		i.setup.recordOutcomes(p.path, "broker init", p.outcomes)
	}
	i.seen.Import, i.plan = &r, p
	start := time.Now()
	i.index, err = i.setup.Index(ctx, i.NoIndex, added, func(report *api.IndexReport) error {
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
		if c.ID == claudeCode && i.Projects {
			for _, p := range clients.OtherProjects(c, i.env, i.options(keyring)) {
				all = append(all, p.Sources...)
			}
		}
	}
	return all, nil
}

// wants reports whether the servers of a client are to be taken over.
func (i *initRun) wants(c *clients.Client) bool {
	return len(i.Clients) == 0 || slices.Contains(i.Clients, c.ID)
}

// connect installs the broker in the clients that are chosen.
func (i *initRun) connect(ctx context.Context, took bool) error {
	candidates := i.found
	if i.Clients != nil {
		candidates = nil
		for _, id := range i.Clients {
			candidates = append(candidates, clients.Lookup(id))
		}
	}
	path, exists, err := config.Target(i.setup.ConfigPath)
	if err != nil {
		return err
	}
	if !exists && len(candidates) > 0 {
		if len(i.Clients) == 0 && !i.All {
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
	err := i.setup.Aim(&r, c.ID)
	if err == nil {
		err = i.setup.prepare(&r)
	}
	if err != nil {
		return clients.InstallResult{}, err
	}
	r.Options.Keyring, r.Store, r.DryRun = i.Secrets == SecretsKeyring, i.setup.StoreSecret, true
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
	if !i.All && i.Clients == nil {
		if yes, err := i.setup.Person().Confirm(ctx, "Connect "+c.Title+"?", true); err != nil || !yes {
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
		cli.Fprintln(i.out, cli.Hint("  "+gate.Terminal(command)))
	}
	printTasks(i.out, i.seen.Todo)
}
