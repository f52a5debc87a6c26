package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

func serversPinCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "pin NAME",
		Short: "Write the version of a server's package into servers.json",
		Long: "Write the current version of a server's package into servers.json, so that it stays. Otherwise the broker looks for a newer\n" +
			"version once a day and uses it from the next start on, unless the pins would hold back a part of it: \"broker servers update\".",
		Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error { return runServersPin(e, args) },
	}
}

func runServersPin(e *env, args []string) error {
	_, state, err := e.loadWithState()
	if err != nil {
		return err
	}
	store := packages.Open(state, nil)
	defer store.Close()
	return clientSetup(e).EditServer(args[0], "pin", "pinned", func(data []byte, s *config.Server) ([]byte, error) {
		return pin(data, s, store)
	})
}

// pin writes the version of the package of s that store knows.
func pin(data []byte, s *config.Server, store *packages.Store) ([]byte, error) {
	spec, err := packages.Parse(s.Command, s.Args)
	switch {
	case errors.Is(err, packages.ErrNotPlain):
		return nil, cli.Usagef("server %q has no package to pin: it %w", s.Name, err)
	case err != nil:
		return nil, err
	case spec.Exact():
		return data, nil
	}
	version := store.Version(spec)
	if version == "" {
		return nil, cli.Usagef("the version of %s is not known before its first start\nhint: broker servers test %s", spec.Name, s.Name)
	}
	for i, arg := range spec.Pin(s.Args, version) {
		if arg != s.Args[i] {
			return config.SetArg(data, s.Name, i, arg)
		}
	}
	return data, nil
}
