package script

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-sourcemap/sourcemap"
)

// A sourceMap says where the text of a script comes from that esbuild has built.
type sourceMap struct {
	raw      []byte              // as esbuild writes it
	consumer *sourcemap.Consumer // of the script
	before   int                 // columns in front of the program's first line
}

// sourceMap reads the source map. The script begins a line earlier than what esbuild
// has written, and goja counts columns from 1.
func (b built) sourceMap(src *Source) (sourceMap, error) {
	m := sourceMap{raw: b.smap, before: len(src.before)}
	var err error
	m.consumer, err = sourcemap.Parse("", fmt.Appendf(nil, `{"version":3,"sections":[{"offset":{"line":1,"column":1},"map":%s}]}`, b.smap))
	return m, err
}

// column is the column, from 1, of the program's own text for one of the source map.
func (m sourceMap) column(line, column int) int {
	if line == 1 {
		column = max(0, column-m.before)
	}
	return column + 1
}

// origin is where in the program what stands at a place of the script comes from.
func (m sourceMap) origin(program string, line, column int) (fromLine, fromColumn int, ok bool) {
	if m.consumer == nil {
		return 0, 0, false
	}
	source, _, fromLine, fromColumn, ok := m.consumer.Source(line, column)
	return fromLine, m.column(fromLine, fromColumn), ok && source == program
}

// parts are the sources and the mappings.
func (m sourceMap) parts() (sources []string, mappings string) {
	var parts struct {
		Sources  []string
		Mappings string
	}
	if json.Unmarshal(m.raw, &parts) != nil {
		return nil, "" // esbuild's own
	}
	return parts.Sources, strings.TrimRight(parts.Mappings, ";")
}
