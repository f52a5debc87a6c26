package statetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a Audits) killed(t *testing.T) {
	at := a.New(t)
	c := StartChild(t, at)

	s := a.open(t, at, state.Keep{})
	if e, _ := show(t, s, c.ID); e.Status != state.StatusRunning || e.Calls != 2 {
		t.Errorf("while its owner lives: status %q with %d calls, want running with 2", e.Status, e.Calls)
	}
	c.Kill(t)
	// The store was open before: reading has to see it too.
	var e state.Execution
	var calls []state.Call
	eventually.True(t, "the execution of a process that is gone is interrupted", func() bool {
		e, calls = show(t, s, c.ID)
		return e.Status == state.StatusInterrupted
	})
	if e.Status != state.StatusInterrupted || e.Calls != 2 || e.BytesIn != 200 || len(calls) != 2 {
		t.Errorf("after kill: status %q, %d calls, %d bytes in, %d call rows; want interrupted, 2, 200, 2", e.Status, e.Calls, e.BytesIn, len(calls))
	}
	list, err := s.List(t.Context(), state.Filter{Status: state.StatusInterrupted})
	if err != nil || len(list) != 1 || list[0].ID != c.ID {
		t.Errorf("List(interrupted) = %v, %v, want the killed execution", list, err)
	}
}

func (a Audits) survivor(t *testing.T) {
	at := a.New(t)
	victim, survivor := StartChild(t, at), StartChild(t, at)
	victim.Kill(t)
	s := a.open(t, at, state.Keep{})
	if e, _ := show(t, s, survivor.ID); e.Status != state.StatusRunning {
		t.Errorf("survivor's execution is %q, want running", e.Status)
	}
	survivor.Finish(t)
	if e, _ := show(t, s, survivor.ID); e.Status != state.StatusDone {
		t.Errorf("survivor's execution is %q after it has ended, want done", e.Status)
	}
	eventually.True(t, "the victim's execution is interrupted", func() bool {
		e, _ := show(t, s, victim.ID)
		return e.Status == state.StatusInterrupted
	})
}

func (a Audits) openedAtOnce(t *testing.T) {
	at := a.New(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := a.Open(at, state.Keep{})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				id := s.Begin(state.Execution{})
				if err := s.Finish(state.Execution{ID: id}); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	one, two := StartChild(t, at), StartChild(t, at)
	one.Finish(t)
	two.Finish(t)
	wg.Wait()
	stats, err := a.open(t, at, state.Keep{}).Stats(t.Context(), time.Time{})
	if want := 4*20 + 2*2; err != nil || stats.Executions != want || stats.ByStatus[state.StatusDone] != want {
		t.Errorf("Stats = %+v, %v, want %d executions done", stats, err, want)
	}
}

// committedSoon measures until another one sees a call. A busy machine may
// delay that, so the quickest of some attempts counts.
func (a Audits) committedSoon(t *testing.T) {
	at := a.New(t)
	s, reader := a.open(t, at, state.Keep{}), a.open(t, at, state.Keep{})
	id := s.Begin(state.Execution{})
	best := time.Hour
	for n := range 20 {
		recorded := time.Now()
		s.Record(state.Call{ExecutionID: id, Server: "git", Tool: "log", Status: state.CallOK})
		eventually.True(t, "the call is visible to another one", func() bool {
			_, calls, err := reader.Show(t.Context(), id)
			return err == nil && len(calls) == n+1
		})
		if best = min(best, time.Since(recorded)); best <= 50*time.Millisecond {
			return
		}
	}
	t.Errorf("a call is committed after %s at the earliest, want at most 50 ms", best)
}

func (a Audits) committedByFinish(t *testing.T) {
	at := a.New(t)
	s, reader := a.open(t, at, state.Keep{}), a.open(t, at, state.Keep{})
	for range 20 {
		id := s.Begin(state.Execution{})
		s.Record(state.Call{ExecutionID: id})
		if err := s.Finish(state.Execution{ID: id}); err != nil {
			t.Fatal(err)
		}
		if e, calls := show(t, reader, id); e.Status != state.StatusDone || len(calls) != 1 {
			t.Fatalf("after Finish another one sees %q with %d calls, want done with 1", e.Status, len(calls))
		}
	}
}

func (a Audits) concurrent(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	const executions, calls = 20, 30
	var wg sync.WaitGroup
	for i := range executions {
		wg.Go(func() {
			id := s.Begin(state.Execution{Client: fmt.Sprint(i)})
			var inner sync.WaitGroup
			for seq := range calls {
				inner.Go(func() { s.Record(state.Call{ExecutionID: id, Seq: seq, Server: "s", Tool: "t", Status: state.CallOK}) })
			}
			inner.Wait()
			if err := s.Finish(state.Execution{ID: id, Calls: calls}); err != nil {
				t.Error(err)
				return
			}
			// What was recorded before is committed with it.
			if _, got, err := s.Show(t.Context(), id); err != nil || len(got) != calls {
				t.Errorf("execution %d has %d calls, %v; want %d", i, len(got), err, calls)
			}
		})
	}
	wg.Wait()
	stats, err := s.Stats(t.Context(), time.Time{})
	if err != nil || stats.Executions != executions || stats.Calls != executions*calls {
		t.Errorf("Stats = %+v, %v", stats, err)
	}
}
