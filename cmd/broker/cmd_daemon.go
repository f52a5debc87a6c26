package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

func (a *app) daemonCommand() *cobra.Command {
	return cli.Group("daemon", "Manage the process that serves all stdio clients",
		a.daemonRunCommand(),
		&cobra.Command{
			Use: "status", Short: "Show whether a daemon runs, and its clients", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.daemonStatus() },
		},
		&cobra.Command{
			Use: "stop", Short: "Stop the daemon; the next request of a client starts another one", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.daemonStop() },
		},
		a.daemonRestartCommand(),
		&cobra.Command{
			Use: "logs", Short: "Print the last lines of the daemon's log", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.daemonLogs() },
		},
	)
}

func (a *app) daemonRunCommand() *cobra.Command {
	var idle time.Duration
	c := &cobra.Command{
		Use: "run", Short: "Run the daemon in the foreground",
		Long: "Run the daemon in the foreground. \"broker serve\" starts one when it is needed.\n" +
			"It ends some minutes after its last client.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.client().RunDaemon(cmd.Context(), idle, a.consoleOptions())
		},
	}
	c.Flags().DurationVar(&idle, "idle", host.DaemonIdle, "how long to run after the last client has left; 0 means forever")
	a.serveFlags(c)
	return c
}

// askDaemon asks the daemon of this config something; it returns nil if none runs.
func (a *app) askDaemon(op string) (*daemon.Welcome, string, error) { return a.client().Ask(op) }

func (a *app) daemonStatus() error {
	w, state, err := a.askDaemon(daemon.OpStatus)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"running": w != nil, "stateDir": state, "daemon": w})
	}
	if w == nil {
		_, err := cli.Fprintf(a.Out, "no daemon is running for %s\n", state)
		return err
	}
	if _, err := cli.Fprintf(a.Out, "daemon %d, broker %s, for %s\n", w.PID, w.Build.Version, time.Since(w.Status.Since).Round(time.Second)); err != nil {
		return err
	}
	for _, c := range w.Status.Clients {
		if _, err := cli.Fprintf(a.Out, "  client %d in %s, for %s\n", c.PID, c.Dir, time.Since(c.Since).Round(time.Second)); err != nil {
			return err
		}
	}
	_, err = cli.Fprintf(a.Out, "log: %s\n", daemon.LogPath(state))
	return err
}

func (a *app) daemonStop() error {
	pid, state, err := a.client().StopDaemon()
	if err != nil {
		return err
	}
	if pid == 0 {
		_, err := cli.Fprintf(a.Out, "no daemon is running for %s\n", state)
		return err
	}
	_, err = cli.Fprintf(a.Out, "stopped daemon %d\n", pid)
	return err
}

func (a *app) daemonRestartCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "restart", Short: "Restart the daemon, with the flags of this command", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkMode(a.mode); err != nil {
				return err
			}
			return a.daemonRestart(cmd.Context())
		},
	}
	a.serveFlags(c)
	return c
}

func (a *app) daemonRestart(ctx context.Context) error {
	client := a.client()
	settings, err := client.Settings()
	if err != nil {
		return err
	}
	if p, err := a.servicePlan(serviceName, settings); err == nil {
		if _, err := runManager(ctx, p.Status); err == nil {
			if err := runAll(ctx, p.Restart); err != nil {
				return err
			}
			_, err := cli.Fprintf(a.Out, "%s has restarted it\n", p.Manager)
			return err
		}
	}
	pid, err := client.RestartDaemon(ctx, settings)
	if err != nil {
		return err
	}
	_, err = cli.Fprintf(a.Out, "started daemon %d\n", pid)
	return err
}

// logTail is how many lines of the daemon's log are shown.
const logTail = 50

func (a *app) daemonLogs() error {
	_, state, err := a.askDaemon(daemon.OpStatus)
	if state == "" {
		return err
	}
	data, err := os.ReadFile(daemon.LogPath(state))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no log at %s", daemon.LogPath(state))
	}
	if err != nil {
		return err
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range all[max(0, len(all)-logTail):] {
		if _, err := cli.Fprintln(a.Out, line); err != nil {
			return err
		}
	}
	return nil
}
