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

// past returns what the runs of a principal have read.
func (e *Executor) past(owner string) *bridge.Past { return e.root().pasts.forOwner(owner) }

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

func (x *Execution) tracks() bool {
	return x.o.Rules != nil && x.o.Values != nil && x.o.Rules.TracksData(x.o.Profile)
}

func originKey(of, key string) string {
	sum := sha256.Sum256([]byte(of + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

// storeOrigin stores which tools the run has read, for data that it stores under a name: "store"
// and a key, or "results" and a reference.
func (x *Execution) storeOrigin(ctx context.Context, of, name string) error {
	if name == "" || x.bridge == nil || !x.tracks() {
		return nil
	}
	var from []origin
	for _, t := range x.bridge.Sources() {
		from = append(from, origin{t.ID, t.Server, t.Name})
	}
	owner, key := x.owner()+state.OriginsSuffix, originKey(of, name)
	if from == nil {
		_, err := x.o.Values.DeleteValue(ctx, owner, key)
		return err
	}
	err := x.o.Values.SetValue(ctx, owner, key, gate.Compact(from))
	if _, full := errors.AsType[*state.LimitError](err); full && x.sweepOrigins(ctx) == nil {
		err = x.o.Values.SetValue(ctx, owner, key, gate.Compact(from))
	}
	if err != nil {
		return fmt.Errorf("record where the value came from, which the policy needs: %w", err)
	}
	return nil
}

// storeOriginsOf calls storeOrigin for results, and drops a result if its origin cannot be stored.
func (x *Execution) storeOriginsOf(refs ...string) {
	for _, ref := range refs {
		if err := x.storeOrigin(context.Background(), "results", ref); err != nil {
			x.results.OnError(errors.Join(err, x.o.Results.Remove(context.Background(), x.owner(), ref)))
		}
	}
}

// sweepOrigins removes the origins of data that is no longer stored.
func (x *Execution) sweepOrigins(ctx context.Context) error {
	var live []string
	keys, err := x.o.Values.Keys(ctx, x.owner())
	for _, k := range keys {
		live = append(live, originKey("store", k))
	}
	if x.o.Results != nil && err == nil {
		var list []state.Result
		list, err = x.o.Results.List(ctx, x.owner())
		for _, r := range list {
			live = append(live, originKey("results", r.Ref))
		}
	}
	if err != nil {
		return err
	}
	all, err := x.o.Values.Keys(ctx, x.owner()+state.OriginsSuffix)
	for _, k := range all {
		if !slices.Contains(live, k) {
			_, err = x.o.Values.DeleteValue(ctx, x.owner()+state.OriginsSuffix, k)
		}
	}
	return err
}

// readOrigin records for the policy that the run has read stored data.
func (x *Execution) readOrigin(ctx context.Context, of, name string, value json.RawMessage) error {
	if !x.tracks() {
		return nil
	}
	stored, err := x.o.Values.Value(ctx, x.owner()+state.OriginsSuffix, originKey(of, name))
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
	full, _ := x.e.catalog.Both()
	for _, o := range from {
		t, ok := full.Tool(o.ID)
		if !ok { // it has been removed since
			t = &discovery.Tool{ID: o.ID, Server: o.Server, ListedTool: discovery.ListedTool{Name: o.Tool}}
		}
		x.bridge.Read(t, value)
	}
	return nil
}
