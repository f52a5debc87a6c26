package run

import (
	"maps"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// shapesOf returns the known shapes of the answers to calls: reads of other properties are noted.
func shapesOf(types *codegen.Generator, scope *discovery.Catalog, calls []sandbox.CallSite) map[string]*sandbox.Shape {
	shapes := make(map[string]*sandbox.Shape)
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
