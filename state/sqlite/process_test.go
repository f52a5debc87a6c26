package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

func TestKilledProcessLeavesItsCallsAndIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, dir)

	s := open(t, dir, nil)
	if e, _ := show(t, s, c.id); e.Status != StatusRunning || e.Calls != 2 {
		t.Errorf("while its owner lives: status %q with %d calls, want running with 2", e.Status, e.Calls)
	}
	c.kill(t)
	// The store was open before: reading has to see it too.
	e, calls := show(t, s, c.id)
	if e.Status != StatusInterrupted || e.Calls != 2 || e.BytesIn != 200 || len(calls) != 2 {
		t.Errorf("after kill: status %q, %d calls, %d bytes in, %d call rows; want interrupted, 2, 200, 2", e.Status, e.Calls, e.BytesIn, len(calls))
	}
	list, err := s.List(t.Context(), Filter{Status: StatusInterrupted})
	if err != nil || len(list) != 1 || list[0].ID != c.id {
		t.Errorf("List(interrupted) = %v, %v, want the killed execution", list, err)
	}
}

func TestOpenMarksWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, dir)
	c.kill(t)
	open(t, dir, nil)
	reader, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	eventually(t, "the row itself says interrupted and its owner is forgotten", func() bool {
		var status string
		var owners int
		err := reader.db.QueryRowContext(t.Context(), "SELECT status, (SELECT count(*) FROM owners) FROM executions WHERE id = ?", c.id).Scan(&status, &owners)
		if err != nil {
			t.Fatal(err)
		}
		return status == StatusInterrupted && owners == 0
	})
	if e, _ := show(t, reader, c.id); e.Ended.IsZero() || e.Calls != 2 || e.BytesIn != 200 {
		t.Errorf("interrupted execution %+v, want the end, calls and bytes that are known", e)
	}
}

func TestTheOtherBrokerGoesOnWhenOneIsKilled(t *testing.T) {
	dir := t.TempDir()
	victim, survivor := startChild(t, dir), startChild(t, dir)
	victim.kill(t)
	s := open(t, dir, nil)
	if e, _ := show(t, s, survivor.id); e.Status != StatusRunning {
		t.Errorf("survivor's execution is %q, want running", e.Status)
	}
	survivor.finish(t)
	if e, _ := show(t, s, survivor.id); e.Status != StatusDone {
		t.Errorf("survivor's execution is %q after it has ended, want done", e.Status)
	}
	if e, _ := show(t, s, victim.id); e.Status != StatusInterrupted {
		t.Errorf("victim's execution is %q, want interrupted", e.Status)
	}
}

func TestProcessesOpenOneNewDirectoryAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				id := s.Begin(Execution{})
				if err := s.Finish(Execution{ID: id}); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	a, b := startChild(t, dir), startChild(t, dir)
	a.finish(t)
	b.finish(t)
	wg.Wait()
	stats, err := open(t, dir, nil).Stats(t.Context(), time.Time{})
	if want := 4*20 + 2*2; err != nil || stats.Executions != want || stats.ByStatus[StatusDone] != want {
		t.Errorf("Stats = %+v, %v, want %d executions done", stats, err, want)
	}
}

func TestCallIsCommittedWithoutWaitingForItsExecution(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	id := s.Begin(Execution{})
	s.Record(Call{ExecutionID: id, Server: "git", Tool: "log", Status: CallOK})
	reader := open(t, dir, nil)
	eventually(t, "the call is visible to another connection", func() bool {
		_, calls, err := reader.Show(t.Context(), id)
		return err == nil && len(calls) == 1
	})
}

// eventually polls, since another process or goroutine does what is waited for.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never true: %s", what)
		}
	}
}

func TestOwnerIsKnownByMoreThanItsNumber(t *testing.T) {
	me, now := self(), time.Now()
	gone := me
	gone.start += "0"
	rebooted := me
	rebooted.boot = "another"
	container := me
	container.space = "another"
	for _, tt := range []struct {
		name string
		p    process
		last time.Time
		want bool
	}{
		{"this process", me, now, true},
		{"another that had its number", gone, now, false},
		{"one before the system was started anew", rebooted, now, false},
		{"one in another container, lately", container, now, true},
		{"one in another container, long ago", container, now.Add(-2 * foreignGrace), false},
	} {
		if got := tt.p.alive(tt.last); got != tt.want {
			t.Errorf("%s: alive = %t, want %t", tt.name, got, tt.want)
		}
	}
	if start, exists := processStart(os.Getpid()); !exists {
		t.Errorf("processStart(self) = %q, %t", start, exists)
	}
	if _, exists := processStart(1 << 30); exists {
		t.Error("a process that cannot be exists")
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	const executions, calls = 20, 30
	var wg sync.WaitGroup
	for i := range executions {
		wg.Go(func() {
			id := s.Begin(Execution{Client: fmt.Sprint(i)})
			var inner sync.WaitGroup
			for seq := range calls {
				inner.Go(func() { s.Record(Call{ExecutionID: id, Seq: seq, Server: "s", Tool: "t", Status: CallOK}) })
			}
			inner.Wait()
			if err := s.Finish(Execution{ID: id, Calls: calls}); err != nil {
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
