package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// daemonVariable switches the daemon "on" or "off".
const daemonVariable = "BROKER_DAEMON"

// sharesDaemon reports whether clients on stdio are served by one process, and
// why not if the user should know. A process that a client confines would confine
// the servers of all others, and one in CI would outlive its job.
func sharesDaemon(getenv func(string) string) (yes bool, why string) {
	for _, name := range []string{"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SANDBOX_RUNTIME"} {
		if getenv(name) != "" {
			return false, "this process is in a sandbox: " + name + " is set"
		}
	}
	switch value := getenv(daemonVariable); value {
	case "on":
		return true, ""
	case "off":
		return false, ""
	case "":
	default:
		return false, daemonVariable + ` is neither "on" nor "off"`
	}
	if ci := getenv("CI"); ci != "" && ci != "false" && ci != "0" {
		return false, ""
	}
	why = confinement()
	return why == "", why
}

// confinement says why a daemon that this process starts would be confined, or
// would not live for long; "" if nothing says so.
func confinement() string {
	if os.Getpid() == 1 || os.Getppid() == 1 && runtime.GOOS == "linux" {
		return "this process is the main one of a container, or of nobody"
	}
	status, err := os.ReadFile("/proc/self/status")
	if err == nil && bytes.Contains(status, []byte("\nSeccomp:\t2\n")) {
		return "this process is in a sandbox: a seccomp filter is on; BROKER_DAEMON=on starts a daemon there"
	}
	return ""
}

// bridgeApp reads a command line that does no more than serve on stdio through
// the daemon. Of all processes of the broker most are these, so they do not
// build the other commands. It reports false for every other command line, also
// one that is wrong.
func bridgeApp(args []string) (*app, bool) {
	if len(args) == 0 || args[0] != "serve" {
		return nil, false
	}
	if yes, _ := sharesDaemon(os.Getenv); !yes {
		return nil, false
	}
	a := &app{IO: cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, protocol: os.Stdout}
	texts := map[string]*string{"--config": &a.configPath, "--state-dir": &a.stateDir, "--mode": &a.mode, "--skills": &a.skillsPath, "--profile": &a.profile}
	switches := map[string]*bool{"--read-only": &a.readOnly, "--verbose": &a.verbose, "-v": &a.verbose}
	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		name, value, given := strings.Cut(rest[0], "=")
		if set := switches[name]; set != nil && !given {
			*set = true
			continue
		}
		set := texts[name]
		if !given && len(rest) > 1 {
			rest = rest[1:]
			value, given = rest[0], true
		}
		if set == nil || !given {
			return nil, false
		}
		*set = value
	}
	return a, checkMode(a.mode) == nil
}

// restTime is how long nothing is written before a bridge or a daemon is at rest.
// The daemon's first answers come while it still lists servers, which is when it
// needs most memory.
const (
	restTime       = time.Second
	daemonRestTime = 15 * time.Second
)

// A resting writer gives memory back when nothing was written for a while: what
// lines, listings and results took, and at first what packages made at the start.
type resting struct {
	out   io.Writer
	rest  *time.Timer
	after time.Duration
}

func (r *resting) Write(p []byte) (int, error) {
	r.rest.Reset(r.after)
	return r.out.Write(p)
}

// serveBridge serves this client through the daemon, which it starts if necessary. If
// the config is invalid, it serves a broker that reports that.
func (a *app) serveBridge(ctx context.Context) error {
	here := func(ctx context.Context, in io.Reader, out io.Writer) error {
		return a.serveHere(ctx, func(ctx context.Context, s *App, _ *watcher) error { return a.serveStdio(ctx, s, in, out) })
	}
	settings, err := a.daemonSettings()
	if err != nil || !application.HasProfile(settings.flags["config"], a.chosenProfile()) || isForPeople(settings.flags["config"]) {
		return here(ctx, a.In, a.protocol)
	}
	build, err := a.build()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, _ := os.Getwd()
	out := &resting{out: a.protocol, rest: time.AfterFunc(restTime, debug.FreeOSMemory), after: restTime}
	defer out.rest.Stop()
	b := &daemon.Bridge{
		In: a.In, Out: out, StateDir: settings.state,
		Hello: daemon.Hello{
			Broker: daemon.Version, Op: daemon.OpServe, Build: build, PID: os.Getpid(), Dir: dir,
			Settings: settings.flags, Env: settings.env,
		},
		Vary: func(h *daemon.Hello) {
			h.Env, _ = a.clientEnv(settings.env, cmp.Or(h.Root, dir), settings.state) // a wrong file is the daemon's to report
		},
		Start: func() (<-chan error, error) {
			return daemon.Start(program, a.daemonArgs(settings), daemonEnv(settings.env), filepath.Dir(settings.flags["config"]), daemon.LogPath(settings.state))
		},
		InProcess: here,
		Say:       func(format string, args ...any) { cli.Fprintf(a.Err, "broker: "+format+"\n", args...) },
	}
	return b.Run(ctx)
}

// servingFlags are the config and the flags that decide what clients get, by
// the names that messages give them.
func (a *app) servingFlags(config string) map[string]string {
	abs, err := filepath.Abs(config)
	if err != nil {
		abs = config
	}
	skills := a.skillsPath
	if skills != "" {
		if p, err := filepath.Abs(skills); err == nil {
			skills = p
		}
	}
	return map[string]string{"config": abs, "mode": a.mode, "skills": skills, "read-only": strconv.FormatBool(a.readOnly), settingProfile: a.chosenProfile()}
}

// daemonArgs is the command line of a daemon that serves as this process would.
func (a *app) daemonArgs(s daemonSettings) []string {
	args := []string{"daemon", "run", "--config", s.flags["config"], "--state-dir", s.state}
	if a.mode != "" {
		args = append(args, "--mode", a.mode)
	}
	if skills := s.flags["skills"]; skills != "" {
		args = append(args, "--skills", skills)
	}
	if a.readOnly {
		args = append(args, "--read-only")
	}
	if a.verbose {
		args = append(args, "--verbose")
	}
	return args
}

// daemonEnv is the environment of a daemon: what servers may inherit, what the
// broker itself reads, and the variables that the config names. The client's
// other variables stay with the client.
func daemonEnv(named map[string]string) []string {
	env := launch.Environment(os.Environ(), nil)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name == profileVariable { // it is the client's, see settingProfile
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
