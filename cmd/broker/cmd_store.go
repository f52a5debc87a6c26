package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

func storeCommand(e *env) *cobra.Command {
	return cli.Group("store", "Manage stored results of executions and values of scripts, and their database",
		storeListCommand(e), storeGetCommand(e), storeRemoveCommand(e), storeRekeyCommand(e))
}

func storeListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List stored results and values",
		Long:  "List stored results and values. All local clients of a user, and their windows, share one store; each token, person and\nprofile has its own.",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStoreList(cmd.Context(), e) },
	}
}

func runStoreList(ctx context.Context, e *env) error {
	return e.withState(ctx, func(_ *config.Config, st *application.State) error {
		rows, err := records.KeptRows(ctx, st)
		if err != nil {
			return err
		}
		return cli.PrintList(&e.IO, rows, "nothing is kept", cli.NewTable("NAME\tKIND\tBYTES\tCLIENT\tCREATED", records.KeptRow.Cells))
	})
}

// withKept is a command's RunE that does f with what is kept under the first
// argument.
func withKept(e *env, f func(context.Context, records.KeptItem) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return e.withState(cmd.Context(), func(_ *config.Config, st *application.State) error {
			k, err := records.FindKept(cmd.Context(), st, args[0])
			if err != nil {
				return err
			}
			return f(cmd.Context(), k)
		})
	}
}

// storeGetOptions are the options of broker store get.
type storeGetOptions struct {
	part results.Part
}

func storeGetCommand(e *env) *cobra.Command {
	o := &storeGetOptions{}
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "Print a result by its reference, or a value by its key",
		Args:  cli.OneArg("a reference or a key (broker store list shows them)"),
		RunE:  withKept(e, func(ctx context.Context, k records.KeptItem) error { return o.run(ctx, e, k) }),
	}
	c.Flags().StringVar(&o.part.Path, "path", "", `the part wanted, such as "items[0].title"`)
	c.Flags().IntVar(&o.part.Offset, "offset", 0, "number of elements or characters to skip")
	c.Flags().IntVar(&o.part.Limit, "limit", 0, "maximum number of elements or characters; 0 means all")
	return c
}

func (o *storeGetOptions) run(ctx context.Context, e *env, k records.KeptItem) (err error) {
	item, data := state.Result{MIME: state.JSON}, []byte(nil)
	if k.IsResult {
		item, data, err = results.Get(ctx, k.Results(), k.Owner, k.Name)
	} else {
		data, err = k.Values().Value(ctx, k.Owner, k.Name)
	}
	if err != nil {
		return err
	}
	if o.part != (results.Part{}) {
		if data, err = results.Slice(item, data, o.part); err != nil {
			return cli.Usagef("%w", err)
		}
		var text string
		if item.MIME != state.JSON && json.Unmarshal(data, &text) == nil {
			data = []byte(text)
		}
	}
	if item.MIME != state.JSON && item.MIME != state.Text {
		if cli.IsTerminal(e.Out) {
			return cli.Usagef("%s is %s, %d bytes\nhint: broker store get %s > FILE", k.Name, item.MIME, item.Bytes, k.Name)
		}
		_, err = cli.Exact(e.Out).Write(data)
		return err
	}
	_, err = fmt.Fprintln(cli.Exact(e.Out), strings.TrimSuffix(string(data), "\n"))
	return err
}

func storeRemoveCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove"},
		Short:   "Remove a result or a value",
		Args:    cli.OneArg("a reference or a key (broker store list shows them)"),
		RunE:    withKept(e, func(ctx context.Context, k records.KeptItem) error { return runStoreRemove(ctx, k) }),
	}
	return c
}

func runStoreRemove(ctx context.Context, k records.KeptItem) error {
	if k.IsResult {
		return k.Results().Remove(ctx, k.Owner, k.Name)
	}
	_, err := k.Values().DeleteValue(ctx, k.Owner, k.Name)
	return err
}
