package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

// storeRow is one thing that is kept: a result has a ref, a value a key.
type storeRow struct {
	Client  string     `json:"client"`
	Ref     string     `json:"ref,omitempty"`
	Key     string     `json:"key,omitempty"`
	MIME    string     `json:"mime,omitempty"`
	Bytes   int64      `json:"bytes"`
	Created *time.Time `json:"created,omitempty"`
}

func (r storeRow) cells() []any {
	kind, created := "value", ""
	if r.Ref != "" {
		kind, _, _ = strings.Cut(r.MIME, ";")
		created = r.Created.Local().Format("2006-01-02 15:04")
	}
	return []any{cmp.Or(r.Ref, r.Key), kind, r.Bytes, records.ClientLabel(r.Client), created}
}

func storeListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List stored results and values",
		Long:  "List stored results and values. All local clients of a user, and their windows, share one store; each token, person and\nprofile has its own.",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withState(cmd.Context(), func(_ *config.Config, st *application.State) error {
				rows, err := storeRows(cmd.Context(), st)
				if err != nil {
					return err
				}
				return cli.PrintList(&e.IO, rows, "nothing is kept", cli.NewTable("NAME\tKIND\tBYTES\tCLIENT\tCREATED", storeRow.cells))
			})
		},
	}
}

// ownClients are the clients that keep something themselves.
func ownClients(ctx context.Context, store state.Backend) ([]string, error) {
	all, err := store.Results().Clients(ctx)
	return slices.DeleteFunc(all, func(c string) bool { return strings.HasSuffix(c, state.OriginsSuffix) }), err
}

func storeRows(ctx context.Context, store state.Backend) ([]storeRow, error) {
	clients, err := ownClients(ctx, store)
	if err != nil {
		return nil, err
	}
	rows := []storeRow{}
	for _, c := range clients {
		list, err := store.Results().List(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			rows = append(rows, storeRow{Client: c, Ref: r.Ref, MIME: r.MIME, Bytes: r.Bytes, Created: &r.Created})
		}
		keys, err := store.Values().Keys(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			v, err := store.Values().Value(ctx, c, k)
			if errors.Is(err, state.ErrNotFound) {
				continue // it has just been deleted
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, storeRow{Client: c, Key: k, Bytes: int64(len(v))})
		}
	}
	return rows, nil
}

// A keptItem is a result or a value, by its name, with its owner.
type keptItem struct {
	state.Backend
	owner, name string
	isResult    bool
}

// findStored looks a name up among everybody's results and, if no result has it, the
// values of the local user, or of the only client that has such a value.
func findStored(ctx context.Context, store state.Backend, name string) (keptItem, error) {
	none := keptItem{}
	clients, err := ownClients(ctx, store)
	if err != nil {
		return none, err
	}
	for _, c := range clients {
		list, err := store.Results().List(ctx, c)
		if err != nil {
			return none, err
		}
		if slices.ContainsFunc(list, func(r state.Result) bool { return r.Ref == name }) {
			return keptItem{store, c, name, true}, nil
		}
	}
	for _, c := range append([]string{state.Local}, clients...) {
		if _, err := store.Values().Value(ctx, c, name); err == nil {
			return keptItem{store, c, name, false}, nil
		} else if !errors.Is(err, state.ErrNotFound) {
			return none, err
		}
	}
	return none, cli.Usagef("nothing is kept as %q\nhint: broker store list", name)
}

// withKept is a command's RunE that does f with what is kept under the first
// argument.
func withKept(e *env, f func(context.Context, keptItem) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return e.withState(cmd.Context(), func(_ *config.Config, st *application.State) error {
			k, err := findStored(cmd.Context(), st, args[0])
			if err != nil {
				return err
			}
			return f(cmd.Context(), k)
		})
	}
}

func storeGetCommand(e *env) *cobra.Command {
	var part results.Part
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "Print a result by its reference, or a value by its key",
		Args:  cli.OneArg("a reference or a key (broker store list shows them)"),
		RunE: withKept(e, func(ctx context.Context, k keptItem) (err error) {
			item, data := state.Result{MIME: state.JSON}, []byte(nil)
			if k.isResult {
				item, data, err = results.Get(ctx, k.Results(), k.owner, k.name)
			} else {
				data, err = k.Values().Value(ctx, k.owner, k.name)
			}
			if err != nil {
				return err
			}
			if part != (results.Part{}) {
				if data, err = results.Slice(item, data, part); err != nil {
					return cli.Usagef("%w", err)
				}
				var text string
				if item.MIME != state.JSON && json.Unmarshal(data, &text) == nil {
					data = []byte(text)
				}
			}
			if item.MIME != state.JSON && item.MIME != state.Text {
				if cli.IsTerminal(e.Out) {
					return cli.Usagef("%s is %s, %d bytes\nhint: broker store get %s > FILE", k.name, item.MIME, item.Bytes, k.name)
				}
				_, err = cli.Exact(e.Out).Write(data)
				return err
			}
			_, err = fmt.Fprintln(cli.Exact(e.Out), strings.TrimSuffix(string(data), "\n"))
			return err
		}),
	}
	c.Flags().StringVar(&part.Path, "path", "", `the part wanted, such as "items[0].title"`)
	c.Flags().IntVar(&part.Offset, "offset", 0, "number of elements or characters to skip")
	c.Flags().IntVar(&part.Limit, "limit", 0, "maximum number of elements or characters; 0 means all")
	return c
}

func storeRemoveCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove"},
		Short:   "Remove a result or a value",
		Args:    cli.OneArg("a reference or a key (broker store list shows them)"),
		RunE: withKept(e, func(ctx context.Context, k keptItem) error {
			if k.isResult {
				return k.Results().Remove(ctx, k.owner, k.name)
			}
			_, err := k.Values().DeleteValue(ctx, k.owner, k.name)
			return err
		}),
	}
	return c
}
