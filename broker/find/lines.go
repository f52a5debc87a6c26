package find

import (
	"sync"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// A lineCache keeps the lines of the tools of one catalogue that answers have shown: a
// line is made by decoding the schema of its tool, which is a quarter of a search. The
// zero value is ready for use, by several goroutines.
type lineCache struct {
	mu   sync.Mutex
	of   *discovery.Catalog
	kept map[*discovery.Tool]codegen.Line // as many as the catalogue has tools, at most
}

// get returns the line of a tool of the catalogue c, which make makes if it is not there.
func (l *lineCache) get(c *discovery.Catalog, t *discovery.Tool, make func() codegen.Line) codegen.Line {
	l.mu.Lock()
	line, ok := l.kept[t]
	ok = ok && l.of == c
	l.mu.Unlock()
	if ok {
		return line
	}
	line = make()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != c {
		l.of, l.kept = c, map[*discovery.Tool]codegen.Line{}
	}
	l.kept[t] = line
	return line
}

// line returns the line of a tool. What was learned of results changes from call to
// call, and is not kept.
func (w renderer) line(s *discovery.Server, t *discovery.Tool) codegen.Line {
	if w.lines == nil || w.types.Output != nil && w.types.Output(t) != nil {
		return w.types.Line(s, t)
	}
	return w.lines.get(w.scope, t, func() codegen.Line { return w.types.Line(s, t) })
}
