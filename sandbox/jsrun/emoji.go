package jsrun

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// emojiRanges are what Unicode 16 says of emoji, which package unicode leaves
// out: a property on each line, and its ranges.
//
//go:embed emoji.txt
var emojiRanges string

var emojiTables = sync.OnceValue(func() map[string]*unicode.RangeTable {
	tables := make(map[string]*unicode.RangeTable)
	for line := range strings.Lines(emojiRanges) {
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
