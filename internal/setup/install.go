package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// PrintLinks prints the links of one client, or of all that have them.
func (s *Setup) PrintLinks(r clients.Request, args []string) error {
	id := "vscode"
	if len(args) > 0 {
		id = args[0]
	}
	if r.Client = clients.Lookup(id); r.Client == nil {
		return unknownClient(id)
	}
	if err := s.prepare(&r); err != nil {
		return err
	}
	list, err := clients.Links(r.Name, r.Launch)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		list = slices.DeleteFunc(list, func(l clients.Link) bool { return l.Client != id && !strings.HasPrefix(l.Client, id+"-") })
		if len(list) == 0 {
			return cli.Errorf("%s has no install links\nhint: broker install %s", r.Client.Title, id)
		}
	}
	if s.JSON {
		return s.PrintJSON(map[string]any{"links": list})
	}
	for _, l := range list {
		cli.Fprintln(s.Out, l.URL)
	}
	return nil
}

// Found returns the IDs of the clients of this user.
func Found() ([]string, error) {
	env, err := clients.CurrentEnv()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, c := range clients.All() {
		if _, ok := clients.Found(c, env); ok {
			list = append(list, c.ID)
		}
	}
	return list, nil
}

// Installed returns the IDs of the clients that have the broker in the file of the user
// or, with project, of the project.
func (s *Setup) Installed(project bool) ([]string, error) {
	var list []string
	for _, c := range clients.All() {
		if project && !c.HasProject() {
			continue
		}
		r := clients.Request{Project: project, DryRun: true}
		if err := s.Aim(&r, c.ID); err != nil {
			return nil, err
		}
		if _, err := clients.Uninstall(r); !errors.Is(err, clients.ErrNotInstalled) {
			list = append(list, c.ID) // uninstalling reports what is wrong with the file
		}
	}
	return list, nil
}

