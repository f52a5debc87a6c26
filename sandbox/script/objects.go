package script

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// makers are words of which every program contains one whose values may have content outside their
// properties: a Map, a caught Error, an iterator.
var makers = set("Map Set Error ToolError TypeError RangeError AggregateError catch allSettled RegExp URL URLSearchParams Promise ArrayBuffer Buffer buffer " +
	"async class yield entries values keys matchAll eval Function globalThis")

// MakesObjects reports whether the program may have values with content outside their properties.
func (src *Source) MakesObjects() bool {
	for i, t := range src.Tokens.List {
		if t.Kind == Regexp || t.Kind == Word && makers[src.Tokens.Text(i)] {
			return true
		}
	}
	return slices.ContainsFunc(src.Modules, func(m sandbox.Module) bool { return m.Global == "" }) // modules may make them
}

// HasGetters reports whether the program has classes with getters.
func (src *Source) HasGetters() bool { return src.Names["class"] && src.Names["get"] }
