package records

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// A KeptRow is one thing that is kept: a result has a ref, a value a key.
type KeptRow struct {
	Client  string     `json:"client"`
	Ref     string     `json:"ref,omitempty"`
	Key     string     `json:"key,omitempty"`
	MIME    string     `json:"mime,omitempty"`
	Bytes   int64      `json:"bytes"`
	Created *time.Time `json:"created,omitempty"`
}

// Cells returns the row of a table.
func (r KeptRow) Cells() []any {
	kind, created := "value", ""
	if r.Ref != "" {
		kind, _, _ = strings.Cut(r.MIME, ";")
		created = r.Created.Local().Format("2006-01-02 15:04")
	}
	return []any{cmp.Or(r.Ref, r.Key), kind, r.Bytes, ClientLabel(r.Client), created}
}

// ownClients are the clients that keep something themselves.
func ownClients(ctx context.Context, store state.Backend) ([]string, error) {
	all, err := store.Results().Clients(ctx)
	return slices.DeleteFunc(all, func(c string) bool { return strings.HasSuffix(c, state.OriginsSuffix) }), err
}

func KeptRows(ctx context.Context, store state.Backend) ([]KeptRow, error) {
	clients, err := ownClients(ctx, store)
	if err != nil {
		return nil, err
	}
	rows := []KeptRow{}
	for _, c := range clients {
		list, err := store.Results().List(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			rows = append(rows, KeptRow{Client: c, Ref: r.Ref, MIME: r.MIME, Bytes: r.Bytes, Created: &r.Created})
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
			rows = append(rows, KeptRow{Client: c, Key: k, Bytes: int64(len(v))})
		}
	}
	return rows, nil
}

// A KeptItem is a result or a value, by its name, with its owner.
type KeptItem struct {
	state.Backend
	Owner, Name string
	IsResult    bool
}

// FindKept looks a name up among everybody's results and, if no result has it, the
// values of the local user, or of the only client that has such a value.
func FindKept(ctx context.Context, store state.Backend, name string) (KeptItem, error) {
	none := KeptItem{}
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
			return KeptItem{store, c, name, true}, nil
		}
	}
	for _, c := range append([]string{state.Local}, clients...) {
		if _, err := store.Values().Value(ctx, c, name); err == nil {
			return KeptItem{store, c, name, false}, nil
		} else if !errors.Is(err, state.ErrNotFound) {
			return none, err
		}
	}
	return none, cli.Usagef("nothing is kept as %q\nhint: broker store list", name)
}
