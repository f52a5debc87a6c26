package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A streamStore stores a stream that is too long for the answer. A failure costs only the
// reference, not the execution. A nil streamStore stores nothing.
type streamStore struct {
	create  func() (state.ResultWriter, error)
	onError func(error)
	w       state.ResultWriter
	failed  bool
}

// A resultStore stores the results and long outputs of an execution for its client.
type resultStore struct {
	results state.Results // nil stores nothing
	owner   string
	uncut   bool // the answer is never cut, so nothing needs to be stored
	onError func(error)
}

// stream returns a store for a stream, or nil if nothing is cut or stored.
func (k *resultStore) stream() *streamStore {
	if k.results == nil || k.uncut {
		return nil
	}
	return &streamStore{onError: k.onError, create: func() (state.ResultWriter, error) {
		return k.results.Create(context.Background(), k.owner, state.Text)
	}}
}

// put stores data and returns its reference, or "" if that failed.
func (k *resultStore) put(mimeType string, data []byte) string {
	if k.results == nil {
		return ""
	}
	ref, err := results.Put(context.Background(), k.results, k.owner, mimeType, data)
	if err != nil {
		k.onError(err)
	}
	return ref
}

func (k *streamStore) started() bool { return k != nil && (k.w != nil || k.failed) }

func (k *streamStore) write(parts ...[]byte) {
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
		k.onError(err)
	}
}

// commit returns the reference of the stored data, or "".
func (k *streamStore) commit() string {
	if k == nil || k.w == nil {
		return ""
	}
	ref, err := k.w.Commit()
	k.w = nil
	if err != nil {
		k.onError(err)
	}
	return ref
}

// discard drops data that was written and not committed.
func (k *streamStore) discard() {
	if k != nil && k.w != nil {
		k.w.Discard()
		k.w = nil
	}
}

// restart drops written data before a run is repeated.
func (k *streamStore) restart() {
	k.discard()
	if k != nil {
		k.failed = false
	}
}

// readRest returns a hint with the code that reads the rest in the next script.
func readRest(ref, options string) string {
	if ref == "" {
		return ""
	}
	return fmt.Sprintf(", or read it in the next script: results.get('%s', %s)", ref, options)
}

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
		err = x.readOrigin(ctx, "results", ref, part)
	}
	if err == nil && part == nil {
		return gate.Compact(describeBinary(item)), nil
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
			if err := x.storeOrigin(ctx, "store", c.Target); err != nil {
				return nil, err
			}
		}
		v, err := do(ctx, x.o.Values, x.owner(), c)
		if c.Func == "store.get" && err == nil && v != nil {
			err = x.readOrigin(ctx, "store", c.Target, v)
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
