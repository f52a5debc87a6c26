package jsrun

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What statements start and nobody awaits outlives the grace period, and what is
// left behind in other ways does not.
func TestFloatingFunctionsRunToTheirEnd(t *testing.T) {
	const sleep = "const sleep = (ms) => new Promise((r) => setTimeout(r, ms));\n"
	for _, tt := range []struct{ name, code, stdout, value, notes string }{
		{"a function that sleeps", sleep + "async function main() { for (let i = 0; i < 3; i++) { await sleep(30); console.log(i) } }\nmain();\nconsole.log('started')", "started\n0\n1\n2\n", "", ""},
		{"void", sleep + "void (async () => { await sleep(30); console.log('end') })();\nreturn 1", "end\n", "1", ""},
		{"its rest in a catch", sleep + "(async () => { await sleep(30); throw new Error('x') })().catch((e) => console.log(e.message));\nconsole.log('y')", "y\nx\n", "", ""},
		{"an interval that resolves", "async function main() { let n = 0; await new Promise((r) => { const t = setInterval(() => { if (++n === 3) { clearInterval(t); r() } }, 20) }); console.log(n) }\nmain();\nconsole.log('a')", "a\n3\n", "", ""},
		{"a timer of a statement", "setTimeout(() => console.log('late'), 60);\nconsole.log('a')", "a\nlate\n", "", ""},
		{"a timer of a declaration", "const t = setTimeout(() => console.log('late'), 60);\nconsole.log('a')", "a\nlate\n", "", ""},
		{"one that is cleared", "const t = setTimeout(() => console.log('late'), 60);\nclearTimeout(t);\nconsole.log('a')", "a\n", "", ""},
		{"the timer of a race", "const late = (p, ms) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('late')), ms))]);\nreturn await late(Promise.resolve(1), 3600000)", "", "1", ""},
		{"a promise that nothing resolves", "async function main() { await new Promise(() => {}) }\nmain();\nreturn 1", "", "1", ""},
		{"a timer for after the limit", "setTimeout(() => {}, 3600000);\nreturn 1", "", "1", "1 setTimeout was still set"},
		{"an interval", "setInterval(() => {}, 3600000);\nreturn 1", "", "1", "a setInterval was still set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h := &memHost{}
			out := Run(ctx, Program{Code: tt.code, Limits: sandbox.Limits{Grace: time.Millisecond}}, h)
			notes := strings.Join(out.Notes, "\n")
			if out.ExitCode != sandbox.ExitOK || h.stdout.String() != tt.stdout || string(out.Value) != tt.value {
				t.Errorf("Run = %+v, printed %q; want %q and the value %q", out, h.stdout.String(), tt.stdout, tt.value)
			}
			if tt.notes == "" && notes != "" || !strings.Contains(notes, tt.notes) {
				t.Errorf("notes %q, want %q", notes, tt.notes)
			}
		})
	}
}

func TestFloatingFunctionThatDoesNotEnd(t *testing.T) {
	const code = "async function main() { await new Promise((r) => setTimeout(r, 3600000)) }\nmain();\n"
	for end, want := range map[string]int{"console.log(1)": sandbox.ExitTimeout, "return 1": sandbox.ExitOK} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if out := Run(ctx, Program{Code: code + end, Limits: sandbox.Limits{Grace: time.Millisecond}}, &memHost{}); out.ExitCode != want {
			t.Errorf("with %s: %+v, want exit %d", end, out, want)
		}
	}
}

func TestFloatingRejectionFailsTheRun(t *testing.T) {
	const code = "async function main() { await new Promise((r) => setTimeout(r, 30)); throw new Error('too late') }\nmain();\nconsole.log(1)"
	out := Run(t.Context(), Program{Code: code, Limits: sandbox.Limits{Grace: time.Millisecond}}, &memHost{})
	if out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "too late") {
		t.Errorf("Run = %+v, want the error of main", out)
	}
}
