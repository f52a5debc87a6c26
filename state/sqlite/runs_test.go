package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestRunsSuite(t *testing.T) {
	statetest.Runs{
		New:  func(t testing.TB) string { return t.TempDir() },
		Open: func(at string) (statetest.RunStore, error) { return NewRuns(at, nil), nil },
	}.Run(t)
}

// A write costs two of these: its intent and its result.
func BenchmarkRecordIntent(b *testing.B) {
	for _, class := range []string{"write", "destructive"} {
		b.Run(class, func(b *testing.B) {
			r := NewRuns(b.TempDir(), nil)
			defer r.Close()
			j := r.Begin(state.Run{})
			for n := 1; b.Loop(); n++ {
				c := state.RunCall{Ordinal: n, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"n":1}`), Class: class, State: state.RunIntent}
				if err := j.Record(c, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The disk is full, or something else is wrong: a call that cannot be recorded must
// not be sent.
func TestRecordFailsWithoutDisk(t *testing.T) {
	r := NewRuns("/dev/null/nowhere", nil)
	defer r.Close()
	if err := r.Begin(state.Run{}).Record(state.RunCall{Ordinal: 1, State: state.RunIntent}, true); err == nil {
		t.Error("a call was recorded nowhere")
	}
}

// Many runs make calls at the same time: one writes, others only read, while the list
// of runs is read.
func BenchmarkParallelRuns(b *testing.B) {
	for _, class := range []string{"write", "destructive"} {
		for _, looking := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/looking=%t", class, looking), func(b *testing.B) {
				r := NewRuns(b.TempDir(), nil)
				defer r.Close()
				ctx, cancel := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				defer func() { cancel(); wg.Wait() }()
				if looking {
					wg.Go(func() {
						for ctx.Err() == nil {
							_, _ = r.Runs(ctx, 100)
						}
					})
				}
				var reads, slowest atomic.Int64
				b.SetParallelism(8) // times the processors
				b.RunParallel(func(pb *testing.PB) {
					j := r.Begin(state.Run{})
					for n := 1; pb.Next(); n++ {
						c := state.RunCall{Ordinal: n % 500, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"n":1}`), Class: class, State: state.RunIntent}
						if err := j.Record(c, true); err != nil {
							b.Error(err)
						}
						c.State, c.Value = state.RunDone, json.RawMessage(`{"ok":true}`)
						start := time.Now()
						if err := j.Record(c, false); err != nil {
							b.Error(err)
						}
						took := time.Since(start)
						reads.Add(int64(took))
						for {
							was := slowest.Load()
							if int64(took) <= was || slowest.CompareAndSwap(was, int64(took)) {
								break
							}
						}
					}
				})
				b.ReportMetric(float64(reads.Load())/float64(b.N), "ns/unwaited")
				b.ReportMetric(float64(slowest.Load())/1e6, "ms-slowest-unwaited")
			})
		}
	}
}

// While one run waits for the disk, calls of others that need no commit do not wait,
// and readers of runs return when their context is done. Waiting calls are then
// committed together, and one that cannot be committed does not affect the others.
func TestRunsDoNotWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	r := NewRuns(dir, nil)
	defer r.Close()
	call := func(n int, as string) state.RunCall {
		return state.RunCall{Ordinal: n, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"n":1}`), Class: "write", State: as}
	}
	ids, journals := make([]string, 5), make([]state.RunJournal, 5)
	for i := range ids {
		ids[i] = state.NewRunID()
		journals[i] = r.Begin(state.Run{ID: ids[i]})
		if err := journals[i].Record(call(1, state.RunAsked), true); err != nil {
			t.Fatal(err)
		}
	}
	other, err := sql.Open("sqlite", dataSource(filepath.Join(dir, runsName), "synchronous(NORMAL)"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	disk, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if _, err := disk.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	results := make(chan error, len(ids))
	for i, j := range journals {
		n := 2
		if i == 3 {
			n = 1 // not approved
		}
		go func() { results <- j.Record(call(n, state.RunIntent), true) }()
	}
	for err = nil; err == nil; { // until one of them waits for the disk
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err = r.Runs(ctx, 1)
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	for i, j := range journals {
		start := time.Now()
		if err := j.Record(call(3, state.RunMade), false); err != nil || time.Since(start) > 500*time.Millisecond {
			t.Errorf("run %d: kept after %s, %v", i, time.Since(start), err)
		}
	}
	for name, ask := range map[string]func(context.Context) error{
		"runs":   func(ctx context.Context) error { _, err := r.Runs(ctx, 1); return err },
		"run":    func(ctx context.Context) error { _, _, err := r.Run(ctx, ids[0]); return err },
		"resume": func(ctx context.Context) error { _, _, _, err := r.Resume(ctx, "", ids[0]); return err },
		"change": func(ctx context.Context) error {
			return r.Change(ctx, ids[0], func(*state.Run, []state.RunCall) error { return nil })
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if _, err := disk.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range ids {
		if err := <-results; errors.Is(err, state.ErrNotApproved) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d calls were refused, want 1", refused)
	}
	for i, id := range ids {
		_, calls, err := r.Run(t.Context(), id)
		if want := map[bool]int{true: 2, false: 3}[i == 3]; err != nil || len(calls) != want || i == 3 && calls[0].State != state.RunAsked {
			t.Errorf("run %d: %d calls, want %d, %v", i, len(calls), want, err)
		}
	}
}
