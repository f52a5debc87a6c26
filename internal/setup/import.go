package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// An importReport is what "broker import --json" prints.
type importReport struct {
	Config  string            `json:"config"`
	DryRun  bool              `json:"dry_run"`
	Servers []clients.Outcome `json:"servers"`
	// Needs are variables that are not set here.
	Needs []string `json:"needs"`
	// Withheld are variables of well-known programs that are set here but not passed to
	// any of the added servers.
	Withheld []string `json:"withheld"`
	// Errors are files that could not be read.
	Errors []string `json:"errors"`
	// Index is what the servers cost, if they were listed.
	Index *api.IndexReport `json:"index,omitempty"`
}

// ClientOptions say what a secret and what the broker itself is.
func ClientOptions() *clients.Options {
	o := &clients.Options{LooksSecret: func(s string) bool { return redact.Text(s) != s }}
	o.Self, _ = executable() // without, the broker is known by its name
	return o
}

// ImportSources reads what the arguments name: a client's files, or one file.
func ImportSources(env clients.Env, args []string, from string, keyring bool) ([]clients.Source, error) {
	var client *clients.Client
	options := ClientOptions()
	options.Keyring = keyring
	if len(args) == 1 {
		client = clients.Lookup(args[0])
	}
	switch {
	case from != "" && len(args) == 1 && client == nil:
		return nil, unknownClient(args[0])
	case from != "":
		return clients.ReadFile(client, from, env, options)
	case client == nil:
		if _, err := os.Stat(args[0]); errors.Is(err, os.ErrNotExist) {
			return nil, unknownClient(args[0])
		}
		return clients.ReadFile(nil, args[0], env, options)
	}
	sources := clients.Read(client, env, options)
	if len(sources) == 0 {
		return nil, cli.Errorf("%s has no servers here: looked at %s\nhint: --from names another file", client.Title, strings.Join(clients.Paths(client, env), ", "))
	}
	return sources, nil
}

func unknownClient(name string) error {
	text := fmt.Sprintf("%q is no client that is known, and no file", name)
	if near := nearest.Names(name, clients.IDs(), 1); len(near) > 0 {
		return cli.Usagef("%s\nhint: did you mean %q?", text, near[0])
	}
	return cli.Usagef("%s\nhint: one of %s", text, strings.Join(clients.IDs(), ", "))
}

// An importPlan is what an import makes of the config.
type importPlan struct {
	path                string
	before, text, after []byte
	outcomes            []clients.Outcome
	errors              []string // of files that could not be read
	keyring             bool     // secrets move into the keyring
}

// planImport merges servers into the text of the config, and writes nothing. It asks
// the person at the terminal about secrets, unless that was said already.
func (s *Setup) planImport(ctx context.Context, read func(keyring bool) ([]clients.Source, error), secrets string, dryRun, force bool) (p importPlan, err error) {
	if p.path, _, err = config.Target(s.ConfigPath); err != nil {
		return p, err
	}
	if p.before, p.text, err = config.ReadText(p.path); err != nil {
		return p, err
	}
	merge := func(keyring bool) error {
		sources, err := read(keyring)
		if err != nil {
			return err
		}
		p.keyring, p.errors = keyring, []string{}
		for _, source := range sources {
			if source.Err != nil {
				p.errors = append(p.errors, fmt.Sprintf("%s: %v", source.Path, source.Err))
			}
		}
		p.after, p.outcomes, err = clients.Merge(p.path, p.text, sources, force)
		return err
	}
	if err := merge(secrets == SecretsKeyring); err != nil {
		return p, err
	}
	if s.offersKeyring(ctx, secrets, dryRun, p.outcomes) {
		err = merge(true)
	}
	return p, err
}

// write puts the secrets into the keyring, and then writes the config.
func (p importPlan) write(store func(name, value string) error) error {
	if string(p.text) == string(p.after) {
		return nil
	}
	for _, o := range p.outcomes {
		for name, value := range o.Secrets {
			if err := store(name, value); err != nil {
				return err
			}
		}
	}
	return clients.WriteConfig(p.path, p.before, p.after, slices.ContainsFunc(p.outcomes, func(o clients.Outcome) bool { return o.Secret }))
}

// added are the servers that are new in the config.
func (p importPlan) added() []string {
	added := []string{}
	for _, o := range p.outcomes {
		if o.Action == clients.Added || o.Action == clients.Replaced {
			added = append(added, o.Server())
		}
	}
	return added
}

// present returns the enabled servers that the config had before.
func (p importPlan) present() (names []string) {
	for _, o := range p.outcomes {
		if o.Action == clients.Same && !o.Disabled {
			names = append(names, o.Server())
		}
	}
	return names
}

// withheld returns the variables that are not passed to any of the added servers.
func (p importPlan) withheld() []string {
	cfg, err := config.Parse(p.path, p.after)
	if err != nil {
		return []string{} // the next command reports them
	}
	added := p.added()
	return Withheld(slices.DeleteFunc(cfg.Servers, func(s config.Server) bool { return !slices.Contains(added, s.Name) }))
}

// ImportServers merges the servers of sources into the config.
func (s *Setup) ImportServers(ctx context.Context, read func(keyring bool) ([]clients.Source, error), secrets string, dryRun, force, noIndex bool) error {
	p, err := s.planImport(ctx, read, secrets, dryRun, force)
	if err != nil {
		return err
	}
	if !dryRun {
		if err := p.write(s.StoreSecret); err != nil {
			return err
		}
		s.recordOutcomes(p.path, "broker import", p.outcomes)
	}
	r := importReport{Config: p.path, DryRun: dryRun, Servers: p.outcomes, Needs: unset(s.Lookup, p.outcomes), Withheld: p.withheld(), Errors: p.errors}
	_, err = s.Index(ctx, noIndex || dryRun, p.added(), func(report *api.IndexReport) error {
		r.Index = report
		if s.JSON {
			return s.PrintJSON(r)
		}
		printImport(s.Out, r)
		if !dryRun {
			s.sayUnnamed()
		}
		return nil
	})
	if err == nil && len(r.Errors) > 0 {
		err = errors.New(strings.Join(r.Errors, "\n"))
	}
	return err
}

