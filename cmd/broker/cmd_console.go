package main

import (
	"context"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// consoleOptions are the options of broker console.
type consoleOptions struct {
	printOnly bool
}

func consoleCommand(e *env) *cobra.Command {
	o := &consoleOptions{}
	c := &cobra.Command{
		Use: "console", Short: "Open the console in a browser: servers, executions, approvals, audit",
		Long: "Open the console in a browser: servers, search, executions, what was saved, approvals, skills, audit, and a place to run\n" +
			"scripts. The daemon serves it; if no daemon runs, this process serves it until it is interrupted. The printed\n" +
			"address is for you alone: it holds a token. Below a program that uses the broker the console is read-only.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().BoolVar(&o.printOnly, "print", false, "print the address and open no browser")
	return c
}

func (o *consoleOptions) run(ctx context.Context, e *env) error {
	return openConsole(ctx, e, o.printOnly)
}

// openConsole shows the console of the daemon, or serves one until it is interrupted.
func openConsole(ctx context.Context, e *env, printOnly bool) error {
	changes := approver.ClientAbove() == ""
	op := daemon.OpConsoleShow
	if changes {
		op = daemon.OpConsole
	}
	w, _, err := askDaemon(e, op)
	switch {
	case err != nil:
		return err
	case w == nil:
		return serveConsole(ctx, e, changes, printOnly)
	}
	url, err := consoleOf(w)
	if err != nil {
		return err
	}
	return showConsole(e, url, printOnly)
}

func showConsole(e *env, url string, printOnly bool) error {
	if e.JSON {
		return e.PrintJSON(map[string]string{"url": url})
	}
	cli.Fprintf(e.Out, "%s\n", url)
	if !printOnly && cli.IsTerminal(e.Err) {
		if err := cli.OpenBrowser(url); err != nil {
			cli.Fprintf(e.Err, "broker: open the address in a browser: %v\n", err)
		}
	}
	return nil
}

// serveConsole serves the console in this process.
func serveConsole(ctx context.Context, e *env, changes, printOnly bool) error {
	return host.Run(ctx, e.options(application.OpenOptions{IgnoreProject: true}), func(ctx context.Context, s *application.App, w *host.Watcher) error {
		h := host.NewConsole(ctx, s, w, hostOptions())
		url, err := h.Open(changes)
		if err != nil {
			return err
		}
		if err := showConsole(e, url, printOnly); err != nil {
			return err
		}
		cli.Fprintf(e.Err, "broker: serving the console until interrupted: no daemon is running\n")
		h.Wait()
		return nil
	})
}
