package postgres

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// mayEnd is a server of its own, which tests end.
func mayEnd(t testing.TB) (s *postgrestest.Server, at string) {
	t.Helper()
	s, err := postgrestest.Start()
	s = postgrestest.Need(t, s, err)
	t.Cleanup(func() { s.Stop() }) // after the stores are closed
	at = s.Address()
	if err := connect(t, at).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, at
}

func spooling(t testing.TB, at string, spool tables.Spool) *tables.Store {
	t.Helper()
	s, err := connect(t, at).Record(t.Context(), &Options{Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drained(t testing.TB, s *tables.Store) {
	t.Helper()
	eventually.True(t, "nothing waits on this machine", func() bool {
		rows, _, away := s.Spool()
		return rows == 0 && !away
	})
}

// once checks that each execution is in the record as it ended, with its call and its
// event, and nothing else.
func once(t *testing.T, s *tables.Store, ids ...[]string) {
	t.Helper()
	n := 0
	for _, list := range ids {
		for _, id := range list {
			n++
			e, calls, err := s.Show(t.Context(), id)
			if err != nil || e.Status != state.StatusDone || len(calls) != 1 || calls[0].Tool != "log" {
				t.Errorf("%+v with %d calls, %v", e, len(calls), err)
			}
		}
	}
	events, err := s.Events(t.Context(), time.Time{}, -1)
	if err != nil || len(events) != n {
		t.Errorf("%d events of %d executions, %v", len(events), n, err)
	}
	if calls, err := s.Calls(t.Context(), state.CallFilter{Limit: -1}); err != nil || len(calls) != n {
		t.Errorf("%d calls of %d executions, %v", len(calls), n, err)
	}
	if v := verify(t, s); !v.OK() {
		t.Errorf("flaws: %+v", v.Flaws)
	}
}

func TestRecordWaitsForTheServer(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	own, at := mayEnd(t)
	s := spooling(t, at, sqlite.OpenSpool(t.TempDir(), "test", 0))
	before := write(t, s, 3)
	running := s.Begin(state.Execution{Client: "ci"})
	if err := s.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	during := write(t, s, 50)
	if rows, bytes, away := s.Spool(); rows < 200 || bytes == 0 || !away || s.Full() != nil {
		t.Errorf("%d rows of %d bytes wait, away: %v", rows, bytes, away)
	}
	if err := s.Reached(t.Context()); err == nil {
		t.Error("a server that is away was reached")
	}
	s.Record(state.Call{ExecutionID: running, Seq: 1, Server: "git", Tool: "log", Status: state.CallOK})
	s.Note(state.Event{Kind: state.EventDrift})
	if err := s.Finish(state.Execution{ID: running}); err != nil {
		t.Error(err)
	}
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	after := write(t, s, 50) // while the spool is emptied
	drained(t, s)
	once(t, s, before, during, after, []string{running})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A deaf spool forgets nothing, as if its broker were killed between two steps.
type deaf struct{ tables.Spool }

func (deaf) Drop(int64) error { return errors.New("killed") }

func TestRowsOfAKilledBrokerAreThereOnce(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	own, at := mayEnd(t)
	dir := t.TempDir()
	first := spooling(t, at, deaf{sqlite.OpenSpool(dir, "test", 0)})
	if err := first.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	ids := write(t, first, 300) // more than one step
	half := first.Begin(state.Execution{Client: "killed"})
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	reader := open(t, at)
	eventually.True(t, "a step is in the record", func() bool {
		_, _, err := reader.Show(t.Context(), ids[0])
		return err == nil
	})
	// It goes on without an end: Drop fails. Others take over meanwhile.
	second, third := spooling(t, at, sqlite.OpenSpool(dir, "test", 0)), spooling(t, at, sqlite.OpenSpool(dir, "test", 0))
	drained(t, second)
	drained(t, third)
	for _, s := range []*tables.Store{first, second, third} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if e, _, err := reader.Show(t.Context(), half); err != nil || e.Status != state.StatusInterrupted {
		t.Errorf("%+v, %v; want it interrupted", e, err)
	}
	once(t, reader, ids)
}

// What a lost connection may have committed is written if it was not.
func TestSpooledInDoubt(t *testing.T) {
	at := address(t)
	d := connect(t, at)
	s := open(t, at)
	write(t, s, 1)
	head := verify(t, s).Head
	var hash []byte
	if err := d.db.QueryRowContext(t.Context(), "SELECT hash FROM head").Scan(&hash); err != nil {
		t.Fatal(err)
	}
	spool := sqlite.OpenSpool(t.TempDir(), "test", 0)
	row := `{"Event":{"time":"` + time.Now().Format(time.RFC3339) + `","kind":"` + state.EventDrift + `","detail":"%s"},"Doubt":{"N":%d,"Hash":"%s"}}`
	if err := spool.Append([][]byte{
		fmt.Appendf(nil, row, "was committed", head.N, b64(hash)),
		fmt.Appendf(nil, row, "was not", head.N, b64([]byte("another"))),
	}); err != nil {
		t.Fatal(err)
	}
	two := spooling(t, at, spool)
	drained(t, two)
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	events, err := s.Events(t.Context(), time.Time{}, -1)
	if err != nil || len(events) != 2 || !strings.Contains(events[0].Detail+events[1].Detail, "was not") {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestSpoolIsBounded(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	own, at := mayEnd(t)
	s := spooling(t, at, sqlite.OpenSpool(t.TempDir(), "test", 1<<20))
	if err := s.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	code := strings.Repeat("x", 50<<10)
	var ids []string
	for s.Full() == nil && len(ids) < 100 {
		id := s.Begin(state.Execution{Code: code})
		if err := s.Finish(state.Execution{ID: id}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Full(); err == nil || !strings.Contains(err.Error(), "cannot wait on this machine") {
		t.Fatalf("after %d executions: %v", len(ids), err)
	}
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{})}); err != nil { // one that ran already
		t.Error(err)
	}
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	drained(t, s)
	for _, id := range ids {
		if e, _, err := s.Show(t.Context(), id); err != nil || e.Status != state.StatusDone {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if err := s.Full(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A run that only reads is not held up, and a call that writes is not sent.
func TestJournalsWhileTheServerIsAway(t *testing.T) {
	dialect.Patience /= 10
	defer func() { dialect.Patience *= 10 }()
	own, at := mayEnd(t)
	runs := connect(t, at).Runs()
	defer runs.Close()
	intent := state.RunCall{Ordinal: 1, Tool: "t", State: state.RunIntent, Class: "write"}
	before := runs.Begin(state.Run{ID: state.NewRunID(), Code: "return 1"})
	if err := before.Record(intent, true); err != nil {
		t.Fatal(err)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error)
	go func() { // it waits, and keeps nobody
		intent.Ordinal = 2
		refused <- before.Record(intent, true)
	}()
	reading := state.Run{ID: state.NewRunID(), Code: "return 2", Status: state.StatusDone}
	j := runs.Begin(reading)
	began := time.Now()
	for n := range 300 {
		if err := j.Record(state.RunCall{Ordinal: n + 1, Tool: "t", State: state.RunDone, Class: "read", Value: []byte(`"` + strings.Repeat("x", 8<<10) + `"`)}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.End(reading); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > dialect.Patience/2 {
		t.Errorf("a run that reads waited %s", took)
	}
	if err := <-refused; err == nil {
		t.Error("an intent was kept while the server is away")
	}
	if err := before.Record(state.RunCall{Ordinal: 3, Tool: "t", State: state.RunMade, Class: "read"}, false); err != nil {
		t.Error(err)
	}
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	intent.Ordinal = 4
	if err := before.Record(intent, true); err != nil {
		eventually.True(t, "an intent is kept again", func() bool { return before.Record(intent, true) == nil })
	}
	list, err := runs.Runs(t.Context(), -1)
	if err != nil || len(list) != 1 || list[0].Calls != 3 {
		t.Errorf("%+v, %v; want the run with calls 1, 3 and 4", list, err)
	}
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// BenchmarkSpool is what one row costs that waits for the server, and then to move it
// to the record.
func BenchmarkSpool(b *testing.B) {
	const rows = 20_000
	at, row := address(b), fmt.Appendf(nil, `{"Call":{"ExecutionID":"e_1","Server":"git","Tool":"log","ID":"git__log","Status":"ok","Class":"read","Decision":"allow","Started":%q}}`, time.Now().Format(time.RFC3339Nano))
	batch := slices.Repeat([][]byte{row}, 100)
	var waits, moves time.Duration
	for b.Loop() {
		spool := sqlite.OpenSpool(b.TempDir(), "test", 0)
		began := time.Now()
		for range rows / len(batch) {
			if err := spool.Append(batch); err != nil {
				b.Fatal(err)
			}
		}
		waits += time.Since(began)
		began = time.Now()
		s := spooling(b, at, spool)
		drained(b, s)
		moves += time.Since(began)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(waits.Microseconds())/float64(b.N)/rows, "µs/row-that-waits")
	b.ReportMetric(float64(rows)*float64(b.N)/moves.Seconds(), "rows-moved/s")
}

// A server that goes silent while something else than a record is written holds up the
// records no longer than one that goes silent at a record.
func TestSilentServerHoldsUpNoRecord(t *testing.T) {
	t.Parallel() // it waits
	own, at := mayEnd(t)
	s := spooling(t, at, sqlite.OpenSpool(t.TempDir(), "test", 0))
	write(t, s, 1)
	goOn, err := own.Pause()
	if err != nil {
		t.Fatal(err)
	}
	const n = 4
	changed := make(chan error, n)
	for range n {
		go func() {
			_, err := s.Change(t.Context(), []state.ToolName{{Server: "git", Tool: "log"}}, func(state.TypeRow) ([]byte, error) { return []byte("{}"), nil })
			changed <- err
		}()
	}
	eventually.True(t, "one change is being written, the others wait", func() bool { return s.Lag() == n-1 })
	began := time.Now()
	during := write(t, s, 1)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a record waited for %v", took)
	}
	for range n {
		if err := <-changed; err == nil {
			t.Error("the server answers")
		}
	}
	if _, _, away := s.Spool(); !away {
		t.Error("the server is not taken for away")
	}
	if err := goOn(); err != nil {
		t.Fatal(err)
	}
	drained(t, s)
	if e, _, err := s.Show(t.Context(), during[0]); err != nil || e.Status != state.StatusDone {
		t.Errorf("%+v, %v", e, err)
	}
}
