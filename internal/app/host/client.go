package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// A Client uses the daemon of a config, which it starts if necessary, or is that daemon.
type Client struct {
	app.OpenOptions
	// Verbose is passed on to a daemon that it starts.
	Verbose bool
}

// settingProfile is the setting in which clients of one daemon may differ.
const settingProfile = "profile"

// Settings are what a client and the daemon must agree on: otherwise one client would be
// served by the config, or with the secrets, of another.
type Settings struct {
	StateDir string
	Flags    map[string]string
	Env      map[string]string // PATH and the variables that the config names
}

// Config returns the path of the config.
func (s Settings) Config() string { return s.Flags["config"] }

// differ returns in what the flags of a client differ from those of this daemon, or "".
func (s Settings) differ(h daemon.Hello) string {
	for name, value := range s.Flags {
		if name != settingProfile && h.Settings[name] != value {
			return fmt.Sprintf("the daemon runs with another %s", name)
		}
	}
	return ""
}

// Settings returns the settings of this process.
func (c *Client) Settings() (Settings, error) {
	path, err := config.Find(c.ConfigPath)
	if err != nil {
		return Settings{}, err
	}
	return c.SettingsOf(path)
}

// SettingsOf is Settings for a config that may be missing.
func (c *Client) SettingsOf(path string) (Settings, error) {
	state, err := c.StateOf(path)
	if err != nil {
		return Settings{}, err
	}
	names, err := namedVariables(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Settings{}, err
	}
	env := make(map[string]string)
	for _, name := range append(names, pathVariable) {
		if value, ok := c.Sources.Env(name); ok {
			env[name] = value
		}
	}
	return Settings{state, c.flags(path), env}, nil
}

// namedVariables returns the variables that a config names.
func namedVariables(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return config.Variables(data), nil
}

// flags returns the config and the flags that decide what clients get, by the names that
// messages give them.
func (c *Client) flags(config string) map[string]string {
	abs, err := filepath.Abs(config)
	if err != nil {
		abs = config
	}
	skills := c.SkillsPath
	if skills != "" {
		if p, err := filepath.Abs(skills); err == nil {
			skills = p
		}
	}
	return map[string]string{"config": abs, "mode": c.Mode, "skills": skills, "read-only": strconv.FormatBool(c.ReadOnly), settingProfile: c.Profile}
}

// Args returns the command line of a daemon that serves as this process would.
func (c *Client) Args(s Settings) []string {
	args := []string{"daemon", "run", "--config", s.Config(), "--state-dir", s.StateDir}
	if c.Mode != "" {
		args = append(args, "--mode", c.Mode)
	}
	if skills := s.Flags["skills"]; skills != "" {
		args = append(args, "--skills", skills)
	}
	if c.ReadOnly {
		args = append(args, "--read-only")
	}
	if c.Verbose {
		args = append(args, "--verbose")
	}
	return args
}

// environ returns the environment of a daemon: what servers may inherit, what the broker
// itself reads, and the variables that the config names. The client's other variables stay
// with the client.
func (c *Client) environ(named map[string]string) []string {
	env := launch.Environment(c.Environ(), nil)
	for _, kv := range c.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name == app.ProfileVariable { // it is the client's, see settingProfile
			continue
		}
		if strings.HasPrefix(name, "BROKER_") || name == "DBUS_SESSION_BUS_ADDRESS" || name == "SSH_AUTH_SOCK" {
			env = append(env, kv)
		}
	}
	for name, value := range named {
		env = append(env, name+"="+value)
	}
	return env
}

// Start starts a daemon. The channel receives its error when it has ended.
func (c *Client) Start(s Settings) (ended <-chan error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return daemon.Start(program, c.Args(s), c.environ(s.Env), filepath.Dir(s.Config()), daemon.LogPath(s.StateDir))
}

// Ask asks the daemon of this config something; the Welcome is nil if none runs. It returns
// the state directory too.
func (c *Client) Ask(op string) (*daemon.Welcome, string, error) {
	// A daemon may outlive its config, and is then still to be stopped.
	_, missing := config.Find(c.ConfigPath)
	path, _, err := config.Target(c.ConfigPath)
	if err != nil && c.StateDir == "" {
		return nil, "", err
	}
	state, err := c.StateOf(path)
	if err != nil {
		return nil, "", err
	}
	build, err := c.Build()
	if err != nil {
		return nil, "", err
	}
	w, err := daemon.Ask(state, op, build)
	if errors.Is(err, fs.ErrNotExist) {
		if missing != nil && c.ConfigPath != "" && c.StateDir == "" { // the path may be wrong
			return nil, "", missing
		}
		return nil, state, nil
	}
	return &w, state, err
}

// running reports whether a daemon answers.
func (c *Client) running() bool {
	w, _, err := c.Ask(daemon.OpStatus)
	return err == nil && w != nil
}

