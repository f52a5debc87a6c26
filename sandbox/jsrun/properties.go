package jsrun

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// propertyRanges are properties of characters that package unicode leaves out, most
// of all what Unicode 16 says of emoji: a property on each line, and its ranges.
//
//go:embed properties.txt
var propertyRanges string

var propertyTables = sync.OnceValue(func() map[string]*unicode.RangeTable {
	tables := make(map[string]*unicode.RangeTable)
	for line := range strings.Lines(propertyRanges) {
		fields := strings.Fields(line)
		t := new(unicode.RangeTable)
		for _, field := range fields[1:] {
			r := unicode.Range32{Stride: 1}
			if n, _ := fmt.Sscanf(field, "%x-%x", &r.Lo, &r.Hi); n == 1 {
				r.Hi = r.Lo
			}
			t.R32 = append(t.R32, r)
		}
		tables[fields[0]] = t
	}
	return tables
})
