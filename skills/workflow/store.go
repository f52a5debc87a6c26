package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// saveStep is the key of what a step saves that is not a store.
const saveStep = "step"

// stores checks those of an area.
func (c *compiler) stores(a *area) {
	a.stores = map[string]*schema.Schema{}
	for _, name := range slices.Sorted(maps.Keys(a.def.Stores)) {
		if name == "" || name == saveStep || strings.ContainsAny(name, "./") {
			c.fail("%q cannot be a store: it needs a name without dots and slashes, other than %q", name, saveStep)
		}
		a.stores[name] = c.schema(a.def.Stores[name], "store %q", name)
	}
}

// save checks what a step saves.
func (c *compiler) save(name string, n *node) {
	for _, key := range slices.Sorted(maps.Keys(n.Save)) {
		if _, ok := n.area.def.Stores[key]; !ok && key != saveStep {
			c.fail("step %q saves into %q, which is neither a store nor %q%s", name, key, saveStep, didYouMean(key, slices.Collect(maps.Keys(n.area.def.Stores))))
		}
		if !json.Valid(n.Save[key]) {
			c.fail("step %q: what it saves into %q is invalid JSON", name, key)
		}
	}
	if n.Save != nil && n.SaveFunc != nil {
		c.fail("step %q has Save and SaveFunc: write one of them", name)
	}
}

// saved is the value of Saved.
type saved struct {
	Step   json.RawMessage            `json:"step,omitempty"`
	Stores map[string]json.RawMessage `json:"stores,omitempty"`
}

// save keeps what a step saves.
func (r *run) save(n *node) *Result {
	given, err := r.toSave(n)
	if err != nil {
		return r.stop("what step %q saves: %s", r.st.at, err)
	}
	v := saved{Stores: map[string]json.RawMessage{}}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name == saveStep {
			v.Step = given[name]
			continue
		}
		schema, ok := n.area.stores[name]
		if !ok {
			return r.stop("step %q saves into %q, which is not a store", r.st.at, name)
		}
		more, err := decode(given[name])
		if err != nil {
			return r.stop("what step %q saves: %s", r.st.at, err)
		}
		merged := encode(merge(r.st.stores[name], more))
		if err := schema.Check(merged); err != nil {
			return r.stop("what step %q saves does not match the schema of store %q: %s", r.st.at, name, err)
		}
		v.Stores[name] = merged
	}
	if err := r.add(Event{Kind: Saved, Step: r.st.at, Value: encode(v)}); err != nil {
		return r.unkept(err)
	}
	return nil
}

// toSave makes what a step saves.
func (r *run) toSave(n *node) (given map[string]json.RawMessage, err error) {
	given = map[string]json.RawMessage{}
	if n.SaveFunc != nil {
		err = contain(func() error {
			values, err := n.SaveFunc(&View{r.st})
			for name, v := range values {
				if err == nil {
					given[name], err = json.Marshal(v)
				}
			}
			return err
		})
		return given, err
	}
	f := r.st.filler()
	for name, template := range n.Save {
		if given[name], err = f.fill(template); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// save applies what a step has saved.
func (st *state) save(e Event) error {
	var v saved
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return err
	}
	st.saved = true
	if v.Step != nil {
		value, err := decode(v.Step)
		if err != nil {
			return err
		}
		st.give(e.Step, value)
	}
	for name, raw := range v.Stores {
		value, err := decode(raw)
		if err != nil {
			return err
		}
		st.stores[name] = value
	}
	return nil
}

// merge adds a new value to the one that is there: objects field by field, and
// anything else as a whole. Neither of the two is changed.
func merge(old, added any) any {
	a, aok := old.(map[string]any)
	b, bok := added.(map[string]any)
	if !aok || !bok {
		return added
	}
	merged := maps.Clone(a)
	for k, v := range b {
		merged[k] = merge(merged[k], v)
	}
	return merged
}

// stores reports stores of an area that no step saves into.
func (l *linter) stores() {
	filled := map[string]bool{}
	for _, n := range l.w.steps {
		if n.area == l.current && n.SaveFunc != nil {
			return
		}
		for name := range n.Save {
			filled[name] = filled[name] || n.area == l.current
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.current.stores)) {
		if !filled[name] {
			l.report("unused-store", "", "no step saves into store %q", name)
		}
	}
}
