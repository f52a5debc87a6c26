package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExecutionSurvivesTheRoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	started := time.Unix(1_700_000_000, 123)
	begun := Execution{Client: "ci", Language: "typescript", Code: "return 1", Started: started}
	begun.ID = s.Begin(begun)
	call := Call{ExecutionID: begun.ID, Seq: 1, Server: "git hub", Tool: "list_issues", ID: "git_hub__list_issues", Started: started.Add(time.Millisecond),
		Duration: 2 * time.Millisecond, Status: CallError, ArgBytes: 3, ResultBytes: 4, Error: "no such repository", Args: []byte(`{}`), Result: []byte(`[]`)}
	s.Record(call)
	end := Execution{ID: begun.ID, Ended: started.Add(time.Second), ExitCode: 1, Status: StatusFailed, Duration: time.Second,
		CPU: time.Millisecond, Calls: 1, BytesIn: 4, BytesOut: 99, Error: "threw"}
	if err := s.Finish(end); err != nil {
		t.Fatal(err)
	}

	want := end
	want.Client, want.Language, want.Started, want.CodeHash = "ci", "typescript", started, HashCode("return 1")
	call.Args, call.Result = nil, nil // payloads were not asked for
	reader, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	e, calls := show(t, reader, begun.ID)
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("execution (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Call{call}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if short, _ := show(t, reader, begun.ID[:12]); short.ID != begun.ID {
		t.Errorf("Show by the beginning of the ID = %q", short.ID)
	}
	if _, _, err := reader.Show(t.Context(), "e_none"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("Show(unknown) = %v, want ErrNoRecord", err)
	}
}

