package main

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

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

func (a *app) installCommand() *cobra.Command {
	var r clients.Request
	noIndex, link, all, projects := false, false, false, false
	var secrets string
	c := &cobra.Command{
		Use:   "install CLIENT|--all",
		Short: "Add the broker to a client's config",
		Long: "Add the broker to the config of a client, as one entry; with --profile, the client uses that profile. Everything else in\n" +
			"the file stays as it is; the file is backed up, and broker uninstall restores it, byte for byte. With --move the\n" +
			"client's other servers become the broker's. Installing again brings the entry up to date. Then connect to the servers\n" +
			"that were never listed and say what their tools cost. With --all, every client found gets the entry.\n\nWith --link nothing is written: it prints links for VS Code and Cursor, which ask before they install.\n\n" +
			"Clients: " + strings.Join(clients.IDs(), ", "),
		Args: func(cmd *cobra.Command, args []string) error {
			if link {
				return cli.SomeArgs(0, 1, "at most one client")(cmd, args)
			}
			return clientOrAll(all)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if link {
				return a.printLinks(r, args)
			}
			if err := checkSecrets(secrets); err != nil {
				return err
			}
			if !r.Move && (r.Only != nil || projects) {
				return cli.Usagef("--server and --projects say what --move takes\nhint: add --move")
			}
			install := func(id string, noIndex bool) error {
				r := r
				if err := a.aim(&r, id); err != nil {
					return err
				}
				if projects {
					r.Projects = projectFolders(clients.OtherProjects(r.Client, r.Env, r.Options))
				}
				r.Options.Keyring, r.Store = secrets == secretsKeyring, storeSecret
				return a.install(cmd.Context(), r, secrets, noIndex)
			}
			if !all {
				return install(args[0], noIndex)
			}
			list, err := found()
			if err == nil && len(list) == 0 {
				err = cli.Errorf("no client was found\nhint: broker install CLIENT writes the file of one: %s", strings.Join(clients.IDs(), ", "))
			}
			if err != nil {
				return err
			}
			return forEach(list, func(n int, id string) error { return install(id, noIndex || n < len(list)-1) })
		},
	}
	noIndexFlag(c, &noIndex)
	secretsFlag(c, &secrets)
	c.Flags().StringVar(&r.Name, "name", "broker", "the name of the entry")
	c.Flags().BoolVar(&r.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&r.Move, "move", false, "move the other servers of the file into servers.json")
	c.Flags().StringSliceVar(&r.Only, "server", nil, "with --move, these servers of the file only")
	c.Flags().BoolVar(&projects, "projects", false, "with --move, the servers that Claude Code has for single projects, too")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "report what would change and write nothing")
	c.Flags().BoolVar(&all, "all", false, "every client found")
	c.Flags().BoolVar(&link, "link", false, "print links that install the broker when they are opened")
	return c
}