// aheadTime bounds how long a command waits for the daemon that it starts.
const aheadTime = 5 * time.Second

// startInterval is how often a daemon that starts is asked whether it answers.
const startInterval = 20 * time.Millisecond

// EnsureDaemon starts the daemon of this config unless it runs, so that it goes on with what
// this process does not wait for. It reports whether one runs.
func (c *Client) EnsureDaemon(ctx context.Context) bool {
	if yes, _ := SharesDaemon(c.Getenv); !yes {
		return false
	}
	settings, err := c.Settings()
	if err != nil || c.ServesPeople(settings.Config()) {
		return false
	}
	if c.running() {
		return true
	}
	ended, err := c.Start(settings)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, aheadTime)
	defer cancel()
	tick := time.NewTicker(startInterval)
	defer tick.Stop()
	for {
		select {
		case <-ended: // another one may have taken the place
			return c.running()
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
		if c.running() {
			return true
		}
	}
}

// stopTime bounds the wait for a daemon that ends its servers and closes its databases.
const stopTime = 20 * time.Second

// StopDaemon ends the daemon and waits for that. It returns its process, or 0 if none runs,
// and the state directory.
func (c *Client) StopDaemon() (pid int, state string, err error) {
	w, state, err := c.Ask(daemon.OpStop)
	if err != nil || w == nil {
		return 0, state, err
	}
	if !daemon.Ended(w.PID, stopTime) {
		return 0, state, app.Errorf("broker daemon logs", "daemon %d still runs %s after it was asked to stop", w.PID, stopTime)
	}
	return w.PID, state, nil
}

// restartTime is how long a daemon may take to end and another one to start.
const restartTime = 30 * time.Second

// RestartDaemon stops the daemon, if it runs, and starts one as this process would serve. It
// returns the process of the new one.
func (c *Client) RestartDaemon(ctx context.Context, settings Settings) (pid int, err error) {
	stopped, _, err := c.Ask(daemon.OpStop)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	var ended <-chan error
	wait := time.NewTicker(startInterval)
	defer wait.Stop()
	for {
		if ended == nil { // the last one may still hold the place
			if ended, err = c.Start(settings); err != nil {
				return 0, err
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				return 0, fmt.Errorf("the daemon did not start: %w: see %s", err, daemon.LogPath(settings.StateDir))
			}
			ended = nil
		case <-wait.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("the daemon did not answer within %v: see %s", restartTime, daemon.LogPath(settings.StateDir))
		}
		if w, _, err := c.Ask(daemon.OpStatus); err == nil && w != nil && (stopped == nil || w.PID != stopped.PID) {
			return w.PID, nil
		}
	}
}

// Serve serves one client on in and out through the daemon, which it starts if necessary. If
// the config is invalid, it serves a broker that reports that.
func (c *Client) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	here := func(ctx context.Context, in io.Reader, out io.Writer) error {
		return RunStdio(ctx, c.OpenOptions, in, out)
	}
	settings, err := c.Settings()
	if err != nil || !app.HasProfile(settings.Config(), c.Profile) || c.ServesPeople(settings.Config()) {
		return here(ctx, in, out)
	}
	build, err := c.Build()
	if err != nil {
		return err
	}
	dir, _ := os.Getwd()
	r := newRest(BridgeRestTime)
	defer r.stop()
	b := &daemon.Bridge{
		In: in, Out: r.writer(out), StateDir: settings.StateDir,
		Hello: daemon.Hello{
			Broker: daemon.Version, Op: daemon.OpServe, Build: build, PID: os.Getpid(), Dir: dir,
			Settings: settings.Flags, Env: settings.Env,
		},
		Vary: func(h *daemon.Hello) {
			h.Env, _ = c.clientEnv(settings.Env, cmp.Or(h.Root, dir), settings.StateDir) // a wrong file is the daemon's to report
		},
		Start:     func() (<-chan error, error) { return c.Start(settings) },
		InProcess: here,
		Say:       func(format string, args ...any) { c.Print(fmt.Sprintf("broker: "+format, args...)) },
	}
	return b.Run(ctx)
}

// clientEnv returns the variables that go with a client to the daemon: those that the
// config names, and those that a trusted project reads.
func (c *Client) clientEnv(named map[string]string, dir, state string) (map[string]string, error) {
	p, err := app.OpenProject(app.ProjectPath(app.ProjectFolder(dir)), state)
	if err != nil || p == nil || !p.Trusted {
		return named, err
	}
	env := make(map[string]string)
	maps.Copy(env, named)
	for _, s := range p.Enabled() {
		variables, _ := s.Reads()
		for _, name := range variables {
			if value, ok := c.Sources.Env(name); ok {
				env[name] = value
			}
		}
	}
	return env, nil
}
