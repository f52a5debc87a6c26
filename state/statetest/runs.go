package statetest

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpbroker/mcpbroker/state"
)

// A RunStore is what is tested of an implementation of state.Runs.
type RunStore interface {
	state.Runs
	state.RunHistory
	Close() error
}

// Runs are the implementation of state.Runs that is tested.
type Runs struct {
	// New returns where new, empty journals are, and Open opens them, any number of
	// times.
	New  func(t testing.TB) string
	Open func(at string) (RunStore, error)
}

// Run runs the suite.
func (r Runs) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"what was recorded is read back", r.roundTrip},
		{"a run without calls leaves nothing", r.empty},
		{"another principal's run is like none", r.principals},
		{"of two that resume a run one gets it", r.resumedOnce},
		{"an approval is used once, and not after it expired", r.approvedOnce},
		{"what waits is decided about once", r.decided},
		{"an unknown outcome is settled by a person", r.settled},
		{"calls that another script replaces are receipts", r.receipts},
		{"a run with too many bytes says so", r.full},
		{"all that calls say counts", r.fullOfWords},
		{"old runs are removed", r.pruned},
		{"concurrent calls are all recorded", r.concurrent},
	} {
		t.Run(c.name, c.test)
	}
}

func (r Runs) open(t *testing.T, at string) RunStore {
	t.Helper()
	s, err := r.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func record(t *testing.T, j state.RunJournal, calls ...state.RunCall) {
	t.Helper()
	for _, c := range calls {
		if err := j.Record(c, c.State == state.RunIntent); err != nil {
			t.Fatal(err)
		}
	}
}

func end(t *testing.T, j state.RunJournal, status string) {
	t.Helper()
	if err := j.End(state.Run{Status: status, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

func write(n int, as string) state.RunCall {
	return state.RunCall{Ordinal: n, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"b":1,"a":12345678901234567890}`), Class: "write", State: as}
}

// begun is a run of an id with calls.
func begun(t *testing.T, s state.Runs, calls ...state.RunCall) (string, state.RunJournal) {
	t.Helper()
	run := state.Run{ID: state.NewRunID(), Code: "return 1", Seed: []byte{1}}
	j := s.Begin(run)
	record(t, j, calls...)
	return run.ID, j
}

func (r Runs) roundTrip(t *testing.T) {
	at := r.New(t)
	s := r.open(t, at)
	want := state.Run{ID: state.NewRunID(), Principal: "ci", Client: "c", Language: "typescript", Code: "return 1", Timeout: time.Second,
		Seed: []byte{1, 2}, Epoch: time.Unix(5, 6), Started: time.Now()}
	j := s.Begin(want)
	done := write(1, state.RunIntent)
	record(t, j, write(2, state.RunMade), done)
	done.State, done.Settled, done.Value, done.Steps = state.RunDone, 1, json.RawMessage(`{"z":1,"y":9007199254740993}`), []byte("x")
	record(t, j, done)
	if err := j.End(state.Run{Status: state.StatusFailed, ExitCode: 1, Error: "threw"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want.Status, want.ExitCode, want.Error, want.Calls = state.StatusFailed, 1, "threw", 2
	reader := r.open(t, at)
	run, calls, err := reader.Run(t.Context(), want.ID[:10])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, run, cmpopts.IgnoreFields(state.Run{}, "Updated"), cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]state.RunCall{done, write(2, state.RunMade)}, calls, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	list, err := reader.Runs(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].Code != "" || list[0].ID != want.ID {
		t.Errorf("Runs = %+v, %v", list, err)
	}
}

func (r Runs) empty(t *testing.T) {
	s := r.open(t, r.New(t))
	id, j := begun(t, s)
	end(t, j, state.StatusDone)
	if list, err := s.Runs(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("Runs = %v, %v", list, err)
	}
	if _, _, err := s.Run(t.Context(), id); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Run = %v, want ErrNotFound", err)
	}
}

func (r Runs) principals(t *testing.T) {
	s := r.open(t, r.New(t))
	id, j := begun(t, s, write(1, state.RunIntent))
	end(t, j, state.StatusFailed)
	_, _, _, other := s.Resume(t.Context(), "ci", id)
	_, _, _, unknown := s.Resume(t.Context(), "ci", state.NewRunID())
	if !errors.Is(other, state.ErrNotFound) || !errors.Is(unknown, state.ErrNotFound) || other.Error() != unknown.Error() {
		t.Errorf("another's: %v; unknown: %v", other, unknown)
	}
	if run, _, _, err := s.Resume(t.Context(), state.Local, id); err != nil || run.Code != "return 1" {
		t.Errorf("its own: %+v, %v", run, err)
	}
}

func (r Runs) resumedOnce(t *testing.T) {
	at := r.New(t)
	s := r.open(t, at)
	id, j := begun(t, s, write(1, state.RunIntent))
	if _, _, _, err := s.Resume(t.Context(), state.Local, id); !errors.Is(err, state.ErrRunning) {
		t.Errorf("a run that is executed: %v, want ErrRunning", err)
	}
	end(t, j, state.StatusWaiting)
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		own := r.open(t, at)
		wg.Go(func() {
			switch _, _, _, err := own.Resume(t.Context(), state.Local, id); {
			case err == nil:
				got.Add(1)
			case !errors.Is(err, state.ErrRunning):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d of 8 got the run", got.Load())
	}
}

func (r Runs) approvedOnce(t *testing.T) {
	at := r.New(t)
	s := r.open(t, at)
	approved := write(1, state.RunApproved)
	approved.Expires = time.Now().Add(state.ApprovalAge)
	late := write(2, state.RunApproved)
	late.Expires = time.Now().Add(-time.Second)
	id, j := begun(t, s, approved, late, write(3, state.RunAsked))
	end(t, j, state.StatusWaiting)
	_, _, again, err := s.Resume(t.Context(), state.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Record(write(1, state.RunIntent), true); err != nil {
		t.Errorf("an approved call: %v", err)
	}
	for _, n := range []int{2, 3} {
		if err := again.Record(write(n, state.RunIntent), true); !errors.Is(err, state.ErrNotApproved) {
			t.Errorf("call %d: %v, want ErrNotApproved", n, err)
		}
	}
	done := write(1, state.RunDone)
	record(t, again, done)
	if _, calls, err := s.Run(t.Context(), id); err != nil || calls[0].State != state.RunDone || calls[1].State != state.RunApproved || calls[2].State != state.RunAsked {
		t.Errorf("calls = %+v, %v", calls, err)
	}
	if err := again.Record(write(1, state.RunIntent), true); !errors.Is(err, state.ErrNotApproved) {
		t.Errorf("an approval that was used: %v, want ErrNotApproved", err)
	}
}

func (r Runs) decided(t *testing.T) {
	s := r.open(t, r.New(t))
	id, j := begun(t, s, write(1, state.RunAsked), write(2, state.RunAsked))
	end(t, j, state.StatusWaiting)
	deny := state.Verdict{Only: []int{2}, By: "me", Denied: func(state.RunCall, string) json.RawMessage { return json.RawMessage(`{"message":"no"}`) }}
	decide := func(v state.Verdict) error {
		return s.Change(t.Context(), id, func(run *state.Run, calls []state.RunCall) error { return v.Decide(run, calls, time.Now()) })
	}
	if err := decide(state.Verdict{Approve: true, Only: []int{7}}); err == nil {
		t.Error("a call that does not wait was approved")
	}
	if err := decide(deny); err != nil {
		t.Fatal(err)
	}
	if run, _, err := s.Run(t.Context(), id); err != nil || run.Status != state.StatusWaiting {
		t.Errorf("one of two calls is decided: status %q, %v", run.Status, err)
	}
	if err := decide(state.Verdict{Approve: true, ForRun: true}); err != nil {
		t.Fatal(err)
	}
	list, err := s.Runs(t.Context(), -1)
	if err != nil || len(list) != 1 || list[0].Status != state.StatusDecided {
		t.Errorf("all calls are decided: %+v, %v", list, err)
	}
	if err := decide(deny); err == nil {
		t.Error("a call was decided about twice")
	}
	run, calls, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if calls[0].State != state.RunApproved || calls[0].Expires.IsZero() || calls[1].State != state.RunFailed || string(calls[1].Failure) != `{"message":"no"}` || calls[1].By != "me" {
		t.Errorf("calls = %+v", calls)
	}
	if diff := cmp.Diff([]string{"t__write"}, run.Granted); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
	if err := s.Change(t.Context(), state.NewRunID(), nil); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Change of an unknown run = %v", err)
	}
}

func (r Runs) settled(t *testing.T) {
	s := r.open(t, r.New(t))
	done := write(3, state.RunDone)
	done.Settled = 1
	id, j := begun(t, s, write(1, state.RunIntent), write(2, state.RunIntent), done)
	end(t, j, state.StatusFailed)
	settle := func(n int, done bool) error {
		return s.Change(t.Context(), id, func(run *state.Run, calls []state.RunCall) error { return state.Settle(run, calls, n, done) })
	}
	if err := errors.Join(settle(1, true), settle(2, false)); err != nil {
		t.Fatal(err)
	}
	if settle(3, true) == nil || settle(4, true) == nil || settle(1, false) == nil {
		t.Error("a call was settled that has an outcome, or is not there")
	}
	_, calls, err := s.Run(t.Context(), id)
	if err != nil || calls[0].State != state.RunDone || calls[0].Settled != 2 || string(calls[0].Value) != "null" || calls[1].State != state.RunMade {
		t.Errorf("calls = %+v, %v", calls, err)
	}
}

func (r Runs) receipts(t *testing.T) {
	s := r.open(t, r.New(t))
	read := state.RunCall{Ordinal: 2, Func: "call", Tool: "t__read", Class: "read", State: state.RunDone}
	id, j := begun(t, s, write(1, state.RunDone), read, write(3, state.RunDone), write(4, state.RunIntent), write(5, state.RunMade))
	end(t, j, state.StatusFailed)
	_, _, again, err := s.Resume(t.Context(), state.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	receipts, err := again.Cut(1)
	if err != nil || len(receipts) != 2 || receipts[0].Ordinal >= 0 || receipts[0].State != state.RunDone || !receipts[1].Lost() {
		t.Fatalf("receipts = %+v, %v", receipts, err)
	}
	record(t, again, write(2, state.RunDone))
	if receipts, err = again.Cut(1); err != nil || len(receipts) != 3 {
		t.Errorf("receipts = %+v, %v", receipts, err)
	}
	if _, calls, err := s.Run(t.Context(), id); err != nil || len(calls) != 4 || calls[3].Ordinal != 1 {
		t.Errorf("calls = %+v, %v", calls, err)
	}
}

func (r Runs) full(t *testing.T) {
	s := r.open(t, r.New(t))
	id, j := begun(t, s)
	value := json.RawMessage(`"` + strings.Repeat("x", state.MaxRunValue-2) + `"`)
	for n := range state.MaxRunBytes/state.MaxRunValue + 2 {
		c := write(n+1, state.RunDone)
		c.Value = value
		record(t, j, c)
	}
	end(t, j, state.StatusFailed)
	run, calls, err := s.Run(t.Context(), id)
	if err != nil || !run.Full || len(calls) != 34 || calls[33].Value != nil || calls[0].Value == nil {
		t.Errorf("run = %+v with %d calls, %v", run, len(calls), err)
	}
}

// All parts of a call count, not only values.
func (r Runs) fullOfWords(t *testing.T) {
	text := strings.Repeat("x", state.MaxRunBytes/2)
	quoted := json.RawMessage(`"` + text + `"`)
	for name, fill := range map[string]func(*state.RunCall){
		"failures": func(c *state.RunCall) {
			c.State, c.Failure = state.RunFailed, json.RawMessage(`{"name":"ToolError","message":"`+text+`","fields":{"code":"tool_error"}}`)
		},
		"placeholders": func(c *state.RunCall) { c.Placeholder = quoted },
		"steps":        func(c *state.RunCall) { c.Steps = []byte(text) },
	} {
		s := r.open(t, r.New(t))
		id, j := begun(t, s)
		for n := range 3 {
			c := write(n+1, state.RunDone)
			fill(&c)
			record(t, j, c)
		}
		end(t, j, state.StatusFailed)
		run, calls, err := s.Run(t.Context(), id)
		if err != nil || len(calls) == 0 {
			t.Fatalf("%s: %d calls, %v", name, len(calls), err)
		}
		size := 0
		for _, c := range calls {
			size += c.Size()
		}
		if err != nil || !run.Full || size > state.MaxRunBytes {
			t.Errorf("%s: full %t with %d bytes, %v", name, run.Full, size, err)
		}
		if last := calls[len(calls)-1]; name == "failures" && (last.State != state.RunFailed || !strings.Contains(string(last.Failure), `"message":"xxx`) || !json.Valid(last.Failure)) {
			t.Errorf("the last failure is %s", last.Failure)
		}
	}
}

func (r Runs) pruned(t *testing.T) {
	at := r.New(t)
	s := r.open(t, at)
	old := s.Begin(state.Run{ID: state.NewRunID(), Started: time.Now().Add(-state.RunAge - time.Hour)})
	record(t, old, write(1, state.RunIntent))
	end(t, old, state.StatusDone)
	for range state.MaxRuns + 3 {
		_, j := begun(t, s, write(1, state.RunMade))
		end(t, j, state.StatusDone)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := r.open(t, at).Runs(t.Context(), -1); err != nil || len(list) != state.MaxRuns {
		t.Errorf("%d runs, %v", len(list), err)
	}
}

func (r Runs) concurrent(t *testing.T) {
	s := r.open(t, r.New(t))
	var wg sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		id, j := begun(t, s)
		ids[i] = id
		for n := range 20 {
			wg.Go(func() {
				if err := j.Record(write(n+1, state.RunIntent), n%2 == 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, id := range ids {
		if _, calls, err := s.Run(t.Context(), id); err != nil || len(calls) != 20 {
			t.Errorf("%d calls, %v", len(calls), err)
		}
	}
}
