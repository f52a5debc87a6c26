package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// approveFlags are how the servers of a plugin are approved.
type approveFlags struct {
	yes bool
	env []string
}

func (f *approveFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.yes, "yes", false, "approve the servers that are shown without being asked")
	c.Flags().StringArrayVar(&f.env, "env", nil, "let the servers of the plugin read this variable of the environment; may be repeated")
}

// askFor shows what the servers of a plugin run, and asks on the terminal. command
// is the line that approves them.
func askFor(ctx context.Context, e *env, f approveFlags, command ...string) library.Ask {
	return func(r library.Request) ([]string, error) {
		printRequest(e, r, f.env)
		if f.yes {
			return f.env, nil
		}
		for _, name := range f.env {
			command = append(command, "--env", name)
		}
		for i := range command {
			command[i] = cli.ShellWord(command[i])
		}
		person := e.Person()
		if person == nil {
			return nil, cli.Usagef("the servers of plugin %s need your approval, and nobody can be asked here\nhint: broker plugins %s --yes", r.Plugin, strings.Join(command, " "))
		}
		if yes, err := person.Confirm(ctx, "May they start?", false); err != nil || !yes {
			return nil, errors.New("not approved: nothing was changed")
		}
		return f.env, nil
	}
}

// printRequest shows all that a user has to know before the servers of a plugin
// may start.
func printRequest(e *env, r library.Request, env []string) {
	changed := ""
	if r.Changed {
		changed = ", not as they were approved before"
	}
	cli.Fprintf(e.Err, "plugin %s has %s that broker would use%s:\n", r.Plugin, cli.Count(len(r.Servers), "server"), changed)
	for _, s := range r.Servers {
		cli.Fprintf(e.Err, "  %s\n%s", gate.Terminal(s.Name), runLines(s, env, "    "))
	}
}

// runLines show what a server runs, and which variables it reads of those that it
// names.
func runLines(s library.Run, env []string, indent string) cli.Lines {
	var text strings.Builder
	text.WriteString(indent + "runs   " + gate.Terminal(s.Runs) + "\n")
	for _, v := range s.Reads {
		given := "given"
		if !slices.Contains(env, v) {
			given = "empty for it unless you give it: --env " + v
		}
		text.WriteString(indent + "reads  " + v + ", " + given + "\n")
	}
	return cli.Lines(text.String())
}

// pluginsApproveOptions are the options of broker plugins approve.
type pluginsApproveOptions struct {
	approve approveFlags
}

func pluginsApproveCommand(e *env) *cobra.Command {
	o := &pluginsApproveOptions{}
	c := &cobra.Command{
		Use:   "approve NAME",
		Short: "Allow the servers of a plugin to start",
		Long: "Show what the servers of an installed plugin run or connect to, and ask whether they may. The approval holds for them and for the files of the\n" +
			"plugin as they are now: when one changes, its servers do not start until they are approved again.",
		Args: cli.OneArg("the name of a plugin"),
		RunE: withLibrary(e, func(ctx context.Context, l *library.Library, h *application.Home, args []string) error {
			return o.run(ctx, e, l, h, args)
		}),
	}
	o.approve.add(c)
	return c
}

func (o *pluginsApproveOptions) run(ctx context.Context, e *env, l *library.Library, h *application.Home, args []string) error {
	p, err := l.ApprovePlugin(args[0], askFor(ctx, e, o.approve, "approve", args[0]))
	if err != nil {
		return sourceError(e, err)
	}
	if e.JSON {
		return e.PrintJSON(p)
	}
	if p.Approved == nil {
		_, err := cli.Fprintf(e.Out, "plugin %s has no server that could start\n", p.Name)
		return err
	}
	return printChange(e, h.Switches.String(), "approved", p.Name)
}
