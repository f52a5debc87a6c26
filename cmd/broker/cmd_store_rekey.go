package main

import (
	"context"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

func storeRekeyCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "rekey",
		Short: "Encrypt the database and the stored objects again, with the first key of \"stateKey\"",
		Long: "Seal again, with the first key of \"stateKey\", what other keys of that list have sealed in the database that brokers\n" +
			"share and in \"objects\", while they run. If it is broken off, run it again. To replace a key: give all brokers the old key and then the new one; then the new one and\n" +
			"then the old one; run store rekey; then give them the new one alone.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStoreRekey(cmd.Context(), e) },
	}
}

func runStoreRekey(ctx context.Context, e *env) error {
	return e.withState(ctx, func(_ *config.Config, st *application.State) error {
		if st.Rekey == nil {
			return cli.Usagef("the config has no \"state\" with a \"stateKey\": only a database is sealed again\nhint: without one, people connect their accounts again when the key changes")
		}
		all := state.Rekeyed{Unopened: []string{}}
		err := st.Rekey(ctx, func(part string, r state.Rekeyed) {
			all.Sealed, all.Kept = all.Sealed+r.Sealed, all.Kept+r.Kept
			for _, name := range r.Unopened {
				all.Unopened = append(all.Unopened, part+" "+name)
			}
		})
		if err != nil {
			return err
		}
		return printRekeyed(e, all)
	})
}

func printRekeyed(e *env, r state.Rekeyed) error {
	if e.JSON {
		if err := e.PrintJSON(r); err != nil {
			return err
		}
	} else {
		cli.Fprintf(e.Out, "%d sealed again, %d had the first key already\n", r.Sealed, r.Kept)
	}
	if len(r.Unopened) == 0 {
		return nil
	}
	for _, name := range r.Unopened {
		cli.Fprintf(e.Err, "no key opens %s\n", cli.OneLine(name, 200))
	}
	return cli.Errorf("%s stay as they are: no key of \"stateKey\" opens them\nhint: add the key that has sealed them to the end of the list, or sign in again; results go after 7 days", cli.Count(len(r.Unopened), "document"))
}
