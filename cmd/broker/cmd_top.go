package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/top"
)

func topCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Watch servers, executions and writes in a full-screen view",
		Long: "Watch the broker in a full-screen view: its servers with their calls, times and errors of the last minute, executions, the\n" +
			"latest calls that wrote something, and the calls that wait for your approval. It shows the daemon; if none runs, the record.\n\n" +
			"Keys:\n" +
			"  tab, shift-tab    the next section, the one before\n" +
			"  arrows, j, k      the next row, the one before\n" +
			"  enter             show it: an execution as a waterfall of its calls, a server with what it wrote to stderr\n" +
			"  /                 show only the rows that contain a text; esc shows all again\n" +
			"  s                 sort the section in another order\n" +
			"  a, d              approve or deny the calls of the run that is chosen: a code is asked for\n" +
			"  q, ctrl-C         quit\n\n" +
			"If a program that uses the broker has started it, it cannot approve or deny. With NO_COLOR set, it has no colours.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd.Context(), e) },
	}
}

func runTop(ctx context.Context, e *env) error {
	in, _ := e.In.(*os.File)
	o := top.Options{In: in, Out: cli.TerminalOf(e.Out), Colour: os.Getenv("NO_COLOR") == ""}
	if e.JSON || in == nil || !cli.IsTerminal(in) || o.Out == nil || os.Getenv("TERM") == "dumb" {
		return cli.Usagef("broker top needs a terminal: broker tail --follow prints what happens as lines")
	}
	op := daemon.OpConsole
	if name := approver.ClientAbove(); name != "" {
		op, o.MayNot = daemon.OpConsoleShow, "this is below "+name+", and a model must not decide about itself"
	}
	w, _, err := askDaemon(e, op)
	if err != nil {
		return err
	}
	if w == nil {
		return topOfRecord(ctx, e, o)
	}
	o.Connect = func() (string, error) {
		if w == nil { // each answer is good for one connection
			var err error
			if w, _, err = askDaemon(e, op); err != nil || w == nil {
				return "", cmp.Or(err, errors.New("the daemon has stopped"))
			}
		}
		address, err := consoleOf(w)
		w = nil
		return address, err
	}
	return top.Run(ctx, o)
}

// topOfRecord shows what is recorded and the servers as this process sees them: no
// daemon runs.
func topOfRecord(ctx context.Context, e *env, o top.Options) error {
	printed := e.Err
	var said top.Notes
	e.Err, o.Notes = &said, &said
	defer func() { e.Err = printed }()
	return host.Run(ctx, e.options(application.OpenOptions{IgnoreProject: true}), func(ctx context.Context, s *application.App, w *host.Watcher) error {
		ctx, cancel := context.WithCancel(ctx)
		h := host.NewConsole(ctx, s, w, hostOptions())
		defer h.Wait()
		defer cancel()
		o.Connect = func() (string, error) { return h.Open(o.MayNot == "") }
		return top.Run(ctx, o)
	})
}
