package worker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func run(t *testing.T, r sandbox.Runner, req sandbox.Request) sandbox.Result {
	t.Helper()
	if req.Code == "" {
		req.Code = "return 1 + 1"
	}
	res, err := r.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 0 || string(res.Value) != "2" {
		t.Errorf("%+v, want the value 2", res)
	}
	return res
}

func TestSparesAreReplacedWhenTheyAreUsed(t *testing.T) {
	r := New(&Options{Spares: 2}).(*runner)
	defer r.Close()
	seen := make(map[int]bool)
	for range 4 {
		spares, _ := r.pool.Waiting()
		if len(spares) != 2 {
			t.Fatalf("%d spares, want 2", len(spares))
		}
		for _, s := range spares {
			seen[s.cmd.Process.Pid] = true
		}
		run(t, r, sandbox.Request{})
	}
	if len(seen) != 5 {
		t.Errorf("%d different processes waited, want 5: the first two and one for each of the first three runs", len(seen))
	}
}

func TestASpareThatDiedIsNotUsed(t *testing.T) {
	r := New(nil).(*runner)
	defer r.Close()
	spares, _ := r.pool.Waiting()
	spares[0].cmd.Process.Kill()
	<-spares[0].crash.done
	run(t, r, sandbox.Request{})
}

func TestSparesFollowTheMemoryLimit(t *testing.T) {
	r := New(&Options{MemoryBytes: 512 << 20}).(*runner)
	defer r.Close()
	if _, memory := r.pool.Waiting(); !slices.Equal(memory, []int64{512 << 20}) {
		t.Errorf("the first spares are for %d bytes", memory)
	}
	for _, memory := range []int64{128 << 20, 128 << 20, 256 << 20} {
		run(t, r, sandbox.Request{Limits: sandbox.Limits{MemoryBytes: memory}})
		if _, got := r.pool.Waiting(); len(got) == 0 || slices.ContainsFunc(got, func(m int64) bool { return m != memory }) {
			t.Errorf("after a run with %d bytes the spares are for %d", memory, got)
		}
	}
}

func TestRunAfterCloseIsAnError(t *testing.T) {
	r := New(nil)
	r.Close()
	if _, err := r.Run(t.Context(), sandbox.Request{Code: "1"}); err != ErrClosed {
		t.Errorf("error %v, want %v", err, ErrClosed)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestProcessorTimeIsReported(t *testing.T) {
	r := New(nil)
	defer r.Close()
	if res := run(t, r, sandbox.Request{}); res.CPU <= 0 || res.Duration <= 0 {
		t.Errorf("CPU %v in %v", res.CPU, res.Duration)
	}
}

// Fifty programs at once.
func TestFiftyAtOnce(t *testing.T) {
	sandboxtest.Turns(t, func(*testing.T) sandbox.Runner { return New(&Options{Spares: 2}) }, 50, sandbox.JavaScript, func(n int) string {
		return fmt.Sprintf(`return (await callMCPTool("demo__echo", {i: %d})).i`, n)
	})
}
