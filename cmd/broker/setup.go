package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// managedPath is the policy that applies to all configs of this computer.
var managedPath = config.ManagedPath()

// loadConfig reads a config file, and the managed policy above it.
func loadConfig(path string) (*config.Config, error) {
	return application.LoadConfig(path, managedPath)
}

// setup returns where the config, its state and its skills are, as the flags say.
func (a *app) setup() application.Setup {
	return application.Setup{
		Process: application.Process{
			Version: version, Sources: sources(), LookupEnv: os.LookupEnv, Environ: os.Environ, Keyring: keyring,
			Print: func(line string) { cli.Fprintln(a.Err, line) }, Logger: a.logger(),
		},
		ConfigPath: a.configPath, StateDir: a.stateDir, ManagedPath: managedPath, SkillsPath: a.skillsPath,
	}
}

// options returns how a broker is opened, as the flags say. spares is the number of
// sandboxes kept ready; negative means none.
func (a *app) options(spares int) application.OpenOptions {
	return application.OpenOptions{
		Setup: a.setup(), Overrides: a.overrides(), Profile: a.chosenProfile(), Spares: spares,
		HTTPAddr: a.httpAddr, Metrics: a.metrics, IgnoreProject: a.ignoreProject, AllProfiles: a.allProfiles,
	}
}

// overrides returns what the flags overrule.
func (a *app) overrides() application.Overrides {
	return application.Overrides{Mode: a.mode, ReadOnly: a.readOnly, IgnorePolicy: a.ignorePolicy}
}

// client returns the user of the daemon that serves as the flags say.
func (a *app) client() *host.Client {
	return &host.Client{OpenOptions: a.options(0), Verbose: a.verbose}
}

// chosenProfile returns the profile that this run of the program is bound to, or "".
func (a *app) chosenProfile() string {
	return cmp.Or(a.profile, os.Getenv(application.ProfileVariable))
}

// ownError returns an error of the application layer as one of a command.
func ownError(err error) error {
	e, ok := errors.AsType[*application.Error](err)
	switch {
	case !ok:
		return err
	case e.Usage:
		return cli.Exit(cli.ExitUsage, cli.OwnLines(err))
	}
	return cli.OwnLines(err)
}

// open reads the config and makes a broker of it. spares is as in options.
func (a *app) open(spares int) (*application.App, error) {
	s, err := application.Open(context.Background(), a.options(spares))
	return s, ownError(err)
}

// load reads the config file and prints its notes, without the servers of plugins.
func (a *app) load() (*config.Config, error) {
	s := a.setup()
	cfg, err := s.Load()
	return cfg, ownError(err)
}

// loadWithState reads the config file and names its state directory.
func (a *app) loadWithState() (*config.Config, string, error) {
	s := a.setup()
	cfg, dir, err := s.LoadWithState()
	return cfg, dir, ownError(err)
}

// loadServers reads the config, with the servers of plugins.
func (a *app) loadServers() (*config.Config, error) {
	s := a.setup()
	cfg, err := s.LoadServers()
	return cfg, ownError(err)
}

// loadState reads the config, with the servers of plugins, and opens its state.
func (a *app) loadState() (*config.Config, *application.State, error) {
	s := a.setup()
	cfg, st, err := s.LoadState(context.Background())
	return cfg, st, ownError(err)
}

// stateOf returns the state directory of a config, and prints a note if the config has
// moved.
func (a *app) stateOf(configPath string) (string, error) {
	s := a.setup()
	return s.StateOf(configPath)
}

// openAnyState opens the state for commands that need no more of the config.
func (a *app) openAnyState() (*application.State, error) {
	s := a.setup()
	st, err := s.OpenAnyState(context.Background())
	return st, ownError(err)
}

// openSwitches returns the switches of a config for a command that needs no other
// state, and what closes them.
func (a *app) openSwitches(cfg *config.Config) (_ skills.Switchboard, closes func() error, err error) {
	s := a.setup()
	switches, closes, err := s.OpenSwitches(cfg)
	return switches, closes, ownError(err)
}

// skillHome reads the config, if it exists, and opens its switches. install allows the
// folder of skills not to exist yet.
func (a *app) skillHome(install bool) (*application.Home, error) {
	s := a.setup()
	h, err := s.OpenHome(install)
	return h, ownError(err)
}

// record adds an event of a command to the record. If the record cannot be written, the
// command continues.
func (a *app) record(cfg *config.Config, e state.Event) {
	s := a.setup()
	s.Record(context.Background(), cfg, e)
}

// note is record for commands that read no config.
func (a *app) note(e state.Event) {
	s := a.setup()
	s.Note(context.Background(), e)
}

// readProject reads what the project of the working directory says, or returns nil.
func (a *app) readProject(state string) (*application.Project, error) {
	o := a.options(-1)
	return o.ReadProject(state)
}

// checkProfile refuses a profile that does not exist.
func (a *app) checkProfile(cfg *config.Config) error {
	if a.allProfiles {
		return nil
	}
	return ownError(application.CheckProfile(cfg, a.chosenProfile()))
}

// logger writes to stderr: everything with --verbose, else what went wrong.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}
