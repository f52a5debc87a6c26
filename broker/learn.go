package broker

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/learned"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// learns reports whether the results of t are learned from: it says too little
// of them itself, and nobody forbade it.
func (o *Options) learns(t *discovery.Tool) bool {
	return o.Learned != nil && !o.Unlearned[t.Server] && !learned.HasUse(t.OutputSchema)
}

// types writes the types of tools: those that they declare, else those that
// were learned.
func (o *Options) types() *codegen.Generator {
	return &codegen.Generator{Output: func(t *discovery.Tool) *codegen.Output {
		if !o.learns(t) {
			return nil
		}
		typ, ok := o.Learned.Type(t.Server, t.Name)
		if !ok {
			return nil
		}
		return &codegen.Output{Schema: typ.Schema, Note: fmt.Sprintf("learned from %d calls", typ.Calls)}
	}}
}

// shapes are what is known of the answers to calls: reads of other properties
// are noted.
func (x *execution) shapes(scope *discovery.Catalog, calls []sandbox.CallSite) map[string]*sandbox.Shape {
	if x.o.UnnotedReads {
		return nil
	}
	shapes := make(map[string]*sandbox.Shape)
	types := x.o.types()
	for _, c := range calls {
		if _, done := shapes[c.Target]; done {
			continue
		}
		if t, ok := scope.Tool(c.Target); ok {
			shapes[c.Target] = shapeOf(types.Fields(t))
		}
	}
	maps.DeleteFunc(shapes, func(_ string, s *sandbox.Shape) bool { return s == nil })
	return shapes
}

// shapeOf is what codegen knows of a place, as the sandbox wants it.
func shapeOf(f *codegen.Fields) *sandbox.Shape {
	if f == nil {
		return nil
	}
	s := &sandbox.Shape{Open: f.Open, Closed: f.Closed, Elem: shapeOf(f.Elem)}
	if len(f.Props) > 0 {
		s.Props = make(map[string]*sandbox.Shape, len(f.Props))
	}
	for name, of := range f.Props {
		if s.Props[name] = shapeOf(of); s.Props[name] == nil {
			s.Props[name] = &sandbox.Shape{}
		}
	}
	return s
}

// learn merges the result of a call into the type of its tool, and notes where
// it is not what all results before it were.
func (x *execution) learn(r bridge.Record) {
	if x.o.Learned == nil || r.Status != bridge.StatusOK {
		return
	}
	t, ok := x.b.Catalog().Tool(r.ID)
	if !ok || !x.o.learns(t) {
		return
	}
	for _, d := range x.o.Learned.Observe(t.Server, t.Name, r.Args, r.Value) {
		note := t.ID + ": " + d
		if x.drifts.add(note) && x.o.Audit != nil {
			x.o.Audit.Note(state.Event{Kind: state.EventDrift, Server: t.Server, Detail: note})
		}
	}
}

// drifts are the notes on results of one execution that were not as expected.
// It is safe for concurrent use.
type drifts struct {
	mu   sync.Mutex
	list []string
}

// maxDrifts is how many one execution tells.
const maxDrifts = 5

// add notes a drift, if it is new and not one too many.
func (d *drifts) add(note string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) >= maxDrifts || slices.Contains(d.list, note) {
		return false
	}
	d.list = append(d.list, note)
	return true
}

func (d *drifts) notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}
