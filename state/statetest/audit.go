package statetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/state"
)

// Audits are the implementation of state.Audit that is tested.
type Audits struct {
	// New returns where a new, empty record is: a directory, or an address. It is
	// removed with the test.
	New func(t testing.TB) string
	// Open opens the record at a place that New returned, any number of times
	// and from any process.
	Open func(at string, keep state.Keep) (state.Audit, error)
}

// Run runs the suite. The TestMain of the package must call Main.
func (a Audits) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"what was recorded is read back", a.roundTrip},
		{"payloads are recorded when asked for, and redacted", a.payloads},
		{"programs are recorded when asked for, and redacted", a.code},
		{"texts are cut", a.cut},
		{"List filters", a.filters},
		{"Calls filters", a.callFilters},
		{"News has what is new, once", a.news},
		{"Stats sums up", a.stats},
		{"Export has everything, the oldest first", a.export},
		{"Export has neither gaps nor repeats", a.exportPages},
		{"Prune keeps what is new or running", a.prune},
		{"Close interrupts what still runs", a.closed},
		{"reading ends with its context", a.readingEnds},
		{"events are listed, the latest first", a.events},
		{"use of skills is summed up by client", a.skillStats},
		{"a killed process leaves its calls and is interrupted", a.killed},
		{"another process goes on when one is killed", a.survivor},
		{"many open a new record at once", a.openedAtOnce},
		{"what was recorded is committed within 50 ms", a.committedSoon},
		{"an execution is committed when Finish returns", a.committedByFinish},
		{"concurrent writers lose nothing", a.concurrent},
	} {
		t.Run(c.name, c.test)
	}
}

