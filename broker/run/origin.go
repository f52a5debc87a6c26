package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run/output"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
)

// If the policy has flows or labels, data that is stored between runs carries its origin: a later
// run that reads the data has read those tools.

// An origin is a tool that stored data may come from.
type origin struct {
	ID     string `json:"id"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// personal returns the texts about persons in a result.
func personal(result json.RawMessage) (texts []string) {
	spans, _ := redact.FindJSON(string(result))
	for _, s := range spans {
		if redact.Personal(s.Type) {
			texts = append(texts, string(result[s.Start:s.End]))
		}
	}
	return texts
}

// origins keeps where the data that one execution stores came from.
type origins struct {
	o       *Options
	store   *output.Store
	tools   func() *discovery.Catalog
	sources *bridge.Bridge // nil until calls can be made
}

// tracks reports whether the policy follows data.
func (n *origins) tracks() bool {
	return n.o.Rules != nil && n.o.Values != nil && n.o.Rules.TracksData(n.o.Profile)
}

func originKey(of, key string) string {
	sum := sha256.Sum256([]byte(of + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

// record stores which tools the run has read, for data that it stores under a name: "store"
// and a key, or "results" and a reference.
func (n *origins) record(ctx context.Context, of, name string) error {
	if name == "" || n.sources == nil || !n.tracks() {
		return nil
	}
	var from []origin
	for _, t := range n.sources.Sources() {
		from = append(from, origin{t.ID, t.Server, t.Name})
	}
	owner, key := n.store.Owner+state.OriginsSuffix, originKey(of, name)
	if from == nil {
		_, err := n.o.Values.DeleteValue(ctx, owner, key)
		return err
	}
	err := n.o.Values.SetValue(ctx, owner, key, gate.Compact(from))
	if _, full := errors.AsType[*state.LimitError](err); full && n.sweep(ctx) == nil {
		err = n.o.Values.SetValue(ctx, owner, key, gate.Compact(from))
	}
	if err != nil {
		return fmt.Errorf("record where the value came from, which the policy needs: %w", err)
	}
	return nil
}

// recordResults calls record for results, and drops a result if its origin cannot be stored.
func (n *origins) recordResults(refs ...string) {
	for _, ref := range refs {
		if err := n.record(context.Background(), "results", ref); err != nil {
			n.store.OnError(errors.Join(err, n.o.Results.Remove(context.Background(), n.store.Owner, ref)))
		}
	}
}

// sweep removes the origins of data that has been removed.
func (n *origins) sweep(ctx context.Context) error {
	var live []string
	keys, err := n.o.Values.Keys(ctx, n.store.Owner)
	for _, k := range keys {
		live = append(live, originKey("store", k))
	}
	if n.o.Results != nil && err == nil {
		var list []state.Result
		list, err = n.o.Results.List(ctx, n.store.Owner)
		for _, r := range list {
			live = append(live, originKey("results", r.Ref))
		}
	}
	if err != nil {
		return err
	}
	all, err := n.o.Values.Keys(ctx, n.store.Owner+state.OriginsSuffix)
	for _, k := range all {
		if !slices.Contains(live, k) {
			_, err = n.o.Values.DeleteValue(ctx, n.store.Owner+state.OriginsSuffix, k)
		}
	}
	return err
}

// read records for the policy that the run has read stored data.
func (n *origins) read(ctx context.Context, of, name string, value json.RawMessage) error {
	if !n.tracks() {
		return nil
	}
	stored, err := n.o.Values.Value(ctx, n.store.Owner+state.OriginsSuffix, originKey(of, name))
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	var from []origin
	if err == nil {
		err = json.Unmarshal(stored, &from)
	}
	if err != nil {
		return fmt.Errorf("read where the value came from, which the policy needs: %w", err)
	}
	full := n.tools()
	for _, o := range from {
		t, ok := full.Tool(o.ID)
		if !ok { // it has been removed since
			t = &discovery.Tool{ID: o.ID, Server: o.Server, ListedTool: discovery.ListedTool{Name: o.Tool}}
		}
		n.sources.Read(t, value)
	}
	return nil
}
