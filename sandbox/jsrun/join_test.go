package jsrun

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// The memory that a loop of s += x takes says whether it copies: 20,000 copies
// of half the text on average are 200 MB.
func TestAppendingDoesNotCopy(t *testing.T) {
	const n = 20_000
	for name, code := range map[string]string{
		"variable": "let s = ''; for (let i = 0; i < %d; i++) s += 'x'; return s.length",
		"plus":     "let s = ''; for (let i = 0; i < %d; i++) s = s + 'x'; return s.length",
		"property": "const o = { s: '' }; for (let i = 0; i < %d; i++) o.s += 'x'; return o.s.length",
		"unicode":  "let s = 'é'; for (let i = 1; i < %d; i++) s += 'x'; return s.length",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			out := Run(t.Context(), Program{Language: sandbox.JavaScript, Code: fmt.Sprintf(code, n)}, &memHost{})
			goruntime.ReadMemStats(&after)
			if string(out.Value) != fmt.Sprint(n) {
				t.Fatalf("Run = %+v, want %d", out, n)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 40<<20 {
				t.Errorf("%d bytes for a text of %d", got, n)
			}
		})
	}
}

// BenchmarkAppend compares s += x, 100,000 times, with what does the same in
// linear time on its own.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"append", "let s = ''; for (let i = 0; i < 1e5; i++) s += 'x'; return s.length"},
		{"push-and-join", "const s = []; for (let i = 0; i < 1e5; i++) s.push('x'); return s.join('').length"},
		{"engine-alone", "let s; for (let i = 0; i < 1e5; i++) s = i ? s + (i ? 'x' : 0) : 'x'; return s.length"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out := Run(b.Context(), Program{Language: sandbox.JavaScript, Code: c.code}, &memHost{})
				if !strings.HasPrefix(string(out.Value), "100000") {
					b.Fatal(out)
				}
			}
		})
	}
}
