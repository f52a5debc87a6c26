package script

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-sourcemap/sourcemap"
)

// A sourceMap maps a script that esbuild has built to the text of the program.
type sourceMap struct {
	raw      []byte              // as esbuild writes it
	consumer *sourcemap.Consumer // of the script
	before   int                 // columns before the program's first line
}

// sourceMap parses the source map. The script begins a line before the output of esbuild, and goja
// counts columns from 1.
func (b built) sourceMap(src *Source) (sourceMap, error) {
	m := sourceMap{raw: b.smap, before: len(src.before)}
	var err error
	m.consumer, err = sourcemap.Parse("", fmt.Appendf(nil, `{"version":3,"sections":[{"offset":{"line":1,"column":1},"map":%s}]}`, b.smap))
	return m, err
}

// column returns the column, from 1, in the program's own text for a column of the source map.
func (m sourceMap) column(line, column int) int {
	if line == 1 {
		column = max(0, column-m.before)
	}
	return column + 1
}

// origin returns the position in the program for a position in the script.
func (m sourceMap) origin(program string, line, column int) (fromLine, fromColumn int, ok bool) {
	if m.consumer == nil {
		return 0, 0, false
	}
	source, _, fromLine, fromColumn, ok := m.consumer.Source(line, column)
	return fromLine, m.column(fromLine, fromColumn), ok && source == program
}

// parts returns the sources and the mappings.
func (m sourceMap) parts() (sources []string, mappings string) {
	var parts struct {
		Sources  []string
		Mappings string
	}
	if json.Unmarshal(m.raw, &parts) != nil {
		return nil, "" // text of esbuild itself
	}
	return parts.Sources, strings.TrimRight(parts.Mappings, ";")
}
