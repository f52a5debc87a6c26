// Command broker is one MCP server in front of many: it connects to the
// servers of a config file, lets a model search their tools, and runs the
// scripts that the model writes in a sandbox. Type "broker help" for the
// commands.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func main() {
	if helped() {
		return
	}
	os.Exit(runProcess())
}

// helped reports whether this process is one of the broker's helpers, and has
// then been that to its end. A sandbox, the guard and the launcher of a compiler
// are this same program, started again: nothing else of it may run there first.
func helped() bool {
	switch {
	case worker.IsChild():
		worker.Main()
	case launch.IsGuard():
		launch.GuardMain()
	case typecheck.IsLauncher():
		typecheck.Launch()
	default:
		return false
	}
	return true
}

// runProcess runs the command line of this process and returns its exit code.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the default is back, so that a second one kills.
	context.AfterFunc(ctx, stop)
	if a, client, ok := bridgeApp(os.Args[1:]); ok {
		return endWith(a, nil, client.Serve(ctx, a.In, a.protocol))
	}
	a := &env{IO: cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, protocol: os.Stdout}
	return runArgs(ctx, a, os.Args[1:])
}

func runArgs(ctx context.Context, e *env, args []string) int {
	defer e.Filter()()
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") { // without the other commands
		return endWith(e, nil, printVersion(e))
	}
	root := newRoot(e)
	e.RepeatFlags(everyName(root), e.given)
	root.SetArgs(args)
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return endWith(e, cmd, err)
}

// endWith reports the error of a command, if there is one, and returns its exit code.
func endWith(e *env, cmd *cobra.Command, err error) int {
	if err == nil {
		return cli.ExitOK
	}
	err = ownError(err)
	code := cli.ExitFailed
	coded, ok := errors.AsType[*cli.ExitError](err)
	if ok {
		code = coded.Code
	} else if _, ok := errors.AsType[*config.Report](err); ok || errors.Is(err, config.ErrNoConfig) {
		code = cli.ExitUsage
	}
	if code == cli.ExitUsage && cmd != nil && (cli.CommandName(cmd) == "exec" || cli.CommandName(cmd) == "run") && !(ok && coded.Script) {
		code = cli.ExitExecUsage
	}
	printError(e, err)
	return code
}

// printError prints an error once. The lines of a config report begin with the
// place of each mistake, where editors look for it.
func printError(e *env, err error) {
	if report, ok := err.(*config.Report); ok {
		cli.Fprintln(e.Err, cli.Lines(report.Error()))
		return
	}
	before := "broker: "
	if _, ok := errors.AsType[*config.Report](err); ok {
		before = ""
	}
	cli.FprintError(e.Err, before, err)
}
