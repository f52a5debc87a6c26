package main

import (
	"errors"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// askDaemon asks the daemon of this config something; it returns nil if none runs.
func askDaemon(e *env, op string) (*daemon.Welcome, string, error) {
	return e.client(application.Overrides{}).Ask(op)
}

// consoleOf is the address of a daemon's console.
func consoleOf(w *daemon.Welcome) (url string, err error) {
	switch {
	case w.Refused != "":
		return "", errors.New(w.Refused)
	case w.Console == "":
		return "", cli.Errorf("the running daemon has no console: it is from an older broker\nhint: broker daemon restart")
	}
	return w.Console, nil
}

// hostOptions returns what a console draws on of this process.
func hostOptions() host.ConsoleOptions {
	return host.ConsoleOptions{
		MayChange:   func() bool { return approver.ClientAbove() == "" },
		SecretNotes: func(name string, entry config.Object) []string { return setup.ClientOptions().SecretNotes(name, entry) },
	}
}
