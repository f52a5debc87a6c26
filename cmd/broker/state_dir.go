package main

import (
	"errors"
	"io/fs"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// stateOf returns the state directory of a config, and prints a note if the config has
// moved.
func (a *app) stateOf(configPath string) (string, error) {
	dir, note, err := config.OpenState(a.stateDir, configPath, a.daemonRuns)
	if note != "" {
		say(a.stderr, "broker: %s\n", lines(note))
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
