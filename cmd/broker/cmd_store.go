package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/config"
	results "github.com/mcpbroker/mcpbroker/state/files"
)

func (a *app) storeCommand() *cobra.Command {
	return group("store", "What executions kept: results that were too long, and values of scripts",
		a.storeListCommand(), a.storeGetCommand(), a.storeRemoveCommand())
}

// results opens the result store of the config's state directory.
func (a *app) results() (*results.Store, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	state, err := config.StateDir(a.stateDir, cfg.Path)
	if err != nil {
		return nil, err
	}
	return results.Open(filepath.Join(state, "results"), nil), nil
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
	return []any{cmp.Or(r.Ref, r.Key), kind, r.Bytes, clientLabel(r.Client), created}
}

func (a *app) storeListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the results and values that are kept",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.results()
			if err != nil {
				return err
			}
			rows, err := storeRows(store)
			if err != nil {
				return err
			}
			return printList(a, rows, "nothing is kept", table[storeRow]{"NAME\tKIND\tBYTES\tCLIENT\tCREATED", storeRow.cells})
		},
	}
}

// clientLabel is how a client is called in a table.
func clientLabel(name string) string { return cmp.Or(name, "(local)") }

func storeRows(store *results.Store) ([]storeRow, error) {
	clients, err := store.Clients()
	if err != nil {
		return nil, err
	}
	rows := []storeRow{}
	for _, c := range clients {
		items, err := c.List()
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			rows = append(rows, storeRow{Client: c.Name(), Ref: i.Ref, MIME: i.MIME, Bytes: i.Bytes, Created: &i.Created})
		}
		keys, err := c.Keys()
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			v, err := c.Value(k)
			if errors.Is(err, results.ErrNotFound) {
				continue // it has just been deleted
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, storeRow{Client: c.Name(), Key: k, Bytes: int64(len(v))})
		}
	}
	return rows, nil
}

// find looks a name up among everybody's results and, if no result has it, the
// values of client.
func find(store *results.Store, name, client string, anyClient bool) (*results.Client, bool, error) {
	clients, err := store.Clients()
	if err != nil {
		return nil, false, err
	}
	for _, c := range clients {
		if !anyClient && c.Name() != client {
			continue
		}
		items, err := c.List()
		if err != nil {
			return nil, false, err
		}
		for _, i := range items {
			if i.Ref == name {
				return c, true, nil
			}
		}
	}
	c := store.Client(client)
	if _, err := c.Value(name); err == nil {
		return c, false, nil
	} else if !errors.Is(err, results.ErrNotFound) {
		return nil, false, err
	}
	for _, other := range clients {
		if _, err := other.Value(name); err == nil && other.Name() != client {
			return nil, false, usage("%s has nothing kept as %q\nhint: --client %q has", clientLabel(client), name, other.Name())
		}
	}
	return nil, false, usage("nothing is kept as %q\nhint: broker store list", name)
}

// withKept is a command's RunE that does f with what is kept under the first
// argument: a result of anyone's, or of the client whom --client names, or a
// value.
func (a *app) withKept(client *string, f func(owner *results.Client, name string, isResult bool) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := a.results()
		if err != nil {
			return err
		}
		owner, isResult, err := find(store, args[0], *client, !cmd.Flags().Changed("client"))
		if err != nil {
			return err
		}
		return f(owner, args[0], isResult)
	}
}

func clientFlag(c *cobra.Command, client *string) {
	c.Flags().StringVar(client, "client", "", "whose: the name of an HTTP token (default: the local user's)")
}

func (a *app) storeGetCommand() *cobra.Command {
	var part results.Part
	var client string
	c := &cobra.Command{
		Use:   "get NAME",
		Short: "Print a result by its reference, or a value by its key",
		Args:  oneArg("a reference or a key (broker store list shows them)"),
		RunE: a.withKept(&client, func(owner *results.Client, name string, isResult bool) (err error) {
			item, data := results.Item{MIME: results.JSON}, []byte(nil)
			if isResult {
				item, data, err = owner.Get(name)
			} else {
				data, err = owner.Value(name)
			}
			if err != nil {
				return err
			}
			if part != (results.Part{}) {
				if data, err = results.Slice(item, data, part); err != nil {
					return usage("%w", err)
				}
				var text string
				if item.MIME != results.JSON && json.Unmarshal(data, &text) == nil {
					data = []byte(text)
				}
			}
			if item.MIME != results.JSON && item.MIME != results.Text {
				if onTerminal(a.stdout) {
					return usage("%s is %s, %d bytes\nhint: broker store get %s > FILE", name, item.MIME, item.Bytes, name)
				}
				_, err = exact(a.stdout).Write(data)
				return err
			}
			_, err = fmt.Fprintln(exact(a.stdout), strings.TrimSuffix(string(data), "\n"))
			return err
		}),
	}
	c.Flags().StringVar(&part.Path, "path", "", `the part wanted, such as "items[0].title"`)
	c.Flags().IntVar(&part.Offset, "offset", 0, "elements, or characters, to leave out")
	c.Flags().IntVar(&part.Limit, "limit", 0, "elements, or characters, at most; 0 means all")
	clientFlag(c, &client)
	return c
}

func (a *app) storeRemoveCommand() *cobra.Command {
	var client string
	c := &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove"},
		Short:   "Forget a result or a value",
		Args:    oneArg("a reference or a key (broker store list shows them)"),
		RunE: a.withKept(&client, func(owner *results.Client, name string, isResult bool) error {
			if isResult {
				return owner.Remove(name)
			}
			_, err := owner.DeleteValue(name)
			return err
		}),
	}
	clientFlag(c, &client)
	return c
}
