package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// aheadTime bounds how long a command waits for the daemon that it starts.
const aheadTime = 5 * time.Second

// startDaemon starts the daemon of this config, so that it goes on with what this process
// does not wait for. It reports whether one runs.
func (a *app) startDaemon(ctx context.Context) bool {
	if yes, _ := sharesDaemon(os.Getenv); !yes {
		return false
	}
	settings, err := a.daemonSettings()
	if err != nil || isForPeople(settings.flags["config"]) {
		return false
	}
	if w, _, err := a.askDaemon(daemon.OpStatus); err == nil && w != nil {
		return true
	}
	program, err := os.Executable()
	if err != nil {
		return false
	}
	ended, err := daemon.Start(program, a.daemonArgs(settings), daemonEnv(settings.env), filepath.Dir(settings.flags["config"]), daemon.LogPath(settings.state))
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, aheadTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended: // another one may have taken the place
			w, _, err := a.askDaemon(daemon.OpStatus)
			return err == nil && w != nil
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
		if w, _, err := a.askDaemon(daemon.OpStatus); err == nil && w != nil {
			return true
		}
	}
}
