package run

import (
	"maps"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// shapes returns the known shapes of the answers to calls: reads of other properties are noted.
func (x checker) shapes(scope *discovery.Catalog, calls []sandbox.CallSite) map[string]*sandbox.Shape {
	if x.o.DisableReadHints {
		return nil
	}
	shapes := make(map[string]*sandbox.Shape)
	types := x.e.catalog.Types()
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

// shapeOf converts what codegen knows of a value to the sandbox's type.
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

// learn merges the result of a call into the type of its tool, and notes where it differs from all
// earlier results.
func (x *Execution) learn(r bridge.Record) {
	if x.o.Learned == nil || r.Status != bridge.StatusOK {
		return
	}
	t := r.Resolved
	if t == nil || !x.e.catalog.Learns(t) {
		return
	}
	for _, d := range x.o.Learned.Observe(t.Server, t.OwnName(), r.Args, r.Value) {
		note := t.ID + ": " + d
		if x.heard.Drifts.Add(note) && x.o.Audit != nil {
			x.o.Audit.Note(state.Event{Kind: state.EventDrift, Server: t.Server, Detail: note})
		}
	}
}
