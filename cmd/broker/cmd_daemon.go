package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

func (a *app) daemonCommand() *cobra.Command {
	return group("daemon", "Manage the process that serves all stdio clients",
		a.daemonRunCommand(),
		&cobra.Command{
			Use: "status", Short: "Show whether a daemon runs, and its clients", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.daemonStatus() },
		},
		&cobra.Command{
			Use: "stop", Short: "Stop the daemon; clients start another one with their next request", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.daemonStop() },
		},
		&cobra.Command{
			Use: "logs", Short: "Print the last lines of the daemon's log", Args: noArgs,
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
		Long: "Run the daemon in the foreground. \"broker serve\" starts one when it is needed, so that nobody has to.\n" +
			"It ends some minutes after its last client.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context(), idle) },
	}
	c.Flags().DurationVar(&idle, "idle", daemonIdle, "how long to stay after the last client")
	a.serveFlags(c)
	return c
}

// runDaemon claims the place first, so that clients wait for this process and do
// not start more, and opens everything else then.
func (a *app) runDaemon(ctx context.Context, idle time.Duration) error {
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
		sayln(a.stderr, lines("broker: "+err.Error()))
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
	s.broker.StartSoon(ctx)
	_, stop := a.watch(ctx, s)
	done := a.logLayers(ctx, s)
	err = d.Serve(ctx, &daemonHost{settings: settings, server: s.broker.Server("stdio")}, idle)
	done()
	stop()
	return errors.Join(err, s.close())
}

// A daemonHost serves the clients of a daemon.
type daemonHost struct {
	settings daemonSettings
	server   *mcp.Server
}

func (h *daemonHost) Accepts(hello daemon.Hello) string { return h.settings.differ(hello) }

func (h *daemonHost) Converse(ctx context.Context, c *daemon.Conversation) {
	_ = surface.ServeLines(ctx, h.server, surface.Peer{ID: c.ID, Dir: c.Hello.Dir}, c, c)
}

// daemonSettings are what a client and the daemon must agree on: otherwise one
// client would be served by the config, or with the secrets, of another.
type daemonSettings struct {
	state string
	flags map[string]string
	env   map[string]string // the variables that the config names
}

func (a *app) daemonSettings() (daemonSettings, error) {
	path, err := config.Find(a.configPath)
	if err != nil {
		return daemonSettings{}, err
	}
	state, err := config.StateDir(a.stateDir, path)
	if err != nil {
		return daemonSettings{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return daemonSettings{}, err
	}
	env := make(map[string]string)
	for _, name := range config.Variables(data) {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return daemonSettings{state, a.servingFlags(path), env}, nil
}

// differ says in what a client differs from this daemon. It names variables, and
// never shows their values.
func (s daemonSettings) differ(h daemon.Hello) string {
	for name, value := range s.flags {
		if h.Settings[name] != value {
			return fmt.Sprintf("the daemon runs with another %s", name)
		}
	}
	var names []string
	for name, value := range h.Env {
		if own, ok := os.LookupEnv(name); !ok || own != value {
			names = append(names, name)
		}
	}
	for name := range s.env {
		if _, ok := h.Env[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return "the daemon runs with other values of " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
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
	path, err := config.Find(a.configPath)
	if err != nil && a.stateDir == "" {
		return nil, "", err
	}
	state, err := config.StateDir(a.stateDir, path)
	if err != nil {
		return nil, "", err
	}
	build, err := a.build()
	if err != nil {
		return nil, "", err
	}
	w, err := daemon.Ask(state, op, build)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state, nil
	}
	return &w, state, err
}

func (a *app) daemonStatus() error {
	w, state, err := a.askDaemon(daemon.OpStatus)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"running": w != nil, "stateDir": state, "daemon": w})
	}
	if w == nil {
		_, err := say(a.stdout, "no daemon is running for %s\n", state)
		return err
	}
	if _, err := say(a.stdout, "daemon %d, broker %s, for %s\n", w.PID, w.Build.Version, time.Since(w.Status.Since).Round(time.Second)); err != nil {
		return err
	}
	for _, c := range w.Status.Clients {
		if _, err := say(a.stdout, "  client %d in %s, for %s\n", c.PID, c.Dir, time.Since(c.Since).Round(time.Second)); err != nil {
			return err
		}
	}
	_, err = say(a.stdout, "log: %s\n", daemon.LogPath(state))
	return err
}

func (a *app) daemonStop() error {
	w, state, err := a.askDaemon(daemon.OpStop)
	if err != nil {
		return err
	}
	if w == nil {
		_, err := say(a.stdout, "no daemon is running for %s\n", state)
		return err
	}
	_, err = say(a.stdout, "stopped daemon %d\n", w.PID)
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
		if _, err := sayln(a.stdout, line); err != nil {
			return err
		}
	}
	return nil
}