func TestPayloadsAreRecordedOnlyWhenAskedFor(t *testing.T) {
	s := open(t, t.TempDir(), &Options{Payloads: true})
	id := s.Begin(Execution{Code: "const k = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'; q"})
	s.Record(Call{ExecutionID: id, Args: []byte(`{"password":"x","q":"v"}`), Result: []byte(`{"n":12345678901234567890}`), Error: "said password=hunter2"})
	if err := s.Finish(Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	e, calls := show(t, s, id)
	if want := "const k = '[redacted]'; q"; e.Code != want {
		t.Errorf("code %q, want %q", e.Code, want)
	}
	if got, want := string(calls[0].Args), `{"password":"[redacted]","q":"v"}`; got != want {
		t.Errorf("args %s, want %s", got, want)
	}
	if got, want := string(calls[0].Result), `{"n":12345678901234567890}`; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	if calls[0].Error != "said password=[redacted]" {
		t.Errorf("error %q", calls[0].Error)
	}
}

// TestEveryColumnIsCut records texts of a megabyte wherever a record has a text.
func TestEveryColumnIsCut(t *testing.T) {
	long := strings.Repeat("ü", 1<<19)
	fillTexts := func(record any) {
		for _, f := range reflect.ValueOf(record).Elem().Fields() {
			switch {
			case f.Kind() == reflect.String:
				f.SetString(long)
			case f.Type() == reflect.TypeFor[[]byte]():
				f.SetBytes([]byte(`"` + long + `"`))
			}
		}
	}
	dir := t.TempDir()
	s := open(t, dir, &Options{Payloads: true})
	var e Execution
	var c Call
	var ev Event
	fillTexts(&e)
	fillTexts(&c)
	fillTexts(&ev)
	e.ID = s.Begin(e)
	s.Record(c)
	s.Note(ev)
	if err := s.Finish(e); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for _, table := range []string{"executions", "calls", "events"} {
		rows, err := s.db.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := rows.Columns()
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				text, ok := (*v.(*any)).(string)
				if b, isBytes := (*v.(*any)).([]byte); isBytes {
					text, ok = string(b), true
				}
				if !ok || text == "" {
					continue
				}
				columns++
				limit := maxName
				switch names[i] {
				case "error", "detail":
					limit = maxError
				case "code", "args", "result":
					limit = maxPayload
				}
				if len(text) > limit {
					t.Errorf("%s.%s has %d bytes, at most %d", table, names[i], len(text), limit)
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	if columns < 20 {
		t.Errorf("only %d columns were looked at", columns)
	}
}

// fill records three executions and one call without any.
func fill(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	base := time.Now().Add(-time.Hour)
	for i, e := range []Execution{
		{Client: "a", Status: StatusDone, BytesIn: 5000, BytesOut: 100},
		{Client: "b", Status: StatusTimeout, ExitCode: 124, BytesIn: 10, BytesOut: 40},
		{Client: "a", Status: StatusRefused, ExitCode: 2},
	} {
		e.Started = base.Add(time.Duration(i) * time.Minute)
		e.ID = s.Begin(e)
		ids = append(ids, e.ID)
		for n := range 3 - i {
			status := CallOK
			if n == 2 {
				status = CallTimeout
			}
			s.Record(Call{ExecutionID: e.ID, Seq: n, Server: []string{"git", "src"}[n%2], Tool: "t", Started: e.Started,
				Duration: time.Duration(n+1) * time.Millisecond, Status: status, ArgBytes: 1, ResultBytes: 10})
		}
		if err := s.Finish(e); err != nil {
			t.Fatal(err)
		}
	}
	s.Record(Call{Server: "git", Tool: "t", Started: base, Status: CallOK})
	if err := s.Finish(Execution{ID: ids[2], Started: base.Add(2 * time.Minute), Status: StatusRefused, ExitCode: 2}); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestListFilters(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	ids := fill(t, s)
	e0, _ := show(t, s, ids[0])
	for _, tt := range []struct {
		name string
		f    Filter
		want []int
	}{
		{"everything, latest first", Filter{}, []int{2, 1, 0}},
		{"limit", Filter{Limit: 2}, []int{2, 1}},
		{"no limit", Filter{Limit: -1}, []int{2, 1, 0}},
		{"since", Filter{Since: e0.Started.Add(1)}, []int{2, 1}},
		{"status", Filter{Status: StatusTimeout}, []int{1}},
		{"client", Filter{Client: "a"}, []int{2, 0}},
		{"server", Filter{Server: "src"}, []int{1, 0}},
		{"nothing", Filter{Server: "none"}, nil},
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

func TestStatsSumUp(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	fill(t, s)
	got, err := s.Stats(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		Executions: 3, ByStatus: map[string]int{StatusDone: 1, StatusTimeout: 1, StatusRefused: 1},
		Calls: 7, Errors: 1, BytesIn: 5010, BytesOut: 140, BytesKept: 4900,
		Tools: []ToolStats{
			{Server: "git", Tool: "t", Calls: 5, Errors: 1, P50: time.Millisecond, P99: 3 * time.Millisecond, Max: 3 * time.Millisecond, ArgBytes: 4, ResultBytes: 40},
			{Server: "src", Tool: "t", Calls: 2, P50: 2 * time.Millisecond, P99: 2 * time.Millisecond, Max: 2 * time.Millisecond, ArgBytes: 2, ResultBytes: 20},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	if got, err := s.Stats(t.Context(), time.Now().Add(time.Hour)); err != nil || got.Executions != 0 || got.Calls != 0 {
		t.Errorf("Stats of the future = %+v, %v", got, err)
	}
}

func TestExportHasEverythingOldestFirst(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	ids := fill(t, s)
	var got []string
	var calls []int
	err := s.Export(t.Context(), func(e Execution, c []Call) error {
		got, calls = append(got, e.ID), append(calls, len(c))
		return nil
	})
	if err != nil || !slices.Equal(got, append(ids, "")) || !slices.Equal(calls, []int{3, 2, 1, 1}) {
		t.Errorf("Export = %v with %v calls, %v", got, calls, err)
	}
	stop := errors.New("stop")
	if err := s.Export(t.Context(), func(Execution, []Call) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Export ended with %v, want the error of its function", err)
	}
}

func TestExportPagesWithoutGapsOrRepeats(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	const n = 450
	at := time.Now() // many at one time are the hard case for paging
	for i := range n {
		id := s.Begin(Execution{Started: at.Add(time.Duration(i/100) * time.Second)})
		if i == n-1 {
			if err := s.Finish(Execution{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]bool{}
	if err := s.Export(t.Context(), func(e Execution, _ []Call) error { seen[e.ID] = true; return nil }); err != nil || len(seen) != n {
		t.Errorf("Export gave %d executions, %v; want %d", len(seen), err, n)
	}
}

func TestPruneKeepsWhatIsNewOrRunning(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	fill(t, s)
	old := time.Now().Add(-48 * time.Hour)
	running := s.Begin(Execution{Started: old})
	gone := s.Begin(Execution{Started: old})
	s.Record(Call{ExecutionID: gone, Server: "s", Tool: "t"})
	if err := s.Finish(Execution{ID: gone, Started: old}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour))
	if err != nil || n != 1 {
		t.Errorf("Prune = %d, %v, want 1", n, err)
	}
	if _, _, err := s.Show(t.Context(), gone); !errors.Is(err, ErrNoRecord) {
		t.Errorf("pruned execution: %v", err)
	}
	if e, _ := show(t, s, running); e.Status != StatusRunning {
		t.Errorf("running execution is %q", e.Status)
	}
	stats, err := s.Stats(t.Context(), time.Time{})
	if err != nil || stats.Executions != 4 || stats.Calls != 7 {
		t.Errorf("what is left: %+v, %v", stats, err)
	}
	// Calls that no execution made are not counted as executions.
	s.Record(Call{Server: "s", Tool: "t", Started: old})
	if n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil || n != 0 {
		t.Errorf("Prune of a call = %d, %v, want 0", n, err)
	}
	// Pruning goes on over its steps.
	for range 2*pruneStep + 1 {
		s.Begin(Execution{Started: old})
	}
	if err := s.Close(); err != nil { // marks them as interrupted
		t.Fatal(err)
	}
	s = open(t, filepath.Dir(s.path), nil)
	if n, err := s.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil || n != 2*pruneStep+2 {
		t.Errorf("Prune of many = %d, %v, want %d", n, err, 2*pruneStep+2)
	}
}

func TestOldRecordsGoByThemselves(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &Options{Days: -1})
	id := s.Begin(Execution{Started: time.Now().Add(-100 * 24 * time.Hour)})
	if err := s.Finish(Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	w := &writer{Store: s}
	if w.tidy(); !exists(t, s, id) {
		t.Error("Days below 0 removed a record")
	}
	s = open(t, dir, nil)
	eventually(t, "a record of 100 days is removed in the background", func() bool { return !exists(t, s, id) })
}

func exists(t *testing.T, s *Store, id string) bool {
	t.Helper()
	_, _, err := s.Show(t.Context(), id)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		t.Fatal(err)
	}
	return err == nil
}

func TestCloseInterruptsWhatStillRuns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	id := s.Begin(Execution{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if e, _ := show(t, open(t, dir, nil), id); e.Status != StatusInterrupted {
		t.Errorf("status %q, want interrupted", e.Status)
	}
	if err := s.Finish(Execution{ID: id}); !errors.Is(err, ErrClosed) {
		t.Errorf("Finish after Close = %v, want ErrClosed", err)
	}
	s.Record(Call{ExecutionID: id}) // must not panic or hang
	if _, err := s.Prune(t.Context(), time.Now()); !errors.Is(err, ErrClosed) {
		t.Errorf("Prune after Close = %v, want ErrClosed", err)
	}
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	t.Run("damaged file", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("Open = %v, want what to do", err)
		}
	})
	t.Run("newer schema", func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir, nil)
		if _, err := s.conn.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func() (*Store, error){
			"Open":         func() (*Store, error) { return Open(dir, nil) },
			"OpenReadOnly": func() (*Store, error) { return OpenReadOnly(dir) },
		} {
			if _, err := f(); err == nil || !strings.Contains(err.Error(), "newer broker") {
				t.Errorf("%s = %v, want that the schema is newer", name, err)
			}
		}
	})
	t.Run("no record", func(t *testing.T) {
		if _, err := OpenReadOnly(t.TempDir()); !errors.Is(err, ErrNoRecord) {
			t.Errorf("OpenReadOnly = %v, want ErrNoRecord", err)
		}
	})
}

func TestReadOnlyStoreWritesNothing(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, nil)
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Begin(Execution{})
	r.Record(Call{})
	if err := r.Finish(Execution{}); err == nil {
		t.Error("Finish on a read-only store said nothing")
	}
	if _, err := r.db.ExecContext(t.Context(), "DELETE FROM executions"); err == nil {
		t.Error("the connection can write")
	}
}

func TestFileIsTheUsersOwnInAnyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20é")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b#d%20é") // "?" is not allowed there
	}
	s := open(t, dir, nil)
	if err := s.Finish(Execution{ID: s.Begin(Execution{})}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("files in the directory: %v, %v", files, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v; want 0600", f.Name(), info.Mode(), err)
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx, Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("List with an ended context = %v", err)
	}
}

func TestIDsSortByTime(t *testing.T) {
	early := NewID()
	deadline := time.Now().Add(2 * time.Millisecond)
	for time.Now().Before(deadline) {
		runtime.Gosched()
	}
	late := NewID()
	if early >= late || len(early) != 24 || !strings.HasPrefix(early, "e_") {
		t.Errorf("IDs %q, then %q", early, late)
	}
	seen := map[string]bool{}
	for range 10_000 {
		seen[NewID()] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d different IDs of 10000", len(seen))
	}
}

func TestJSONShape(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	got, err := json.Marshal([]any{
		Execution{ID: "e_1", Status: StatusRunning, Started: at},
		Execution{ID: "e_2", Status: StatusDone, Started: at, Ended: at, Duration: 1234567},
		Call{Seq: 1, Server: "s", Tool: "t", Status: CallOK, Started: at, Duration: time.Millisecond, Args: []byte(`{"a":1}`)},
	})
	want := `[{"id":"e_1","status":"running","exit_code":0,"started":"2023-11-14T22:13:20Z","duration_ms":0,"calls":0,"bytes_in":0,"bytes_out":0},` +
		`{"id":"e_2","status":"done","exit_code":0,"started":"2023-11-14T22:13:20Z","ended":"2023-11-14T22:13:20Z","duration_ms":1.234,"calls":0,"bytes_in":0,"bytes_out":0},` +
		`{"seq":1,"server":"s","tool":"t","status":"ok","started":"2023-11-14T22:13:20Z","duration_ms":1,"arg_bytes":0,"result_bytes":0,"args":{"a":1}}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
