package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// An updated is the JSON output of "broker servers update".
type updated struct {
	Server  string `json:"server"`
	Package string `json:"package"`
	Old     string `json:"old"`
	New     string `json:"new"`
}

func serversUpdateCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "update NAME",
		Short: "Use the newer version of a server's package that is held back",
		Long: "Use the newer version of a server's package that is held back from the next start on. The broker looks for newer versions\n" +
			"once a day, and starts each beside the one in use to compare its tools with the pins. A version with a part that the\n" +
			"pins would hold back, or one that does not start, waits for this command; \"broker servers list\" and \"broker doctor\" show it.",
		Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error { return runServersUpdate(e, args) },
	}
}

func runServersUpdate(e *env, args []string) error {
	cfg, err := e.loadServers()
	if err != nil {
		return err
	}
	state, err := e.stateOf(cfg.Path)
	if err != nil {
		return err
	}
	s, err := cli.KnownServer(cfg, args[0], "update")
	if err != nil {
		return err
	}
	spec, err := packages.Parse(s.Command, s.Args)
	switch {
	case errors.Is(err, packages.ErrNotPlain):
		return cli.Usagef("server %q has no package to update: it %w", s.Name, err)
	case err != nil:
		return err
	case spec.Exact():
		return cli.Usagef("the config fixes the version of server %q: %s", s.Name, spec.Version)
	}
	store := packages.Open(state, nil)
	defer store.Close()
	u := updated{Server: s.Name, Package: spec.Name, Old: store.Version(spec)}
	if u.New, err = store.Accept(spec); err != nil {
		return cli.Usagef("server %q is not updated: %w", s.Name, err)
	}
	if e.JSON {
		return e.PrintJSON(u)
	}
	cli.Fprintf(e.Out, "%s: %s %s is used from its next start on, in place of %s\n", u.Server, u.Package, u.New, u.Old)
	cli.Fprintf(e.Out, "to see what the pins then hold back: broker pins diff %s\n", u.Server)
	return nil
}
