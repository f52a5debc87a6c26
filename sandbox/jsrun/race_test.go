package jsrun

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A call that has lost a race is not waited for, whatever the race was about; one
// that nobody ever awaited is. The run of a program that waits ends with its limit
// or after the grace period, both long after the one of a program that does not.
func TestCallsThatLostARaceAreCancelled(t *testing.T) {
	const (
		never   = "callMCPTool('slow__never')"
		timeout = "new Promise((_, no) => setTimeout(() => no(new Error('late')), 5))"
		note    = "call to slow__never was still running when the script ended; it was cancelled, but may have run"
	)
	for _, tt := range []struct {
		name, code string
		waits      bool
		value      string
	}{
		{"a call", "await Promise.race([" + never + ", " + timeout + "]).catch(() => {}); return 1", false, "1"},
		{"what a call comes to", "await Promise.race([" + never + ".then((x) => x.items).catch(() => []), " + timeout + "]).catch(() => {}); return 1", false, "1"},
		{"an async function", "const load = async () => { const r = await " + never + "; return r.x }; try { await Promise.race([load(), " + timeout + "]) } catch (e) { return e.message }", false, `"late"`},
		{"all of some", "await Promise.race([Promise.all([" + never + "]), " + timeout + "]).catch(() => {}); return 1", false, "1"},
		{"any", "return await Promise.any([" + never + ", Promise.resolve(1)])", false, "1"},
		{"the timer has lost", "return await Promise.race([1, new Promise((done) => setTimeout(done, 3600000))])", false, "1"},
		{"a call beside a race", "const p = " + never + "; return await Promise.race([1, new Promise((done) => setTimeout(done, 3600000))])", true, "1"},
		{"a statement beside a race", never + "; const load = async () => { await " + never + " }; await Promise.race([load(), " + timeout + "]).catch(() => {}); return 1", true, "1"},
		{"nobody awaits it", "const p = " + never + "; return 1", true, "1"},
		{"forEach with async", "[1].forEach(async () => { await " + never + " }); return 1", true, "1"},
		{"a timer beside a race", "const later = () => { setTimeout(() => {}, 50) }; later(); return await Promise.race([1, new Promise((done) => setTimeout(done, 3600000))])", true, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			grace := time.Minute // longer than the test may take
			if tt.waits {
				grace = 50 * time.Millisecond
			}
			start := time.Now()
			out := Run(ctx, Program{Code: tt.code, Limits: sandbox.Limits{Grace: grace}}, &memHost{})
			took := time.Since(start)
			if out.ExitCode != sandbox.ExitOK || string(out.Value) != tt.value {
				t.Fatalf("Run = %+v, want the value %s", out, tt.value)
			}
			if tt.waits != (took >= grace) {
				t.Errorf("took %s, with a grace period of %s", took, grace)
			}
			if notes := strings.Join(out.Notes, "\n"); strings.Contains(tt.code, never) && !strings.Contains(notes, strings.TrimPrefix(note, "call to ")) && !strings.Contains(notes, "calls to slow__never") {
				t.Errorf("notes %q, want %q", notes, note)
			}
		})
	}
}
