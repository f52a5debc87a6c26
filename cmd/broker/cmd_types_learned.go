package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

func typesLearnedCommand(e *env) *cobra.Command {
	return cli.Group("learned", "Manage output types learned from the results of tools",
		learnedListCommand(e), learnedShowCommand(e), learnedResetCommand(e))
}

// withLearned calls f with the learned types of the config's state directory.
func withLearned(ctx context.Context, e *env, f func(*learned.Store) error) error {
	s := e.setup()
	return ownError(s.WithLearned(ctx, f))
}

func learnedListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tools whose output type was learned", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLearnedList(cmd.Context(), e) },
	}
}

func runLearnedList(ctx context.Context, e *env) error {
	return withLearned(ctx, e, func(s *learned.Store) error {
		list, err := s.List()
		if err != nil {
			return err
		}
		return cli.PrintList(&e.IO, list, "nothing was learned yet: types are learned from the calls of scripts", cli.NewTable("SERVER\tTOOL\tCALLS", func(t learned.Tool) []any { return []any{t.Server, t.Tool, t.Calls} }))
	})
}

// withLearnedOf is withLearned with the types of the tools that args name.
func withLearnedOf(ctx context.Context, e *env, args []string, f func(*learned.Store, []learned.Tool) error) error {
	return withLearned(ctx, e, func(s *learned.Store) error {
		list, err := s.List()
		if err != nil {
			return err
		}
		if list, err = learnedOf(list, args); err != nil {
			return err
		}
		return f(s, list)
	})
}

// learnedOf picks the tools that args name: "server", "server tool" or one name
// in the form server.tool, server/tool or server__tool. If args is empty, it returns all.
func learnedOf(list []learned.Tool, args []string) ([]learned.Tool, error) {
	if len(args) == 0 {
		return list, nil
	}
	var names []string
	var found []learned.Tool
	for _, t := range list {
		forms := []string{t.Server, t.Server + "." + t.Tool, t.Server + "/" + t.Tool, t.Server + "__" + t.Tool}
		names = append(names, forms[0], forms[1])
		if len(args) == 1 && slices.Contains(forms, args[0]) || len(args) == 2 && t.Server == args[0] && t.Tool == args[1] {
			found = append(found, t)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	name := strings.Join(args, ".")
	hint := "broker types learned list"
	slices.Sort(names)
	if near := nearest.Names(name, slices.Compact(names), 2); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return nil, cli.Usagef("nothing was learned of %q\nhint: %s", name, hint)
}

var upToTwo = cli.SomeArgs(0, 2, "a server and a tool")

func learnedShowCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "show [SERVER [TOOL]]", Short: "Print learned types as JSON Schema", Args: upToTwo,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLearnedOf(cmd.Context(), e, args, func(_ *learned.Store, list []learned.Tool) error { return e.PrintJSON(list) })
		},
	}
}

// learnedResetOptions are the options of broker types learned reset.
type learnedResetOptions struct {
	all bool
}

func learnedResetCommand(e *env) *cobra.Command {
	o := &learnedResetOptions{}
	c := &cobra.Command{
		Use: "reset [SERVER [TOOL]]", Short: "Forget learned types, for example after a server was updated", Args: upToTwo,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "forget all")
	return c
}

func (o *learnedResetOptions) run(ctx context.Context, e *env, args []string) error {
	if len(args) == 0 && !o.all {
		return cli.Usagef("which types? Name a server, or --all\nhint: broker types learned list")
	}
	return withLearnedOf(ctx, e, args, func(s *learned.Store, list []learned.Tool) error {
		for _, t := range list {
			if _, err := s.Reset(t.Server, t.Tool); err != nil {
				return err
			}
		}
		if e.JSON {
			return e.PrintJSON(map[string]int{"forgotten": len(list)})
		}
		cli.Fprintf(e.Out, "forgot %s\n", cli.Count(len(list), "type"))
		return nil
	})
}
