package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// UnknownCommand names what is nearest to a command that does not exist.
func UnknownCommand(cmd *cobra.Command, name string) error {
	if line := showsKnown(cmd, name); line != "" {
		return Usagef("%s", Lines(fmt.Sprintf("unknown command %q\nhint: %s", name, line)))
	}
	return UnknownName(name, CommandNames(cmd), "broker help lists the commands")
}

// CommandNames returns the names of the commands below cmd that help lists.
func CommandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func UnknownName(name string, known []string, hint string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if near := nearest.Names(name, known, 2); len(near) > 0 {
		hint = "did you mean \"" + strings.Join(near, `" or "`) + "\"?"
	}
	return Usagef("%s", Lines(text+"\nhint: "+hint))
}

// Group returns a command that only holds others.
func Group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(children...)
	return c
}

// CommandName returns the name of a command for messages, which begin with the program's
// name.
func CommandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// NoArgs checks that there are no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no argument, got %q\nhint: %s --help", CommandName(cmd), args[0], cmd.CommandPath())
	}
	return nil
}

func OneArg(what string) cobra.PositionalArgs { return SomeArgs(1, 1, what) }

// SomeArgs checks the number of arguments, which what describes; a negative most means
// no limit.
func SomeArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s needs %s\nhint: %s --help", CommandName(cmd), what, cmd.CommandPath())
		case most >= 0 && len(args) > most:
			return Usagef("%s takes %s, got %q too\nhint: %s --help", CommandName(cmd), what, args[most], cmd.CommandPath())
		}
		return nil
	}
}

// showing are the commands of groups that show one thing, the best first.
var showing = []string{"show", "explain", "diff", "list", "test"}

// showsKnown returns the command line of a group that shows the known thing of a name,
// such as "broker tools show ID"; it is empty if the name is unknown. Shells complete the
// same names, and so it starts no server.
func showsKnown(group *cobra.Command, name string) string {
	for _, verb := range showing {
		for _, c := range group.Commands() {
			if c.Name() != verb || c.ValidArgsFunction == nil {
				continue
			}
			list, _ := c.ValidArgsFunction(c, nil, name)
			for _, known := range list {
				id, _, _ := strings.Cut(known, "\t")
				if id == name || strings.HasPrefix(name, "r_") && strings.HasPrefix(id, name) { // runs go by how they begin
					return c.CommandPath() + " " + gate.Terminal(name)
				}
			}
		}
	}
	return ""
}
