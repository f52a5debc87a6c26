package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// owner is whose results and values a request is about: those of the token that
// it came with, or of the user of the state directory.
func owner(extra *mcp.RequestExtra) string {
	if extra != nil && extra.TokenInfo != nil {
		return extra.TokenInfo.UserID
	}
	return state.Local
}

// A keeper keeps all of a stream that is too long for the answer. Failing to
// keep it costs the reference, not the execution. A nil keeper keeps nothing.
type keeper struct {
	create func() (state.ResultWriter, error)
	fail   func(error)
	w      state.ResultWriter
	failed bool
}

// keeper returns one for a stream of x; nil if nothing is cut or kept.
func (x *execution) keeper() *keeper {
	if x.o.Results == nil || x.req.Whole {
		return nil
	}
	return &keeper{fail: x.keepFailed, create: func() (state.ResultWriter, error) {
		return x.o.Results.Create(context.Background(), x.req.Owner, state.Text)
	}}
}

func (x *execution) keepFailed(err error) { x.b.log.Warn("keep result", "execution", x.id, "err", err) }

func (k *keeper) started() bool { return k != nil && (k.w != nil || k.failed) }

func (k *keeper) write(parts ...[]byte) {
	if k == nil || k.failed {
		return
	}
	var err error
	if k.w == nil {
		k.w, err = k.create()
	}
	for _, p := range parts {
		if err == nil {
			_, err = k.w.Write(p)
		}
	}
	if err != nil {
		k.discard()
		k.failed = true
		k.fail(err)
	}
}

// commit returns the reference of what was written; "" if there is none.
func (k *keeper) commit() string {
	if k == nil || k.w == nil {
		return ""
	}
	ref, err := k.w.Commit()
	k.w = nil
	if err != nil {
		k.fail(err)
	}
	return ref
}

// discard forgets what was written and not committed.
func (k *keeper) discard() {
	if k != nil && k.w != nil {
		k.w.Discard()
		k.w = nil
	}
}

// keepResult keeps a result that is too long and returns its reference.
func (x *execution) keepResult(value json.RawMessage) string {
	if x.o.Results == nil {
		return ""
	}
	ref, err := results.Put(context.Background(), x.o.Results, x.req.Owner, state.JSON, value)
	if err != nil {
		x.keepFailed(err)
	}
	return ref
}

// readRest says how the next script reads what was cut.
func readRest(ref, options string) string {
	if ref == "" {
		return ""
	}
	return fmt.Sprintf(", or read it in the next script: results.get('%s', %s)", ref, options)
}

var errNothingKept = errors.New("this broker keeps nothing between executions")

// getResult is results.get(ref, {path, offset, limit}).
func (x *execution) getResult(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	a, err := hostArguments("results.get", "ref", c)
	if err != nil {
		return nil, err
	}
	if err := onlyOptions(a, "ref", "path", "offset", "limit"); err != nil {
		return nil, fmt.Errorf("results.get: %w", err)
	}
	offset, err := a.number("offset")
	if err != nil {
		return nil, fmt.Errorf("results.get: %w", err)
	}
	limit, err := a.number("limit")
	if err != nil {
		return nil, fmt.Errorf("results.get: %w", err)
	}
	if x.o.Results == nil {
		return nil, fmt.Errorf("results.get: %w", errNothingKept)
	}
	ref := strings.TrimSpace(a.text("ref"))
	item, part, err := results.GetPart(ctx, x.o.Results, x.req.Owner, ref, results.Part{Path: a.text("path"), Offset: clampInt(offset), Limit: clampInt(limit)},
		x.o.Limits.WithDefaults().ResultBytes)
	if errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("results.get: there is no result %q: references are the \"ref\" of an answer, as in results.get('r_…'), and are kept for some days", clip(ref, 40))
	}
	if err != nil {
		return nil, fmt.Errorf("results.get: %w", err)
	}
	if item.MIME != state.JSON && item.MIME != state.Text {
		return compactJSON(describeBinary(item)), nil
	}
	return part, nil
}

// clampInt makes an int of a number that a script gave.
func clampInt(f float64) int { return int(max(min(f, 1e9), -1)) }

// values is where values are kept.
func (x *execution) values() (state.Values, error) {
	if x.o.Values == nil {
		return nil, errNothingKept
	}
	return x.o.Values, nil
}

// getValue is store.get(key): the value, or undefined.
func (x *execution) getValue(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	values, err := x.values()
	if err != nil {
		return nil, fmt.Errorf("store.get: %w", err)
	}
	v, err := values.Value(ctx, x.req.Owner, c.Target)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store.get: %w", err)
	}
	return v, nil
}

// setValue is store.set(key, value); undefined deletes.
func (x *execution) setValue(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	if c.Args == nil {
		_, err := x.deleteValue(ctx, c)
		return nil, err
	}
	values, err := x.values()
	if err == nil {
		err = values.SetValue(ctx, x.req.Owner, c.Target, c.Args)
	}
	if err != nil {
		return nil, fmt.Errorf("store.set: %w", err)
	}
	return nil, nil
}

// deleteValue is store.delete(key): whether there was one.
func (x *execution) deleteValue(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	values, err := x.values()
	if err != nil {
		return nil, fmt.Errorf("store.delete: %w", err)
	}
	was, err := values.DeleteValue(ctx, x.req.Owner, c.Target)
	if err != nil {
		return nil, fmt.Errorf("store.delete: %w", err)
	}
	return compactJSON(was), nil
}

// listKeys is store.keys().
func (x *execution) listKeys(ctx context.Context, _ sandbox.Call) (json.RawMessage, error) {
	values, err := x.values()
	if err != nil {
		return nil, fmt.Errorf("store.keys: %w", err)
	}
	keys, err := values.Keys(ctx, x.req.Owner)
	if err != nil {
		return nil, fmt.Errorf("store.keys: %w", err)
	}
	return compactJSON(keys), nil
}
