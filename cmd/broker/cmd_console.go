package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

func (a *app) consoleCommand() *cobra.Command {
	var printOnly bool
	c := &cobra.Command{
		Use: "console", Short: "Open the console in a browser: servers, executions, approvals, audit",
		Long: "Open the console in a browser: servers, search, executions, what was saved, approvals, skills, audit, and a place to run\n" +
			"scripts. The daemon serves it; if no daemon runs, this process serves it until it is interrupted. The printed\n" +
			"address is for you alone: it holds a token. Below a program that uses the broker the console is read-only.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.openConsole(cmd.Context(), printOnly)
		},
	}
	c.Flags().BoolVar(&printOnly, "print", false, "print the address and open no browser")
	return c
}

// openConsole shows the console of the daemon, or serves one until it is interrupted.
func (a *app) openConsole(ctx context.Context, printOnly bool) error {
	changes := approver.ClientAbove() == ""
	op := daemon.OpConsoleShow
	if changes {
		op = daemon.OpConsole
	}
	w, _, err := a.askDaemon(op)
	switch {
	case err != nil:
		return err
	case w == nil:
		return a.serveConsole(ctx, changes, printOnly)
	}
	url, err := consoleOf(w)
	if err != nil {
		return err
	}
	return a.showConsole(url, printOnly)
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

func (a *app) showConsole(url string, printOnly bool) error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"url": url})
	}
	cli.Fprintf(a.Out, "%s\n", url)
	if !printOnly && cli.IsTerminal(a.Err) {
		if err := cli.OpenBrowser(url); err != nil {
			cli.Fprintf(a.Err, "broker: open the address in a browser: %v\n", err)
		}
	}
	return nil
}

// serveConsole serves the console in this process.
func (a *app) serveConsole(ctx context.Context, changes, printOnly bool) error {
	a.ignoreProject = true
	return host.Run(ctx, a.options(0), func(ctx context.Context, s *application.App, w *host.Watcher) error {
		h := host.NewConsole(ctx, s, w, a.consoleOptions())
		url, err := h.Open(changes)
		if err != nil {
			return err
		}
		if err := a.showConsole(url, printOnly); err != nil {
			return err
		}
		cli.Fprintf(a.Err, "broker: serving the console until interrupted: no daemon is running\n")
		h.Wait()
		return nil
	})
}

// consoleOptions returns what a console draws on of this process.
func (a *app) consoleOptions() host.ConsoleOptions {
	return host.ConsoleOptions{
		MayChange:   func() bool { return approver.ClientAbove() == "" },
		SecretNotes: func(name string, entry config.Object) []string { return setup.ClientOptions().SecretNotes(name, entry) },
	}
}