// printLinks prints the links of one client, or of all that have them.
func (a *app) printLinks(r clients.Request, args []string) error {
	id := "vscode"
	if len(args) > 0 {
		id = args[0]
	}
	if r.Client = clients.Lookup(id); r.Client == nil {
		return unknownClient(id)
	}
	if err := a.prepare(&r); err != nil {
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
	if a.JSON {
		return a.PrintJSON(map[string]any{"links": list})
	}
	for _, l := range list {
		cli.Fprintln(a.Out, l.URL)
	}
	return nil
}

// clientOrAll accepts one client or, with --all, no argument.
func clientOrAll(all bool) cobra.PositionalArgs {
	if all {
		return cli.NoArgs
	}
	return cli.OneArg("a client, or --all")
}

// found returns the IDs of the clients of this user.
func found() ([]string, error) {
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

// installed returns the IDs of the clients that have the broker in the file of the user
// or, with project, of the project.
func (a *app) installed(project bool) ([]string, error) {
	var list []string
	for _, c := range clients.All() {
		if project && !c.HasProject() {
			continue
		}
		r := clients.Request{Project: project, DryRun: true}
		if err := a.aim(&r, c.ID); err != nil {
			return nil, err
		}
		if _, err := clients.Uninstall(r); !errors.Is(err, clients.ErrNotInstalled) {
			list = append(list, c.ID) // uninstalling reports what is wrong with the file
		}
	}
	return list, nil
}

// forEach does f for each client, and returns all errors.
func forEach(list []string, f func(n int, id string) error) error {
	var failed []error
	for n, id := range list {
		if err := f(n, id); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

func (a *app) uninstallCommand() *cobra.Command {
	var r clients.Request
	var all bool
	c := &cobra.Command{
		Use:   "uninstall CLIENT|--all",
		Short: "Remove the broker from a client's config",
		Long: "Restore the file of a client to what it was before broker install, byte for byte. If it was edited since then, only\n" +
			"the broker's entry is removed and moved servers return to their places; your edits stay. With --all, every client that\n" +
			"has the broker.",
		Args: func(cmd *cobra.Command, args []string) error { return clientOrAll(all)(cmd, args) },
		RunE: func(_ *cobra.Command, args []string) error {
			uninstall := func(id string) error {
				r := r
				if err := a.aim(&r, id); err != nil {
					return err
				}
				res, err := clients.Uninstall(r)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(res)
				}
				printUninstall(a.Out, res, r.DryRun)
				return nil
			}
			if !all {
				return uninstall(args[0])
			}
			list, err := a.installed(r.Project)
			if err != nil {
				return err
			}
			if len(list) == 0 && !a.JSON {
				cli.Fprintln(a.Out, "no client has the broker")
			}
			return forEach(list, func(_ int, id string) error { return uninstall(id) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every client that has the broker")
	c.Flags().BoolVar(&r.Project, "project", false, "the project's file instead of the user's")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "report what would change and write nothing")
	return c
}

// aim fills in what installing and uninstalling share.
func (a *app) aim(r *clients.Request, client string) error {
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
	r.Journal, r.Options = filepath.Join(state, "installs.json"), clientOptions()
	return nil
}

// prepare fills in which config the broker gets, and how the client starts it.
func (a *app) prepare(r *clients.Request) error {
	if strings.TrimSpace(r.Name) == "" {
		return cli.Usagef("--name needs a name that is not blank")
	}
	path, exists, err := config.Target(a.configPath)
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
		if a.profile != "" {
			if err := a.checkProfile(cfg); err != nil {
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
	if a.profile != "" {
		r.Launch.Args = append(r.Launch.Args, "--profile", a.profile)
	}
	if a.stateDir != "" {
		state, err := filepath.Abs(a.stateDir)
		if err != nil {
			return err
		}
		r.Launch.Args = append(r.Launch.Args, "--state-dir", state)
	}
	return nil
}

func (a *app) install(ctx context.Context, r clients.Request, secrets string, noIndex bool) error {
	if err := a.prepare(&r); err != nil {
		return err
	}
	if r.Move && secrets == "" {
		dry := r
		dry.DryRun = true
		if res, err := clients.Install(dry); err == nil { // else the next one says why not
			r.Options.Keyring = a.offersKeyring(ctx, secrets, r.DryRun, res.Moved)
		}
	}
	res, err := clients.Install(r)
	if err != nil {
		return err
	}
	if !r.DryRun {
		a.recordOutcomes(res.Config, "broker install --move", res.Moved)
	}
	_, err = a.thenIndex(ctx, noIndex || r.DryRun, nil, func(report *indexReport) error {
		if a.JSON {
			return a.PrintJSON(struct {
				clients.InstallResult
				Index *indexReport `json:"index,omitempty"`
			}{res, report})
		}
		printInstall(a.Out, r, res)
		if !r.DryRun {
			a.sayUnnamed()
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

func printInstall(w io.Writer, r clients.Request, res clients.InstallResult) {
	if !res.Changed {
		cli.Fprintf(w, "%s has the broker already: nothing to do\n", res.Path)
		return
	}
	printOutcomes(w, res.Moved)
	printEntry(w, r.DryRun, res)
	printUnpassed(w, r.Client, res)
	cli.Fprintf(w, "the broker's servers: %s\n", cli.ShortPath(res.Config))
	printNeeds(w, unset(res.Moved))
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

func printUninstall(w io.Writer, res clients.UninstallResult, dryRun bool) {
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
