package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/skills"
)

// stateOf returns the state directory of a config, and prints a note if the config has
// moved.
func (a *app) stateOf(configPath string) (string, error) {
	dir, note, err := config.OpenState(a.stateDir, configPath, a.daemonRuns)
	if note != "" {
		cli.Fprintf(a.Err, "broker: %s\n", cli.Lines(note))
	}
	return dir, err
}

// daemonRuns reports whether a daemon is known to use a state directory.
func (a *app) daemonRuns(dir string) bool {
	build, err := a.build()
	if err == nil {
		_, err = daemon.Ask(dir, daemon.OpStatus, build)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// openState opens the state of a config, whose state directory is dir. It connects on
// first use.
func (a *app) openState(cfg *config.Config, dir string) (*application.State, error) {
	st, err := application.OpenState(application.StateOptions{
		Dir: dir, Config: cfg.Broker, Expand: expand, Lookup: os.LookupEnv, Keyring: keyring(), Serve: a.serving, Logger: a.logger(),
	})
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return st, nil
}

// openPrepared opens the state of a config and creates the tables of a database.
func (a *app) openPrepared(cfg *config.Config, dir string) (*application.State, error) {
	st, err := a.openState(cfg, dir)
	if err != nil {
		return nil, err
	}
	if err := st.Prepare(context.Background()); err != nil {
		return nil, cli.Errorf("%w\nhint: \"state\" of the config names the database", errors.Join(err, st.Close()))
	}
	return st, nil
}

// openAnyState opens the state for commands that need no more of the config. One with
// mistakes names no database.
func (a *app) openAnyState() (*application.State, error) {
	dir, err := a.stateOnly()
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{}
	if path, err := config.Find(a.configPath); err == nil {
		if read, err := config.Load(path); err == nil {
			cfg = read
		}
	}
	return a.openPrepared(cfg, dir)
}

// loadState reads the config, with the servers of plugins, and opens its state.
func (a *app) loadState() (*config.Config, *application.State, error) {
	cfg, dir, err := a.loadWithState()
	if err != nil {
		return nil, nil, err
	}
	st, err := a.openPrepared(cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	return a.joinPlugins(cfg, st.Switchboard(application.SwitchFile(cfg))), st, nil
}

// loadServers reads the config, with the servers of plugins.
func (a *app) loadServers() (*config.Config, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	switches, closes, err := a.openSwitches(cfg)
	if err != nil {
		return nil, err
	}
	cfg = a.joinPlugins(cfg, switches)
	return cfg, closes()
}

// joinPlugins is WithPluginsOrNote, and prints what it notes.
func (a *app) joinPlugins(cfg *config.Config, switches skills.Switchboard) *config.Config {
	merged := application.WithPluginsOrNote(application.NewHome(cfg, switches))
	for _, n := range merged.Notes[len(cfg.Notes):] {
		cli.Fprintln(a.Err, n)
	}
	return merged
}

// openSwitches returns the switches of a config for a command that needs no other
// state, and what closes them.
func (a *app) openSwitches(cfg *config.Config) (_ skills.Switchboard, closes func() error, err error) {
	if cfg.Broker.State == "" { // no state directory need exist
		return application.SwitchFile(cfg), func() error { return nil }, nil
	}
	dir, err := a.stateOf(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	st, err := a.openState(cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	return st.Switchboard(application.SwitchFile(cfg)), st.Close, nil
}
