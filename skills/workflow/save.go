package workflow

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// saveStep is the key of what a step saves that is not a store.
const saveStep = "step"

// save keeps what a step saves.
func (r *run) save(ctx context.Context, n *node) *Result {
	given, err := r.toSave(n)
	if err != nil {
		return r.stop(ctx, "what step %q saves: %s", r.st.at, err)
	}
	var v savedValue
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name == saveStep {
			v.Step = given[name]
			continue
		}
		schema, ok := n.area.stores[name]
		if !ok {
			return r.stop(ctx, "step %q saves into %q, which is no store", r.st.at, name)
		}
		more, err := decode(given[name])
		if err != nil {
			return r.stop(ctx, "what step %q saves: %s", r.st.at, err)
		}
		merged := encode(merge(r.st.stores[name], more))
		if err := schema.Check(merged); err != nil {
			return r.stop(ctx, "what step %q saves does not fit the store %s: %s", r.st.at, name, err)
		}
		if v.Stores == nil {
			v.Stores = map[string]json.RawMessage{}
		}
		v.Stores[name] = merged
	}
	if err := r.add(ctx, Event{Kind: Saved, Step: r.st.at, Value: encode(v)}); err != nil {
		return r.unkept(ctx, err)
	}
	return nil
}

func (r *run) toSave(n *node) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if n.SaveFunc != nil {
		raw, err := made(func() (any, error) { return n.SaveFunc(r.view()) })
		if err != nil {
			return nil, err
		}
		return given, json.Unmarshal(raw, &given)
	}
	f := r.scope().filler()
	for name, template := range n.Save {
		raw, err := f.fill(template)
		if err != nil {
			return nil, err
		}
		given[name] = raw
	}
	return given, nil
}