// ForEach does f for each client, and returns all errors.
func ForEach(list []string, f func(n int, id string) error) error {
	var failed []error
	for n, id := range list {
		if err := f(n, id); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

// Aim fills in what installing and uninstalling share.
func (s *Setup) Aim(r *clients.Request, client string) error {
	if r.Client = clients.Lookup(client); r.Client == nil {
		return unknownClient(client)
	}
	var err error
	if r.Env, err = clients.CurrentEnv(); err != nil {
		return err
	}
	// One place for all configs, so that uninstall finds what install did
	// whatever flags it is given.
	state, err := config.StateDir("", "")
	if err != nil {
		return err
	}
	r.Journal, r.Options = filepath.Join(state, "installs.json"), ClientOptions()
	return nil
}

// prepare fills in which config the broker gets, and how the client starts it.
func (s *Setup) prepare(r *clients.Request) error {
	if strings.TrimSpace(r.Name) == "" {
		return cli.Usagef("--name needs a name that is not blank")
	}
	path, exists, err := config.Target(s.ConfigPath)
	if err != nil {
		return err
	}
	if r.Config, err = filepath.Abs(path); err != nil {
		return err
	}
	if !exists && !r.Move {
		return cli.Errorf("%w at %s, so the broker would have no servers\nhint: broker import %s, or broker install %s --move",
			config.ErrNoConfig, r.Config, r.Client.ID, r.Client.ID)
	}
	if exists {
		cfg, err := config.Load(path)
		if err != nil {
			return err
		}
		if s.Profile != "" {
			if err := s.CheckProfile(cfg); err != nil {
				return err
			}
		}
		// A client must not give up on a call before the broker does.
		r.Launch.CallTimeout = cfg.Broker.WithDefaults().MaxTimeout + 10*time.Second
	}
	if r.Launch.Command, err = executable(); err != nil {
		return err
	}
	if duringGoRun.MatchString(filepath.ToSlash(r.Launch.Command)) {
		return errors.New("this program is deleted when go run ends: type go install ./cmd/... first")
	}
	r.Launch.Args = []string{"serve", "--config", r.Config}
	if s.Profile != "" {
		r.Launch.Args = append(r.Launch.Args, "--profile", s.Profile)
	}
	if s.StateDir != "" {
		state, err := filepath.Abs(s.StateDir)
		if err != nil {
			return err
		}
		r.Launch.Args = append(r.Launch.Args, "--state-dir", state)
	}
	return nil
}

func (s *Setup) Install(ctx context.Context, r clients.Request, secrets string, noIndex bool) error {
	if err := s.prepare(&r); err != nil {
		return err
	}
	if r.Move && secrets == "" {
		dry := r
		dry.DryRun = true
		if res, err := clients.Install(dry); err == nil { // else the next one says why not
			r.Options.Keyring = s.offersKeyring(ctx, secrets, r.DryRun, res.Moved)
		}
	}
	res, err := clients.Install(r)
	if err != nil {
		return err
	}
	if !r.DryRun {
		s.recordOutcomes(res.Config, "broker install --move", res.Moved)
	}
	_, err = s.Index(ctx, noIndex || r.DryRun, nil, func(report *api.IndexReport) error {
		if s.JSON {
			return s.PrintJSON(struct {
				clients.InstallResult
				Index *api.IndexReport `json:"index,omitempty"`
			}{res, report})
		}
		printInstall(s.Out, s.Lookup, r, res)
		if !r.DryRun {
			s.sayUnnamed()
		}
		return nil
	})
	return err
}

// duringGoRun is what the path of a program looks like that go run has built.
var duringGoRun = lazyregexp.New(`/go-build[0-9]+/b[0-9]+/exe/`)

// executable is the absolute path of this program, links resolved.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Abs(path)
}

func printInstall(w io.Writer, lookup func(string) (string, bool), r clients.Request, res clients.InstallResult) {
	if !res.Changed {
		cli.Fprintf(w, "%s has the broker already: nothing to do\n", res.Path)
		return
	}
	printOutcomes(w, res.Moved)
	printEntry(w, r.DryRun, res)
	printUnpassed(w, r.Client, res)
	cli.Fprintf(w, "the broker's servers: %s\n", cli.ShortPath(res.Config))
	printNeeds(w, unset(lookup, res.Moved))
	if len(res.Others) > 0 && (!r.Move || r.Only != nil) {
		cli.Fprintf(w, "%s still starts itself: %s\nhint: broker install %s --move makes these the broker's\n", r.Client.Title, strings.Join(res.Others, ", "), r.Client.ID)
	}
	if r.DryRun {
		cli.Fprintln(w, "this was a dry run: nothing was written")
		return
	}
	cli.Fprintf(w, "restart %s; to undo: broker uninstall %s\n", r.Client.Title, r.Client.ID)
}

// printEntry says what becomes of the file of a client.
func printEntry(w io.Writer, dryRun bool, res clients.InstallResult) {
	switch {
	case dryRun:
		cli.Fprintf(w, "%s will get the entry %q, which starts %s\n", cli.ShortPath(res.Path), res.Name, cli.ShortPath(res.Program))
	case res.Created:
		cli.Fprintf(w, "%s was made, with the entry %q, which starts %s\n", cli.ShortPath(res.Path), res.Name, cli.ShortPath(res.Program))
	default:
		cli.Fprintf(w, "%s has the entry %q now, which starts %s; the file as it was: %s\n", cli.ShortPath(res.Path), res.Name, cli.ShortPath(res.Program), cli.ShortPath(res.Backup))
	}
}

// printUnpassed names the variables of the config that a client passes to no server.
func printUnpassed(w io.Writer, c *clients.Client, res clients.InstallResult) {
	if len(res.Unpassed) == 0 {
		return
	}
	cli.Fprintf(w, "%s passes no variables of yours on: %s will not be set there; put each into the keyring, and write ${keyring:NAME} in place of ${NAME}: broker auth set-secret NAME\n",
		c.Title, strings.Join(res.Unpassed, ", "))
}

func PrintUninstall(w io.Writer, res clients.UninstallResult, dryRun bool) {
	switch {
	case res.Deleted:
		cli.Fprintf(w, "%s is gone, as it was before\n", cli.ShortPath(res.Path))
	case res.Restored:
		cli.Fprintf(w, "%s is what it was before, byte for byte\n", cli.ShortPath(res.Path))
	}
	if len(res.Removed) > 0 {
		cli.Fprintf(w, "%s: removed %s\n", cli.ShortPath(res.Path), strings.Join(res.Removed, ", "))
	}
	if len(res.Returned) > 0 {
		cli.Fprintf(w, "%s: put back %s\n", cli.ShortPath(res.Path), strings.Join(res.Returned, ", "))
	}
	for _, n := range res.Notes {
		cli.Fprintf(w, "note: %s\n", n)
	}
	if res.Config != "" {
		cli.Fprintf(w, "%s keeps the servers that were moved\n", cli.ShortPath(res.Config))
	}
	if res.Backup != "" {
		cli.Fprintf(w, "the file as it was before the install: %s\n", cli.ShortPath(res.Backup))
	}
	if dryRun {
		cli.Fprintln(w, "this was a dry run: nothing was written")
	}
}
