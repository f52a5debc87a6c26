package main

import (
	"context"

	"github.com/mcpbroker/mcpbroker/broker/api"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
	"github.com/mcpbroker/mcpbroker/state"
)

// clientSetup returns what changes servers.json and the files of clients.
func clientSetup(e *env) *setup.Setup { return clientSetupIn(e, false) }

// clientSetupIn is clientSetup; with background, servers that it begins to start go on in
// a daemon.
func clientSetupIn(e *env, background bool) *setup.Setup {
	daemon := e.client(application.Overrides{})
	index := func(ctx context.Context, skip bool, added []string, print func(*api.IndexReport) error, known ...string) (*api.IndexReport, error) {
		return thenIndex(ctx, e, background, skip, added, print, known...)
	}
	return &setup.Setup{
		IO: &e.IO, ConfigPath: e.configPath, StateDir: e.stateDir, Profile: e.profile,
		Keyring: keyring, Lookup: lookupVariable, CheckProfile: e.checkProfile, Index: index, StartDaemon: daemon.EnsureDaemon,
		Record: func(cfg *config.Config, event state.Event) {
			event.Client = application.ClientCLI
			e.record(cfg, event)
		},
	}
}
