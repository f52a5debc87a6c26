package jsrun

import (
	"context"
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
