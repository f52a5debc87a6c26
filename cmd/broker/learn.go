package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// refreshFlag adds the flag --refresh to a command that reads stored listings.
func refreshFlag(c *cobra.Command, refresh *bool) {
	c.Flags().BoolVar(refresh, "refresh", false, "connect to the servers and list their tools anew first")
}

// forgetFailure lets commands and a daemon try a failed server again at once, since the
// cause may be gone.
func (a *app) forgetFailure(cfg *config.Config, server string) error {
	dir, err := config.StateDir(a.stateDir, cfg.Path)
	if err != nil {
		return err
	}
	for _, c := range application.Upstreams(cfg) {
		if c.Name == server {
			err = upstream.ForgetFailure(application.CatalogueDir(dir), c)
		}
	}
	return err
}
