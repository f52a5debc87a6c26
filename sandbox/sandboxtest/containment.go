package sandboxtest

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// hostile programs use up memory or the stack, or stay where the engine
// cannot be interrupted. Which limit ends them depends on the machine.
var hostile = []struct{ name, code string }{
	{name: "arrays for ever", code: `const a = []; for (;;) a.push(new Array(1e6).fill(1))`},
	{name: "objects for ever", code: `const a = []; for (;;) a.push({a: {}, b: [1, 2, 3], c: "x" + a.length})`},
	{name: "one huge buffer", code: `const b = new Uint8Array(8e9); b.fill(1)`},
	{name: "large buffers", code: `const a = []; for (;;) a.push(new Uint8Array(2 ** 28).fill(1))`},
	{name: "a huge array is filled", code: `new Array(2 ** 32 - 1).fill(0)`},
	{name: "a huge array is joined", code: `new Array(2 ** 32 - 1).join("x")`},
	{name: "a huge array-like is searched", code: `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`},
	{name: "a huge integer", code: `2n ** (2n ** 34n)`},
	{name: "a pattern that backtracks", code: `/^(?=(a+)+$)(a+)+$/.test("a".repeat(60) + "b")`},
	{name: "a cycle is flattened", code: `const a = []; a.push(a); a.flat(Infinity)`},
	{name: "eval of a million brackets", code: `eval("(".repeat(1e6))`},
	{name: "JSON of a million brackets", code: `JSON.parse("[".repeat(1e6) + "]".repeat(1e6))`},
	{name: "output for ever", code: `for (;;) console.log("x".repeat(1e5))`},
	{name: "calls for ever", code: `for (;;) callMCPTool("demo__echo", {})`},
	{name: "calls with large arguments for ever", code: `const s = "x".repeat(1e6); for (;;) callMCPTool("demo__echo", {s})`},
}

func runContainment(t *testing.T, new func(*testing.T) sandbox.Runner) {
	t.Run("the memory limit is told", func(t *testing.T) {
		for _, code := range []string{`let s = "x"; for (;;) s += s`, `const a = []; for (;;) a.push("x".repeat(1e7 + a.length))`} {
			got := start(t, new).do(t.Context(), sandbox.Request{Code: code, Limits: sandbox.Limits{MemoryBytes: 128 << 20}})
			got.want(t, sandbox.ExitMemory, "", "memory limit of 128 MiB")
		}
	})
	limits := sandbox.Limits{Timeout: 400 * time.Millisecond, MemoryBytes: 128 << 20}
	for _, c := range hostile {
		t.Run("contained: "+c.name, func(t *testing.T) {
			r := start(t, new)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := r.do(t.Context(), sandbox.Request{
				Code: c.code, Limits: limits,
				Call: func(ctx context.Context, c sandbox.Call) (raw, error) {
					<-ctx.Done() // so that calls pile up
					return nil, ctx.Err()
				},
				Stdout: discard{}, Stderr: discard{},
			})
			runtime.ReadMemStats(&after)
			codes := []int{sandbox.ExitThrew, sandbox.ExitTimeout, sandbox.ExitMemory}
			if !slices.Contains(codes, got.ExitCode) {
				t.Errorf("exit code %d, want one of %v; error: %s", got.ExitCode, codes, got.Error)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
				t.Errorf("the host grew by %d MiB", grown>>20)
			}
			r.do(t.Context(), sandbox.Request{Code: codeAdd}).want(t, sandbox.ExitOK, "2")
		})
	}
}

// discard is a writer that, unlike nil, is written to.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
