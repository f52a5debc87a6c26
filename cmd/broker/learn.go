package main

import (
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// forgetFailure lets commands and a daemon try a failed server again at once, since the
// cause may be gone.
func forgetFailure(e *env, cfg *config.Config, server string) error {
	dir, err := config.StateDir(e.stateDir, cfg.Path)
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
