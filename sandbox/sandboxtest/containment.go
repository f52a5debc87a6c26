package sandboxtest

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

// maxHostBytes is how much the host may grow while all attacks run.
const maxHostBytes = 100 << 20

// Attacks goes through the list of attacks of a kind on a runner that new makes.
// Of the features it looks at Containment, without which only tame attacks are
// tried, and SlowStart, which leaves most of them out.
func Attacks(t *testing.T, new func(*testing.T) sandbox.Runner, kind attack.Kind, features ...Feature) {
	opts := attack.Options{
		Kind: kind, Tame: !slices.Contains(features, Containment), Every: 1,
		Timeout: 300 * time.Millisecond, Parallel: 4,
	}
	if slow(features) {
		opts.Every = 6
	}
	r := start(t, new)
	rep := attack.Run(t.Context(), r, opts)
	for _, o := range rep.Outcomes {
		if !o.Contained {
			t.Errorf("%s: %s (%s, %v): %s", o.Group, o.Name, o.How, o.Took, o.Problem)
		}
	}
	if len(rep.Outcomes) == 0 {
		t.Error("no attack was tried")
	}
	if rep.HostGrown > maxHostBytes {
		t.Errorf("the host grew by %d MiB", rep.HostGrown>>20)
	}
}

// slow says whether the suite shall run fewer programs than it could.
func slow(features []Feature) bool {
	return slices.Contains(features, SlowStart) && *executions == defaultExecutions
}

func runContainment(t *testing.T, new func(*testing.T) sandbox.Runner, boundedText bool) {
	t.Run("the memory limit is told", func(t *testing.T) {
		limits := sandbox.Limits{MemoryBytes: 128 << 20}
		got := start(t, new).do(t.Context(), sandbox.Request{Code: `let s = "x"; for (;;) s += s`, Limits: limits})
		if boundedText {
			got.want(t, sandbox.ExitThrew, "", "RangeError: Invalid string length")
		} else {
			got.want(t, sandbox.ExitMemory, "", "memory limit of 128 MiB")
		}
		got = start(t, new).do(t.Context(), sandbox.Request{Code: `const a = []; for (;;) a.push("x".repeat(1e7 + a.length).split(""))`, Limits: limits})
		got.want(t, sandbox.ExitMemory, "", "memory limit of 128 MiB")
	})
	t.Run("waiting for a slow call is told from a loop", func(t *testing.T) { // alone: engines are slow to report processor time while containers start
		limits := sandbox.Limits{Timeout: 1500 * time.Millisecond}
		got := start(t, new).do(t.Context(), sandbox.Request{Code: codeCall, Limits: limits, Call: hang(make(chan struct{}), make(chan struct{}))})
		got.want(t, sandbox.ExitTimeout, "", "time limit of 1.5 s", "processor time: ", "it was waiting, not computing")
		got = start(t, new).do(t.Context(), sandbox.Request{Code: `for (;;);`, Limits: limits})
		got.want(t, sandbox.ExitTimeout, "", "time limit of 1.5 s", "processor time: ")
	})
}
