package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/run/output"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

var errNoStore = errors.New("this broker keeps nothing between executions")

// getResult implements results.get(ref, {path, offset, limit}) and results.get(ref, {encoding}).
func getResult(ctx context.Context, x *Execution, c sandbox.Call) (json.RawMessage, error) {
	if x.o.Results == nil {
		return nil, errNoStore
	}
	a, err := HostArguments("ref", c)
	if err != nil {
		return nil, err
	}
	if err := a.Only("ref", "path", "offset", "limit", "encoding"); err != nil {
		return nil, err
	}
	offset, err := a.Int("offset")
	if err != nil {
		return nil, err
	}
	limit, err := a.Int("limit")
	if err != nil {
		return nil, err
	}
	ref := strings.TrimSpace(a.Text("ref"))
	most := x.o.Limits.WithDefaults().ResultBytes
	var item state.Result
	var part json.RawMessage
	if a.Has("encoding") {
		if a.Text("encoding") != "base64" || a.Has("path") || a.Has("offset") || a.Has("limit") {
			return nil, errors.New("encoding: it is 'base64', without path, offset and limit: results.get(ref, { encoding: 'base64' })")
		}
		part, err = results.GetBase64(ctx, x.o.Results, x.owner(), ref, most)
	} else {
		item, part, err = results.GetPart(ctx, x.o.Results, x.owner(), ref, results.Part{Path: a.Text("path"), Offset: offset, Limit: limit}, most)
	}
	if errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("there is no result %q: references are the \"ref\" of an answer, as in results.get('r_…'), and are kept for some days", gate.Cut(ref, 40))
	}
	if err == nil {
		err = x.origins.read(ctx, "results", ref, part)
	}
	if err == nil && part == nil {
		return gate.Compact(output.DescribeBinary(item)), nil
	}
	return part, err
}

// onValues returns the host function that applies do to the client's values.
func onValues(do func(ctx context.Context, values state.Values, owner string, c sandbox.Call) (json.RawMessage, error)) func(context.Context, *Execution, sandbox.Call) (json.RawMessage, error) {
	return func(ctx context.Context, x *Execution, c sandbox.Call) (json.RawMessage, error) {
		if x.o.Values == nil {
			return nil, errNoStore
		}
		if c.Func == "store.set" { // before the value, which must not exist without it
			if err := x.origins.record(ctx, "store", c.Target); err != nil {
				return nil, err
			}
		}
		v, err := do(ctx, x.o.Values, x.owner(), c)
		if c.Func == "store.get" && err == nil && v != nil {
			err = x.origins.read(ctx, "store", c.Target, v)
		}
		return v, err
	}
}

// getValue implements store.get(key): the value, or undefined.
func getValue(ctx context.Context, values state.Values, owner string, c sandbox.Call) (json.RawMessage, error) {
	v, err := values.Value(ctx, owner, c.Target)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	return v, err
}

// setValue implements store.set(key, value); undefined deletes.
func setValue(ctx context.Context, values state.Values, owner string, c sandbox.Call) (json.RawMessage, error) {
	if c.Args == nil {
		_, err := values.DeleteValue(ctx, owner, c.Target)
		return nil, err
	}
	return nil, values.SetValue(ctx, owner, c.Target, c.Args)
}

// deleteValue implements store.delete(key): it reports whether the key existed.
func deleteValue(ctx context.Context, values state.Values, owner string, c sandbox.Call) (json.RawMessage, error) {
	was, err := values.DeleteValue(ctx, owner, c.Target)
	return gate.Compact(was), err
}

// listKeys implements store.keys().
func listKeys(ctx context.Context, values state.Values, owner string, _ sandbox.Call) (json.RawMessage, error) {
	keys, err := values.Keys(ctx, owner)
	return gate.Compact(keys), err
}
