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

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

func daemonCommand(e *env) *cobra.Command {
	return cli.Group("daemon", "Manage the process that serves all stdio clients",
		daemonRunCommand(e),
		&cobra.Command{
			Use: "status", Short: "Show whether a daemon runs, and its clients", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return showDaemon(e) },
		},
		&cobra.Command{
			Use: "stop", Short: "Stop the daemon; the next request of a client starts another one", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return daemonStop(e) },
		},
		daemonRestartCommand(e),
		&cobra.Command{
			Use: "logs", Short: "Print the last lines of the daemon's log", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return daemonLogs(e) },
		},
	)
}

// daemonRunOptions are the options of broker daemon run.
type daemonRunOptions struct {
	idle    time.Duration
	clients serveFlags
}

func daemonRunCommand(e *env) *cobra.Command {
	o := &daemonRunOptions{}
	c := &cobra.Command{
		Use: "run", Short: "Run the daemon in the foreground",
		Long: "Run the daemon in the foreground. \"broker serve\" starts one when it is needed.\n" +
			"It ends some minutes after its last client.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().DurationVar(&o.idle, "idle", host.DaemonIdle, "how long to run after the last client has left; 0 means forever")
	o.clients.add(c, e)
	return c
}

func (o *daemonRunOptions) run(ctx context.Context, e *env) error {
	return e.client(o.clients.overrides()).RunDaemon(ctx, o.idle, hostOptions())
}

func showDaemon(e *env) error {
	w, state, err := askDaemon(e, daemon.OpStatus)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"running": w != nil, "stateDir": state, "daemon": w})
	}
	if w == nil {
		_, err := cli.Fprintf(e.Out, "no daemon is running for %s\n", state)
		return err
	}
	if _, err := cli.Fprintf(e.Out, "daemon %d, broker %s, for %s\n", w.PID, w.Build.Version, time.Since(w.Status.Since).Round(time.Second)); err != nil {
		return err
	}
	for _, c := range w.Status.Clients {
		if _, err := cli.Fprintf(e.Out, "  client %d in %s, for %s\n", c.PID, c.Dir, time.Since(c.Since).Round(time.Second)); err != nil {
			return err
		}
	}
	_, err = cli.Fprintf(e.Out, "log: %s\n", daemon.LogPath(state))
	return err
}

func daemonStop(e *env) error {
	pid, state, err := e.client(application.Overrides{}).StopDaemon()
	if err != nil {
		return err
	}
	if pid == 0 {
		_, err := cli.Fprintf(e.Out, "no daemon is running for %s\n", state)
		return err
	}
	_, err = cli.Fprintf(e.Out, "stopped daemon %d\n", pid)
	return err
}

// daemonRestartOptions are the options of broker daemon restart.
type daemonRestartOptions struct {
	clients serveFlags
}

func daemonRestartCommand(e *env) *cobra.Command {
	o := &daemonRestartOptions{}
	c := &cobra.Command{
		Use: "restart", Short: "Restart the daemon, with the flags of this command", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	o.clients.add(c, e)
	return c
}

func (o *daemonRestartOptions) run(ctx context.Context, e *env) error {
	if err := checkMode(o.clients.mode); err != nil {
		return err
	}
	return daemonRestart(ctx, e, o.clients)
}

func daemonRestart(ctx context.Context, e *env, clients serveFlags) error {
	client := e.client(clients.overrides())
	settings, err := client.Settings()
	if err != nil {
		return err
	}
	if p, err := servicePlan(e, serviceName, clients, settings); err == nil {
		if _, err := runManager(ctx, p.Status); err == nil {
			if err := runAll(ctx, p.Restart); err != nil {
				return err
			}
			_, err := cli.Fprintf(e.Out, "%s has restarted it\n", p.Manager)
			return err
		}
	}
	pid, err := client.RestartDaemon(ctx, settings)
	if err != nil {
		return err
	}
	_, err = cli.Fprintf(e.Out, "started daemon %d\n", pid)
	return err
}

// logTail is how many lines of the daemon's log are shown.
const logTail = 50

func daemonLogs(e *env) error {
	_, state, err := askDaemon(e, daemon.OpStatus)
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
		if _, err := cli.Fprintln(e.Out, line); err != nil {
			return err
		}
	}
	return nil
}
