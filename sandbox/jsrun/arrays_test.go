package jsrun

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// goja's own way with 120,000 elements takes minutes.
func TestLongQueues(t *testing.T) {
	for name, code := range map[string]string{
		"shift":   "const q = Array.from({ length: 12e4 }, (_, i) => i); let n = 0; while (q.length) { q.shift(); n++ } return n",
		"deque":   "const q = Array.from({ length: 24e4 }, (_, i) => i); let n = 0; while (q.length) { q.shift(); q.pop(); n++ } return n",
		"unshift": "const q = []; for (let i = 0; i < 12e4; i++) q.unshift(i); return q.length",
		"search":  "const q = [0]; let n = 1; while (q.length) { q.shift(); for (let i = 0; i < 3 && n < 12e4; i++) q.push(n++) } return n",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out := Run(ctx, Program{Language: sandbox.JavaScript, Code: code}, &memHost{})
			if string(out.Value) != "120000" {
				t.Fatalf("Run = %+v, want 120000", out)
			}
		})
	}
}

// An iterator makes an object of each element: the 500,000 of these lists are
// 8 MB on their own.
func TestSpreadingDoesNotAskForEachElement(t *testing.T) {
	const code = "let a = []; for (let i = 0; i < 1000; i++) a = [...a, i]; return a.length"
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	out := Run(t.Context(), Program{Language: sandbox.JavaScript, Code: code}, &memHost{})
	goruntime.ReadMemStats(&after)
	if string(out.Value) != "1000" {
		t.Fatalf("Run = %+v, want 1000", out)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 40<<20 {
		t.Errorf("%d bytes", got)
	}
}