func (a Audits) open(t *testing.T, at string, keep state.Keep) state.Audit {
	t.Helper()
	s, err := a.Open(at, keep)
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

func show(t *testing.T, s state.Audit, id string) (state.Execution, []state.Call) {
	t.Helper()
	e, calls, err := s.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e, calls
}

func (a Audits) roundTrip(t *testing.T) {
	at := a.New(t)
	s := a.open(t, at, state.Keep{})
	started := time.Unix(1_700_000_000, 123)
	begun := state.Execution{Client: "ci", ClientInfo: "cursor", Language: "typescript", Code: "return 1", Started: started}
	begun.ID = s.Begin(begun)
	call := state.Call{ExecutionID: begun.ID, Seq: 1, Server: "git hub", Tool: "list_issues", ID: "git_hub__list_issues", Started: started.Add(time.Millisecond),
		Duration: 2 * time.Millisecond, Waited: time.Millisecond, Line: 3, Status: state.CallError, Class: "read", Decision: "allow preset", ArgBytes: 3, ResultBytes: 4, Error: "no such repository", Args: []byte(`{}`), Result: []byte(`[]`)}
	s.Record(call)
	end := state.Execution{ID: begun.ID, Ended: started.Add(time.Second), ExitCode: 1, Status: state.StatusFailed, Duration: time.Second,
		CPU: time.Millisecond, Prepared: 1, Queued: 2, Opened: 3, Calls: 1, BytesIn: 4, BytesOut: 99, Error: "threw"}
	if err := s.Finish(end); err != nil {
		t.Fatal(err)
	}

	want := end
	want.Client, want.ClientInfo, want.Language, want.Started, want.CodeHash = "ci", "cursor", "typescript", started, state.HashCode("return 1")
	call.Args, call.Result = nil, nil // payloads were not asked for
	reader := a.open(t, at, state.Keep{})
	e, calls := show(t, reader, begun.ID)
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("execution (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]state.Call{call}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if short, _ := show(t, reader, begun.ID[:12]); short.ID != begun.ID {
		t.Errorf("Show by the beginning of the ID = %q", short.ID)
	}
	if _, _, err := reader.Show(t.Context(), "e_none"); !errors.Is(err, state.ErrNoRecord) {
		t.Errorf("Show(unknown) = %v, want ErrNoRecord", err)
	}
}

// fill records three executions and one call without any.
func (a Audits) fill(t *testing.T, s state.Audit) (ids []string) {
	t.Helper()
	base := time.Now().Add(-time.Hour)
	for i, e := range []state.Execution{
		{Client: "a", Status: state.StatusDone, BytesIn: 5000, BytesOut: 100},
		{Client: "b", ClientInfo: "cursor", Status: state.StatusTimeout, ExitCode: 124, BytesIn: 10, BytesOut: 40},
		{Client: "a", Status: state.StatusRefused, ExitCode: 2},
	} {
		e.Started = base.Add(time.Duration(i) * time.Minute)
		e.ID = s.Begin(e)
		ids = append(ids, e.ID)
		for n := range 3 - i {
			status := state.CallOK
			if n == 2 {
				status = state.CallTimeout
			}
			s.Record(state.Call{ExecutionID: e.ID, Seq: n, Server: []string{"git", "src"}[n%2], Tool: "t", Started: e.Started,
				Duration: time.Duration(n+1) * time.Millisecond, Status: status, ArgBytes: 1, ResultBytes: 10})
		}
		if err := s.Finish(e); err != nil {
			t.Fatal(err)
		}
	}
	s.Record(state.Call{Server: "git", Tool: "t", Started: base, Status: state.CallOK})
	if err := s.Finish(state.Execution{ID: ids[2], Started: base.Add(2 * time.Minute), Status: state.StatusRefused, ExitCode: 2}); err != nil {
		t.Fatal(err)
	}
	return ids
}

func (a Audits) filters(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	ids := a.fill(t, s)
	e0, _ := show(t, s, ids[0])
	for _, tt := range []struct {
		name string
		f    state.Filter
		want []int
	}{
		{"everything, latest first", state.Filter{}, []int{2, 1, 0}},
		{"limit", state.Filter{Limit: 2}, []int{2, 1}},
		{"no limit", state.Filter{Limit: -1}, []int{2, 1, 0}},
		{"since", state.Filter{Since: e0.Started.Add(1)}, []int{2, 1}},
		{"status", state.Filter{Status: state.StatusTimeout}, []int{1}},
		{"client", state.Filter{Client: "a"}, []int{2, 0}},
		{"what the client calls itself", state.Filter{Client: "cursor"}, []int{1}},
		{"server", state.Filter{Server: "src"}, []int{1, 0}},
		{"until", state.Filter{Until: e0.Started.Add(1)}, []int{0}},
		{"text of the id", state.Filter{Text: strings.ToUpper(ids[1])}, []int{1}},
		{"text is no pattern", state.Filter{Text: "%"}, nil},
		{"nothing", state.Filter{Server: "none"}, nil},
	} {
		list, err := s.List(t.Context(), tt.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, e := range list {
			got = append(got, slices.Index(ids, e.ID))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got executions %v, want %v", tt.name, got, tt.want)
		}
	}
}

func (a Audits) stats(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	a.fill(t, s)
	got, err := s.Stats(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := state.Stats{
		Executions: 3, ByStatus: map[string]int{state.StatusDone: 1, state.StatusTimeout: 1, state.StatusRefused: 1},
		Calls: 7, Errors: 1, BytesIn: 5010, BytesOut: 140, BytesKept: 4900,
		Tools: []state.ToolStats{
			{Server: "git", Tool: "t", Calls: 5, Errors: 1, P50: time.Millisecond, P99: 3 * time.Millisecond, Max: 3 * time.Millisecond, ArgBytes: 4, ResultBytes: 40},
			{Server: "src", Tool: "t", Calls: 2, P50: 2 * time.Millisecond, P99: 2 * time.Millisecond, Max: 2 * time.Millisecond, ArgBytes: 2, ResultBytes: 20},
		},
	}
	var days state.DayStats // two, around midnight
	for _, d := range got.Days {
		days.Executions, days.BytesIn, days.BytesOut, days.BytesKept = days.Executions+d.Executions, days.BytesIn+d.BytesIn, days.BytesOut+d.BytesOut, days.BytesKept+d.BytesKept
		if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
			t.Error(err)
		}
	}
	if want := (state.DayStats{Executions: 3, BytesIn: 5010, BytesOut: 140, BytesKept: 4900}); days != want {
		t.Errorf("Days = %+v, in all %+v, want %+v", got.Days, days, want)
	}
	got.Days = nil
	for i := range got.Tools {
		if time.Since(got.Tools[i].Last) > 2*time.Hour {
			t.Errorf("the last call of %s was %v", got.Tools[i].Server, got.Tools[i].Last)
		}
		got.Tools[i].Last = time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	if got, err := s.Stats(t.Context(), time.Now().Add(time.Hour)); err != nil || got.Executions != 0 || got.Calls != 0 {
		t.Errorf("Stats of the future = %+v, %v", got, err)
	}
}

func (a Audits) export(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	ids := a.fill(t, s)
	var got []string
	var calls []int
	err := s.Export(t.Context(), func(e state.Execution, c []state.Call) error {
		got, calls = append(got, e.ID), append(calls, len(c))
		return nil
	})
	if err != nil || !slices.Equal(got, append(ids, "")) || !slices.Equal(calls, []int{3, 2, 1, 1}) {
		t.Errorf("Export = %v with %v calls, %v", got, calls, err)
	}
	stop := errors.New("stop")
	if err := s.Export(t.Context(), func(state.Execution, []state.Call) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Export ended with %v, want the error of its function", err)
	}
}

func (a Audits) exportPages(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	const n = 450
	at := time.Now() // many at one time are the hard case for paging
	for i := range n {
		id := s.Begin(state.Execution{Started: at.Add(time.Duration(i/100) * time.Second)})
		if i == n-1 {
			if err := s.Finish(state.Execution{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]bool{}
	if err := s.Export(t.Context(), func(e state.Execution, _ []state.Call) error { seen[e.ID] = true; return nil }); err != nil || len(seen) != n {
		t.Errorf("Export gave %d executions, %v; want %d", len(seen), err, n)
	}
}

func (a Audits) prune(t *testing.T) {
	at := a.New(t)
	s := a.open(t, at, state.Keep{})
	a.fill(t, s)
	old := time.Now().Add(-48 * time.Hour)
	running := s.Begin(state.Execution{Started: old})
	gone := s.Begin(state.Execution{Started: old})
	s.Record(state.Call{ExecutionID: gone, Server: "s", Tool: "t"})
	if err := s.Finish(state.Execution{ID: gone, Started: old}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour))
	if err != nil || n != 1 {
		t.Errorf("Prune = %d, %v, want 1", n, err)
	}
	if _, _, err := s.Show(t.Context(), gone); !errors.Is(err, state.ErrNoRecord) {
		t.Errorf("pruned execution: %v", err)
	}
	if e, _ := show(t, s, running); e.Status != state.StatusRunning {
		t.Errorf("running execution is %q", e.Status)
	}
	stats, err := s.Stats(t.Context(), time.Time{})
	if err != nil || stats.Executions != 4 || stats.Calls != 7 {
		t.Errorf("what is left: %+v, %v", stats, err)
	}
	// Calls that no execution made are not counted as executions.
	s.Record(state.Call{Server: "s", Tool: "t", Started: old})
	if n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil || n != 0 {
		t.Errorf("Prune of a call = %d, %v, want 0", n, err)
	}
	// Pruning goes on, however many there are.
	const many = 1001
	for range many {
		s.Begin(state.Execution{Started: old})
	}
	if err := s.Close(); err != nil { // marks them as interrupted
		t.Fatal(err)
	}
	s = a.open(t, at, state.Keep{})
	if n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil || n != many+1 {
		t.Errorf("Prune of many = %d, %v, want %d", n, err, many+1)
	}
}

func (a Audits) closed(t *testing.T) {
	at := a.New(t)
	s := a.open(t, at, state.Keep{})
	id := s.Begin(state.Execution{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if e, _ := show(t, a.open(t, at, state.Keep{}), id); e.Status != state.StatusInterrupted {
		t.Errorf("status %q, want interrupted", e.Status)
	}
	if err := s.Finish(state.Execution{ID: id}); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Finish after Close = %v, want ErrClosed", err)
	}
	s.Record(state.Call{ExecutionID: id}) // must not panic or hang
	if _, err := s.Prune(t.Context(), time.Now()); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Prune after Close = %v, want ErrClosed", err)
	}
}

func (a Audits) readingEnds(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx, state.Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("List with an ended context = %v", err)
	}
}

func (a Audits) events(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	s.Note(state.Event{Time: at, Kind: state.EventToolsChanged, Server: "a", Detail: "x (description)"})
	s.Note(state.Event{Time: at.Add(time.Minute), Kind: state.EventToolsChanged, Server: "b", Detail: "password=hunter2hunter2"})
	// What was recorded before is committed when an execution is.
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{})}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Events(t.Context(), time.Time{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []state.Event{
		{Time: at.Add(time.Minute), Kind: state.EventToolsChanged, Server: "b", Detail: "password=[redacted]"},
		{Time: at, Kind: state.EventToolsChanged, Server: "a", Detail: "x (description)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got, err := s.Events(t.Context(), at.Add(time.Second), 10); err != nil || len(got) != 1 {
		t.Errorf("events since: %v, %v; want one", got, err)
	}
	for limit, want := range map[int]int{-1: 2, 0: 2, 1: 1} {
		if got, err := s.Events(t.Context(), time.Time{}, limit); err != nil || len(got) != want {
			t.Errorf("events with limit %d: %v, %v; want %d", limit, got, err, want)
		}
	}
	if _, err := s.Prune(t.Context(), at.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Events(t.Context(), time.Time{}, 10); err != nil || len(got) != 1 {
		t.Errorf("after pruning: %v, %v; want one", got, err)
	}
}

func (a Audits) skillStats(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{})
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	note := func(minutes int, kind, name, client string, failed bool) {
		s.Note(state.Event{Time: at.Add(time.Duration(minutes) * time.Minute), Kind: kind, Name: name, Client: client, Failed: failed})
	}
	note(0, state.EventSkillActivated, "notes", "cursor", false)
	note(1, state.EventSkillFileRead, "notes", "cursor", true)
	note(2, state.EventSkillFileRead, "notes", "claude", false)
	note(3, state.EventSkillToolCalled, "triage", "claude", false)
	note(4, state.EventSkillStateChanged, "notes", "cli", false)
	note(5, state.EventToolsChanged, "", "", false)
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{})}); err != nil {
		t.Fatal(err)
	}
	got, err := s.SkillStats(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	cursor := state.SkillUse{Activations: 1, Reads: 1, Errors: 1, LastUse: at.Add(time.Minute)}
	claude := state.SkillUse{Reads: 1, LastUse: at.Add(2 * time.Minute)}
	called := state.SkillUse{ToolCalls: 1, LastUse: at.Add(3 * time.Minute)}
	want := []state.SkillStats{
		{Skill: "notes", SkillUse: state.SkillUse{Activations: 1, Reads: 2, Errors: 1, LastUse: claude.LastUse},
			Clients: []state.ClientUse{{Client: "claude", SkillUse: claude}, {Client: "cursor", SkillUse: cursor}}},
		{Skill: "triage", SkillUse: called, Clients: []state.ClientUse{{Client: "claude", SkillUse: called}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if got, err := s.SkillStats(t.Context(), at.Add(3*time.Minute)); err != nil || len(got) != 1 || got[0].Skill != "triage" {
		t.Errorf("since the last use: %v, %v; want triage alone", got, err)
	}
}
