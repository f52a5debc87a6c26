package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/service"
)

// serviceOptions are the options of broker service and the commands below it.
type serviceOptions struct {
	name    string
	clients serveFlags
}

func serviceCommand(e *env) *cobra.Command {
	o := &serviceOptions{}
	install := &cobra.Command{
		Use: "install", Short: "Start the daemon when you log in", Args: cli.NoArgs,
		Long: "Start the daemon when you log in, through systemd, launchd or the Task Scheduler, and now. The service runs with the\n" +
			"config and the flags of this command, and with the PATH of this shell; it does not end when it has no clients.\n" +
			"Where the service manager does not run, the file is written and the commands are printed.",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.install(cmd.Context(), e) },
	}
	o.clients.add(install, e)
	uninstall := &cobra.Command{
		Use: "uninstall", Short: "Stop the daemon, and do not start it when you log in", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withInstalled(e, o.name, func(p service.Plan) error { return serviceUninstall(cmd.Context(), e, p) })
		},
	}
	status := &cobra.Command{
		Use: "status", Short: "Show whether the service is installed and runs", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withInstalled(e, o.name, func(p service.Plan) error { return serviceStatus(cmd.Context(), e, p) })
		},
	}
	c := cli.Group("service", "Manage the service that runs the daemon", install, uninstall, status)
	c.PersistentFlags().StringVar(&o.name, "name", serviceName, "the name of the service; each config needs another one")
	return c
}

func (o *serviceOptions) install(ctx context.Context, e *env) error {
	settings, err := e.client(o.clients.overrides()).Settings()
	if err != nil {
		return err
	}
	return withService(e, o.name, o.clients, settings, func(p service.Plan) error { return serviceInstall(ctx, e, p) })
}

// serviceName is that of the service unless another one is given.
const serviceName = "mcpbroker"

// withInstalled is withService for a service whose config may be gone.
func withInstalled(e *env, name string, do func(service.Plan) error) error {
	path, _, err := config.Target(e.configPath)
	if err != nil {
		return err
	}
	settings, err := e.client(application.Overrides{}).SettingsOf(path)
	if err != nil {
		return err
	}
	return withService(e, name, serveFlags{}, settings, do)
}

// withService calls do with the plan of the service.
func withService(e *env, name string, clients serveFlags, settings host.Settings, do func(service.Plan) error) error {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" || strings.HasPrefix(name, "-") {
		return cli.Usagef("%q cannot be the name of a service: use letters, digits, hyphens and dots", name)
	}
	if err := checkMode(clients.mode); err != nil {
		return err
	}
	p, err := servicePlan(e, name, clients, settings)
	if err != nil {
		return err
	}
	return do(p)
}

func servicePlan(e *env, name string, clients serveFlags, settings host.Settings) (service.Plan, error) {
	program, err := os.Executable()
	if err != nil {
		return service.Plan{}, err
	}
	me, err := user.Current()
	if err != nil {
		return service.Plan{}, err
	}
	env := make(map[string]string)
	for _, name := range []string{"PATH", "BROKER_KEYRING"} {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
	return service.For(runtime.GOOS, service.Spec{
		Name: name, Description: "MCP broker of " + settings.Config(),
		Program: program, Args: append(e.client(clients.overrides()).Args(settings), "--idle", "0"),
		Env: env, Dir: filepath.Dir(settings.Config()), Log: daemon.LogPath(settings.StateDir),
	}, service.User{
		Home: me.HomeDir, ConfigHome: os.Getenv("XDG_CONFIG_HOME"), ID: me.Uid, Name: me.Username, StateDir: settings.StateDir,
	})
}

func serviceInstall(ctx context.Context, e *env, p service.Plan) error {
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
		return err
	}
	ready := managerRuns(ctx, p)
	if ready {
		for _, words := range p.Before { // an earlier one, if there is one
			_, _ = runManager(ctx, words)
		}
	}
	f, err := atomicfile.Create(p.Path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(p.Data); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	cli.Fprintf(e.Out, "wrote %s\n", p.Path)
	if !ready {
		return serviceByHand(e, p, p.Install)
	}
	if _, _, err := askDaemon(e, daemon.OpStop); err != nil { // the service is to have its place
		return err
	}
	if err := runAll(ctx, p.Install); err != nil {
		return err
	}
	_, err = cli.Fprintf(e.Out, "%s starts it when you log in, and has started it now\n", p.Manager)
	return err
}

func serviceUninstall(ctx context.Context, e *env, p service.Plan) error {
	if _, err := os.Stat(p.Path); errors.Is(err, fs.ErrNotExist) {
		_, err := cli.Fprintf(e.Out, "no service is installed at %s\n", p.Path)
		return err
	}
	ready := managerRuns(ctx, p)
	if ready {
		if err := runAll(ctx, p.Uninstall); err != nil {
			cli.Fprintf(e.Err, "broker: %v\n", err) // it was not running, and the file goes all the same
		}
	}
	if err := os.Remove(p.Path); err != nil {
		return err
	}
	cli.Fprintf(e.Out, "removed %s\n", p.Path)
	if !ready {
		return serviceByHand(e, p, append(p.Uninstall, p.After...))
	}
	return runAll(ctx, p.After)
}

// serviceByHand says what is left to do where the manager does not run.
func serviceByHand(e *env, p service.Plan, commands [][]string) error {
	if _, err := cli.Fprintf(e.Out, "%s does not run here; where it does, run:\n", p.Manager); err != nil {
		return err
	}
	for _, words := range commands {
		if _, err := cli.Fprintf(e.Out, "  %s\n", strings.Join(words, " ")); err != nil {
			return err
		}
	}
	return nil
}

func serviceStatus(ctx context.Context, e *env, p service.Plan) error {
	_, err := os.Stat(p.Path)
	installed := err == nil
	running := false
	if installed {
		_, err := runManager(ctx, p.Status)
		running = err == nil
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"manager": p.Manager, "file": p.Path, "installed": installed, "running": running})
	}
	switch {
	case !installed:
		_, err = cli.Fprintf(e.Out, "no service is installed at %s\n", p.Path)
	case !running:
		_, err = cli.Fprintf(e.Out, "%s is installed; %s does not run it\n", p.Path, p.Manager)
	default:
		_, err = cli.Fprintf(e.Out, "%s is installed; %s runs it\n", p.Path, p.Manager)
	}
	return err
}

// managerRuns reports whether the service manager is there and answers.
func managerRuns(ctx context.Context, p service.Plan) bool {
	if _, err := exec.LookPath(p.Status[0]); err != nil {
		return false
	}
	if runtime.GOOS != "linux" {
		return true
	}
	_, err := runManager(ctx, []string{"systemctl", "--user", "show-environment"})
	return err == nil
}

func runAll(ctx context.Context, commands [][]string) error {
	for _, words := range commands {
		if out, err := runManager(ctx, words); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, gate.Cut(gate.Line(string(out)), 300))
		}
	}
	return nil
}

// managerTime is how long one command of a service manager may take.
const managerTime = 30 * time.Second

func runManager(ctx context.Context, words []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTime)
	defer cancel()
	return exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
}
