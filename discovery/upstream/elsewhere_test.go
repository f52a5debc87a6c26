package upstream

import (
	"context"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A pool may know the tools of a server that another pool is still starting: the wait ends
// with the start, whatever comes of it.
func TestAwaitState(t *testing.T) {
	t.Parallel()
	cfg, dir := fake("s", fakeupstream.Good), t.TempDir()
	first := newPool(t, &Options{CacheDir: dir}, cfg)
	if st := first.Refresh(t.Context())[0]; st.Err != nil {
		t.Fatal(st.Err)
	}
	report := first.Report()
	first.Close()
	in := func(state State) []Elsewhere {
		e := report[0]
		e.State = state
		return []Elsewhere{e}
	}
	for _, ends := range []State{StateReady, StateFailed, StateCached, StateNeedsSignIn} {
		p := newPool(t, &Options{CacheDir: dir}, cfg)
		p.Observe(in(StateStarting))
		if st := p.Status()[0]; st.State != StateStarting || st.Tools == 0 {
			t.Fatalf("observed %+v, want a server with tools that is being started", st)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		p.AwaitState(gone, "s")
		if st := p.Status()[0]; st.State != StateStarting {
			t.Errorf("a wait without time ends with %+v", st)
		}
		done := make(chan State, 1)
		go func() {
			p.AwaitState(t.Context(), "s")
			done <- p.Status()[0].State
		}()
		p.Observe(in(ends))
		if got := <-done; got != ends {
			t.Errorf("the wait ended with %s, want %s", got, ends)
		}
		p.AwaitState(t.Context(), "unknown") // returns
	}
}
