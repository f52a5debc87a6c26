package lines

import (
	"strings"
	"testing"
)

func TestRingKeepsTheEnd(t *testing.T) {
	r := NewRing()
	r.CopyFrom(strings.NewReader("first\n" + strings.Repeat("line\n", 200) + "\x1b[31mError: red\x1b[0m\u200b\n" + strings.Repeat("y", 10_000) + "\n    at frame"))
	lines := r.Lines()
	if len(lines) != 100 || lines[97] != "Error: red" || lines[99] != "    at frame" || len(lines[98]) > 3000 {
		t.Errorf("%d lines, the last ones %.50q", len(lines), lines[97:])
	}
	r.CopyFrom(strings.NewReader(strings.Repeat(strings.Repeat("z", 1000)+"\n", 50)))
	size := 0
	for _, l := range r.Lines() {
		size += len(l)
	}
	if size > 16<<10 {
		t.Errorf("%d bytes are kept", size)
	}
}
