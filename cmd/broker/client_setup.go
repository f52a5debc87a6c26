package main

import (
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
	"github.com/mcpbroker/mcpbroker/state"
)

// clientSetup returns what changes servers.json and the files of clients.
func (a *app) clientSetup() *setup.Setup {
	return &setup.Setup{
		IO: &a.IO, ConfigPath: a.configPath, StateDir: a.stateDir, Profile: a.profile,
		Keyring: keyring, Lookup: lookupVariable, CheckProfile: a.checkProfile, Index: a.thenIndex, StartDaemon: a.client().EnsureDaemon,
		Record: func(cfg *config.Config, e state.Event) {
			e.Client = application.ClientCLI
			a.record(cfg, e)
		},
	}
}