// unset are the variables that the servers need and that are not set here.
func unset(lookup func(string) (string, bool), outcomes []clients.Outcome) []string {
	names := []string{}
	for _, o := range outcomes {
		for _, n := range o.Needs {
			if _, ok := lookup(n); !ok && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func printImport(w io.Writer, r importReport) {
	if r.DryRun {
		printPlan(w, r.Servers)
	} else {
		printOutcomes(w, r.Servers)
	}
	counts := map[clients.Action]int{}
	for _, o := range r.Servers {
		counts[o.Action]++
	}
	var parts []string
	for _, c := range []struct {
		action clients.Action
		words  string
	}{
		{clients.Added, "added"}, {clients.Replaced, "replaced"}, {clients.Same, "there already"},
		{clients.Conflict, "in conflict"}, {clients.Skipped, "skipped"},
	} {
		if n := counts[c.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.words))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to import"}
	}
	cli.Fprintf(w, "%s: %s\n", cli.ShortPath(r.Config), strings.Join(parts, ", "))
	if r.DryRun {
		cli.Fprintln(w, "this was a dry run: nothing was written")
	}
	printNeeds(w, r.Needs)
	PrintWithheld(w, r.Withheld)
}

func PrintWithheld(w io.Writer, names []string) {
	if line := WithheldLine(names); line != "" {
		cli.Fprintln(w, line)
	}
}

// planned maps outcomes to their words before the import.
var planned = map[clients.Action]string{
	clients.Added: "will add", clients.Replaced: "will replace", clients.Same: "is there", clients.Conflict: "will leave out",
	clients.Skipped: "will leave out", clients.Self: "will leave out",
}

// printPlan prints the outcomes of an import that has not run yet.
func printPlan(w io.Writer, outcomes []clients.Outcome) {
	list := slices.Clone(outcomes)
	for n := range list {
		list[n].Action = clients.Action(cmp.Or(planned[list[n].Action], string(list[n].Action)))
	}
	printOutcomes(w, list)
}

func printOutcomes(w io.Writer, outcomes []clients.Outcome) {
	width := 0
	for _, o := range outcomes {
		width = max(width, len(o.Action))
	}
	from := ""
	for _, o := range outcomes {
		heading := cli.ShortPath(o.From)
		if o.Dir != "" && !strings.HasPrefix(o.From, o.Dir+string(filepath.Separator)) {
			heading += ", for " + cli.ShortPath(o.Dir)
		}
		if heading != from {
			from = heading
			cli.Fprintln(w, from)
		}
		line := fmt.Sprintf("  %-*s  %s", max(width, 8), o.Action, o.Name)
		if o.Detail != "" {
			line += ": " + o.Detail
		}
		cli.Fprintln(w, line)
		for _, n := range o.Notes {
			cli.Fprintln(w, strings.Repeat(" ", max(width, 8)+4)+n)
		}
	}
}

func printNeeds(w io.Writer, needs []string) {
	if len(needs) > 0 {
		cli.Fprintf(w, "not set here, but needed where the broker starts: %s\n", strings.Join(needs, ", "))
	}
}

// A clientRow is one file of a client, as "broker import --json" lists it.
type clientRow struct {
	Client  string   `json:"client"`
	Scope   string   `json:"scope"`
	Path    string   `json:"path"`
	Servers []string `json:"servers"`
	Broker  bool     `json:"broker"` // the broker is among them
	Error   string   `json:"error,omitempty"`
	Command string   `json:"command"`
}

// clientRows are the files of a client with what is in them.
func clientRows(c *clients.Client, sources []clients.Source) []clientRow {
	var rows []clientRow
	for _, s := range sources {
		row := clientRow{Client: c.ID, Scope: s.Scope, Path: s.Path, Servers: []string{}, Command: "broker import " + c.ID}
		if s.Err != nil {
			row.Error = s.Err.Error()
		}
		for _, e := range s.Servers {
			if e.Self {
				row.Broker = true
			} else {
				row.Servers = append(row.Servers, e.Name)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

var clientTable = cli.NewTable("CLIENT\tFILE\tSERVERS", clientRow.cells)

// ListClients shows what every client has.
func (s *Setup) ListClients(env clients.Env) error {
	rows := []clientRow{}
	for _, c := range clients.All() {
		rows = append(rows, clientRows(c, clients.Read(c, env, ClientOptions()))...)
	}
	if err := cli.PrintList(s.IO, rows, "no client with servers was found\nhint: broker import FILE reads any file with \"mcpServers\"",
		clientTable); err != nil || s.JSON || len(rows) == 0 {
		return err
	}
	_, err := cli.Fprintln(s.Out, cli.Hint("broker import CLIENT adds them to the broker's config"))
	return err
}

func (r clientRow) cells() []any {
	what := fmt.Sprintf("%d: %s", len(r.Servers), cli.OneLine(strings.Join(r.Servers, ", "), 50))
	switch {
	case r.Error != "":
		what = cli.OneLine(r.Error, 60)
	case len(r.Servers) == 0 && r.Broker:
		what = "only the broker"
	case len(r.Servers) == 0:
		what = "none"
	}
	return []any{r.Client, cli.ShortPath(r.Path), what}
}
