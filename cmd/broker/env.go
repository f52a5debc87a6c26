package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/script"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

// An env is what the commands share: the standard streams, and the flags of the program.
type env struct {
	cli.IO
	protocol io.Writer // stdout for MCP, with texts cleaned by the gate

	configPath string
	stateDir   string
	profile    string // see chosenProfile
	skillsPath string // overrules that of the config
	verbose    bool
}

// managedPath is the policy that applies to all configs of this computer.
var managedPath = config.ManagedPath()

// loadConfig reads a config file, and the managed policy above it.
func loadConfig(path string) (*config.Config, error) {
	return application.LoadConfig(path, managedPath)
}

// given returns the flags of this run that a command to be typed next needs too.
func (e *env) given() (words []string) {
	if e.configPath != "" {
		words = append(words, "--config", e.configPath)
	}
	if e.stateDir != "" {
		words = append(words, "--state-dir", e.stateDir)
	}
	return words
}

// setup returns where the config, its state and its skills are, as the flags say.
func (e *env) setup() application.Setup {
	return application.Setup{
		Process: application.Process{
			Version: version, Sources: sources(), LookupEnv: os.LookupEnv, Environ: os.Environ, Keyring: keyring,
			Print: func(line string) { cli.Fprintln(e.Err, line) }, Logger: e.logger(),
		},
		ConfigPath: e.configPath, StateDir: e.stateDir, ManagedPath: managedPath, SkillsPath: e.skillsPath,
	}
}

// options fills in how a broker is opened: with the config, the state and the profile
// that the flags of the program name.
func (e *env) options(o application.OpenOptions) application.OpenOptions {
	o.Setup, o.Profile = e.setup(), cmp.Or(o.Profile, e.chosenProfile())
	return o
}

// client returns the user of the daemon that serves as the flags say.
func (e *env) client(o application.Overrides) *host.Client {
	return &host.Client{OpenOptions: e.options(application.OpenOptions{Overrides: o}), Verbose: e.verbose}
}

// chosenProfile returns the profile that this run of the program is bound to, or "".
func (e *env) chosenProfile() string {
	return cmp.Or(e.profile, os.Getenv(application.ProfileVariable))
}

// ownError returns an error of the application layer as one of a command.
func ownError(err error) error {
	cause, ok := errors.AsType[*application.Error](err)
	switch {
	case !ok:
		return err
	case cause.Usage:
		return cli.Exit(cli.ExitUsage, cli.OwnLines(err))
	}
	return cli.OwnLines(err)
}

// open reads the config and makes a broker of it.
func (e *env) open(o application.Overrides) (*application.App, error) {
	return e.openAs(application.OpenOptions{Overrides: o})
}

// openAs is open with more options. No sandbox is kept ready.
func (e *env) openAs(o application.OpenOptions) (*application.App, error) {
	o = e.options(o)
	o.Spares = -1
	s, err := application.Open(context.Background(), o)
	return s, ownError(err)
}

// load reads the config file and prints its notes, without the servers of plugins.
func (e *env) load() (*config.Config, error) {
	s := e.setup()
	cfg, err := s.Load()
	return cfg, ownError(err)
}

// loadWithState reads the config file and names its state directory.
func (e *env) loadWithState() (*config.Config, string, error) {
	s := e.setup()
	cfg, dir, err := s.LoadWithState()
	return cfg, dir, ownError(err)
}

// loadServers reads the config, with the servers of plugins.
func (e *env) loadServers() (*config.Config, error) {
	s := e.setup()
	cfg, err := s.LoadServers()
	return cfg, ownError(err)
}

// withState calls f with the config, with the servers of plugins, and its state.
func (e *env) withState(ctx context.Context, f func(*config.Config, *application.State) error) error {
	s := e.setup()
	return ownError(s.WithState(ctx, f))
}

// openRecord opens the record of executions, which must exist.
func (e *env) openRecord(ctx context.Context) (state.AuditStore, error) {
	s := e.setup()
	store, err := s.OpenRecord(ctx)
	return store, ownError(err)
}

// withRecord calls f with the record of executions, which must exist.
func (e *env) withRecord(ctx context.Context, f func(state.AuditStore) error) error {
	store, err := e.openRecord(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	return f(store)
}

// withRuns calls f with the journals of runs, and with what describes the tokens in their
// calls.
func (e *env) withRuns(ctx context.Context, f func(state.RunStore, api.Tokens) error) error {
	s := e.setup()
	return ownError(s.WithRuns(ctx, f))
}

// withScripts calls f with the saved scripts of the config.
func (e *env) withScripts(ctx context.Context, f func(script.Store) error) error {
	return e.withState(ctx, func(cfg *config.Config, st *application.State) error {
		return f(st.Scripts(application.SavedScripts(cfg)))
	})
}

// stateOf returns the state directory of a config, and prints a note if the config has
// moved.
func (e *env) stateOf(configPath string) (string, error) {
	s := e.setup()
	return s.StateOf(configPath)
}

// skillHome reads the config, if it exists, and opens its switches. install allows the
// folder of skills not to exist yet.
func (e *env) skillHome(install bool) (*application.Home, error) {
	s := e.setup()
	h, err := s.OpenHome(install)
	return h, ownError(err)
}

// record adds an event of a command to the record. If the record cannot be written, the
// command continues.
func (e *env) record(cfg *config.Config, event state.Event) {
	s := e.setup()
	s.Record(context.Background(), cfg, event)
}

// note is record for commands that read no config.
func (e *env) note(event state.Event) {
	s := e.setup()
	s.Note(context.Background(), event)
}

// readProject reads what the project of the working directory says, or returns nil.
func (e *env) readProject(state string) (*application.Project, error) {
	o := e.options(application.OpenOptions{})
	return o.ReadProject(state)
}

// checkProfile refuses a profile that does not exist.
func (e *env) checkProfile(cfg *config.Config) error {
	return ownError(application.CheckProfile(cfg, e.chosenProfile()))
}

// logger writes to stderr: everything with --verbose, else what went wrong.
func (e *env) logger() *slog.Logger {
	level := slog.LevelError
	if e.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(e.Err, &slog.HandlerOptions{Level: level}))
}
