package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/gate"
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

// daemonIdle is how long a daemon stays after its last client.
const daemonIdle = 10 * time.Minute

func (a *app) daemonRunCommand() *cobra.Command {
	var idle time.Duration
	c := &cobra.Command{
		Use: "run", Short: "Run the daemon in the foreground",
		Long: "Run the daemon in the foreground. \"broker serve\" starts one when it is needed.\n" +
			"It ends some minutes after its last client.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context(), idle) },
	}
	c.Flags().DurationVar(&idle, "idle", daemonIdle, "how long to run after the last client has left; 0 means forever")
	a.serveFlags(c)
	return c
}

// runDaemon claims the place first, so that clients wait for this process and do
// not start more, and opens everything else then.
func (a *app) runDaemon(ctx context.Context, idle time.Duration) error {
	a.nowhere = true
	settings, err := a.daemonSettings()
	if err != nil {
		return err
	}
	build, err := a.build()
	if err != nil {
		return err
	}
	d, err := daemon.Claim(settings.state, build, a.logger())
	if errors.Is(err, daemon.ErrRunning) {
		cli.Fprintln(a.Err, cli.Lines("broker: "+err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	s, err := a.openServing(ctx)
	if err != nil {
		d.Refuse(err.Error())
		return err
	}
	defer a.serveMetrics(s)()
	s.Broker.StartSoon(ctx)
	w, stop := a.watch(ctx, s)
	done := a.logLayers(ctx, s)
	if idle <= 0 {
		idle = math.MaxInt64
	}
	browsing, endBrowsing := context.WithCancel(ctx)
	defer endBrowsing()
	host := newDaemonHost(a, s, settings, func() { s.RetryFailed(ctx) })
	host.current = w.current
	host.console = consoleHost{a: a, ctx: browsing, session: s, watcher: w}
	look := make(chan struct{})
	go func() {
		defer close(look)
		host.watch(browsing, watchEvery)
	}()
	err = d.Serve(ctx, host, idle)
	host.rest.Stop()
	endBrowsing()
	<-look
	host.console.serving.Wait()
	host.adopting.Wait()
	done()
	stop()
	return errors.Join(err, s.Close())
}

// OpenConsole implements daemon.Opener.
func (h *daemonHost) OpenConsole(changes bool) (string, error) { return h.console.open(changes) }

// Watched implements daemon.Opener.
func (h *daemonHost) Watched() bool { return api.Watched() }

// Report implements daemon.Reporter.
func (h *daemonHost) Report() json.RawMessage {
	return gate.Compact(h.console.session.Root.Upstream().Report())
}

// RetryFailed connects anew to the servers that could not be connected.
func (s *App) RetryFailed(ctx context.Context) {
	var names []string
	for _, st := range s.Root.Status() {
		if st.State == upstream.StateFailed {
			names = append(names, st.Name)
		}
	}
	if len(names) > 0 {
		s.Root.Refresh(ctx, names...)
	}
}

// settingProfile is the setting in which clients of one daemon may differ.
const settingProfile = "profile"

// daemonSettings are what a client and the daemon must agree on: otherwise one
// client would be served by the config, or with the secrets, of another.
type daemonSettings struct {
	state string
	flags map[string]string
	env   map[string]string // PATH and the variables that the config names
}

func (a *app) daemonSettings() (daemonSettings, error) {
	path, err := config.Find(a.configPath)
	if err != nil {
		return daemonSettings{}, err
	}
	return a.daemonSettingsOf(path)
}

func (a *app) daemonSettingsOf(path string) (daemonSettings, error) {
	state, err := a.stateOf(path)
	if err != nil {
		return daemonSettings{}, err
	}
	names, err := namedVariables(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return daemonSettings{}, err
	}
	env := make(map[string]string)
	for _, name := range append(names, pathVariable) {
		if value, ok := lookupVariable(name); ok {
			env[name] = value
		}
	}
	return daemonSettings{state, a.servingFlags(path), env}, nil
}

// namedVariables are those that a config names.
func namedVariables(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return config.Variables(data), nil
}

// differ says in what the flags of a client differ from those of this daemon.
func (s daemonSettings) differ(h daemon.Hello) string {
	for name, value := range s.flags {
		if name != settingProfile && h.Settings[name] != value {
			return fmt.Sprintf("the daemon runs with another %s", name)
		}
	}
	return ""
}

func (a *app) build() (daemon.Build, error) {
	path, err := os.Executable()
	if err != nil {
		return daemon.Build{}, err
	}
	return daemon.BuildOf(path, version)
}

// askDaemon asks the daemon of this config something; nil means that none runs.
func (a *app) askDaemon(op string) (*daemon.Welcome, string, error) {
	// A daemon may outlive its config, and is then still to be stopped.
	_, missing := config.Find(a.configPath)
	path, _, err := config.Target(a.configPath)
	if err != nil && a.stateDir == "" {
		return nil, "", err
	}
	state, err := a.stateOf(path)
	if err != nil {
		return nil, "", err
	}
	build, err := a.build()
	if err != nil {
		return nil, "", err
	}
	w, err := daemon.Ask(state, op, build)
	if errors.Is(err, fs.ErrNotExist) {
		if missing != nil && a.configPath != "" && a.stateDir == "" { // the path may be wrong
			return nil, "", missing
		}
		return nil, state, nil
	}
	return &w, state, err
}

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
	w, state, err := a.askDaemon(daemon.OpStop)
	if err != nil {
		return err
	}
	if w == nil {
		_, err := cli.Fprintf(a.Out, "no daemon is running for %s\n", state)
		return err
	}
	if !daemon.Ended(w.PID, stopTime) {
		return cli.Errorf("daemon %d still runs %s after it was asked to stop\nhint: broker daemon logs", w.PID, stopTime)
	}
	_, err = cli.Fprintf(a.Out, "stopped daemon %d\n", w.PID)
	return err
}

// stopTime bounds the wait for a daemon that ends its servers and closes its databases.
const stopTime = 20 * time.Second

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
	settings, err := a.daemonSettings()
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
	stopped, _, err := a.askDaemon(daemon.OpStop)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	var ended <-chan error
	wait := time.NewTicker(20 * time.Millisecond)
	defer wait.Stop()
	for {
		if ended == nil { // the last one may still hold the place
			if ended, err = daemon.Start(program, a.daemonArgs(settings), daemonEnv(settings.env), filepath.Dir(settings.flags["config"]), daemon.LogPath(settings.state)); err != nil {
				return err
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("the daemon did not start: %w: see %s", err, daemon.LogPath(settings.state))
			}
			ended = nil
		case <-wait.C:
		case <-ctx.Done():
			return fmt.Errorf("the daemon did not answer within %v: see %s", restartTime, daemon.LogPath(settings.state))
		}
		if w, _, err := a.askDaemon(daemon.OpStatus); err == nil && w != nil && (stopped == nil || w.PID != stopped.PID) {
			_, err := cli.Fprintf(a.Out, "started daemon %d\n", w.PID)
			return err
		}
	}
}

// restartTime is how long a daemon may take to end and another one to start.
const restartTime = 30 * time.Second

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
