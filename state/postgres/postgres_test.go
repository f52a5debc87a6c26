package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

func open(t *testing.T, at string) *tables.Store {
	t.Helper()
	s, err := connect(t, at).Record(t.Context(), nil)
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

func write(t *testing.T, s *tables.Store, n int) (ids []string) {
	t.Helper()
	for range n {
		id := s.Begin(state.Execution{Client: "ci", Code: "return 1"})
		s.Record(state.Call{ExecutionID: id, Seq: 1, Server: "git", Tool: "log", Status: state.CallOK})
		s.Note(state.Event{Kind: state.EventDrift, Server: "git", Failed: true})
		if err := s.Finish(state.Execution{ID: id}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func verify(t *testing.T, s *tables.Store) state.Verification {
	t.Helper()
	v, err := s.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMigrationsLeadThereAndBack(t *testing.T) {
	d := connect(t, postgrestest.Need(t, server, serverErr).Address())
	for _, to := range []int{Version, 0, Version, 2, Version} {
		if err := d.MigrateTo(t.Context(), to); err != nil {
			t.Fatalf("to %d: %v", to, err)
		}
		if got, _, err := d.Schema(t.Context()); err != nil || got != to {
			t.Errorf("schema %d, %v; want %d", got, err, to)
		}
	}
	var tables int
	if err := d.MigrateTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := d.db.QueryRowContext(t.Context(), "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1", d.schema).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables are left, %v; want the one of migrations", tables, err)
	}
}

func TestManyMigrateAtOnce(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	errs := make(chan error)
	for range 4 {
		d := connect(t, at)
		go func() { errs <- d.Migrate(t.Context()) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// A broker works with a newer schema as long as that says so.
func TestNewerSchema(t *testing.T) {
	at := address(t)
	d := connect(t, at)
	for oldest, want := range map[int]string{Version: "", Version + 1: "update the broker"} {
		if _, err := d.db.ExecContext(t.Context(), "INSERT INTO migrations (version, oldest) VALUES ($1, $2)", Version+oldest, oldest); err != nil {
			t.Fatal(err)
		}
		err := d.Migrate(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("oldest %d: %v, want %q", oldest, err, want)
		}
		if _, err := d.db.ExecContext(t.Context(), "DELETE FROM migrations WHERE version > $1", Version); err != nil {
			t.Fatal(err)
		}
	}
}

// Brokers of the version before go on beside new ones, and start again.
func TestOldAndNewBrokersSideBySide(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	before := connect(t, at)
	before.knows = Version - 1
	if err := before.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	record := func(d *Database) *tables.Store {
		s, err := d.Record(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	// What brokers of schema 7 write of an execution, which has fewer columns.
	const begin = "INSERT INTO executions (id, owner, client, client_info, language, code_hash, started, status, begun) VALUES ($1, 1, '', '', '', '', 1, 'done', 0)"
	if _, err := before.db.ExecContext(t.Context(), begin, "e_before"); err != nil {
		t.Fatal(err)
	}
	after := connect(t, at)
	if err := after.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := before.db.ExecContext(t.Context(), begin, "e_beside"); err != nil {
		t.Fatal(err)
	}
	old := record(before)
	for _, id := range []string{"e_before", "e_beside"} {
		if e, _, err := old.Show(t.Context(), id); err != nil || e.Status != state.StatusDone || e.Prepared != 0 {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if _, err := before.db.ExecContext(t.Context(), "DELETE FROM executions WHERE id IN ('e_before', 'e_beside')"); err != nil { // which have no links
		t.Fatal(err)
	}
	first := write(t, old, 1)
	running := old.Begin(state.Execution{Client: "old"})
	recent := record(after)
	second := write(t, recent, 1)
	third := write(t, old, 1)
	if err := before.Migrate(t.Context()); err != nil { // one that is started again
		t.Error(err)
	}
	if version, _, err := before.Schema(t.Context()); err != nil || version != Version {
		t.Errorf("an old broker made schema %d of %d, %v", version, Version, err)
	}
	for _, s := range []*tables.Store{old, recent} {
		for _, id := range []string{first[0], second[0], third[0]} {
			if e, calls, err := s.Show(t.Context(), id); err != nil || e.Status != state.StatusDone || len(calls) != 1 {
				t.Errorf("%+v with %d calls, %v", e, len(calls), err)
			}
		}
		if e, _, err := s.Show(t.Context(), running); err != nil || e.Status != state.StatusRunning {
			t.Errorf("%+v, %v; want it running", e, err)
		}
		if v := verify(t, s); !v.OK() {
			t.Errorf("flaws: %+v", v.Flaws)
		}
	}
	if err := before.Pins().ChangePins(t.Context(), "s", func(m map[state.PinName]state.Pin) error {
		m[state.PinName{Kind: state.PinTool, Name: "t"}] = state.Pin{Digest: "1"}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if m, err := after.Pins().Pins(t.Context(), "s"); err != nil || len(m) != 1 {
		t.Errorf("%v, %v", m, err)
	}
}

func TestTwoBrokersWriteOneChain(t *testing.T) {
	at := address(t)
	child := statetest.StartChild(t, at) // records, and is killed in the middle of it
	one, two := open(t, at), open(t, at)
	done := make(chan []string)
	go func() { done <- write(t, two, 20) }()
	write(t, one, 20)
	<-done
	child.Kill(t)
	if v := verify(t, one); !v.OK() || v.Links < 160 {
		t.Errorf("%+v", v)
	}
	if err := one.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
	d := connect(t, at)
	if _, err := d.db.ExecContext(t.Context(), "UPDATE calls SET tool = 'other' WHERE n = (SELECT max(n) FROM calls)"); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, one); v.OK() {
		t.Error("a call was changed unseen")
	}
}

func TestVerifyAfterAPrune(t *testing.T) {
	s := open(t, address(t))
	write(t, s, 3)
	if n, err := s.Prune(t.Context(), time.Now().Add(time.Minute)); err != nil || n != 3 {
		t.Fatalf("Prune = %d, %v", n, err)
	}
	write(t, s, 1)
	if v := verify(t, s); !v.OK() || v.Base == 0 {
		t.Errorf("%+v", v)
	}
}

// A server, a script or a person may send any bytes.
func TestTextsThatPostgresCannotKeep(t *testing.T) {
	at := address(t)
	s := open(t, at)
	odd := "a\x00b\xffc"
	id := s.Begin(state.Execution{Client: odd, Code: odd})
	s.Record(state.Call{ExecutionID: id, Server: odd, Tool: odd, Error: odd, Status: state.CallError})
	s.Note(state.Event{Kind: state.EventDrift, Detail: odd})
	if err := s.Finish(state.Execution{ID: id, Error: odd}); err != nil {
		t.Fatal(err)
	}
	if e, calls, err := s.Show(t.Context(), id); err != nil || e.Client != "a\ufffdb\ufffdc" || len(calls) != 1 {
		t.Errorf("%+v, %+v, %v", e, calls, err)
	}
	if v := verify(t, s); !v.OK() {
		t.Errorf("flaws: %+v", v.Flaws)
	}
	k := connect(t, at).Kept(nil)
	if err := k.SetValue(t.Context(), odd, odd, json.RawMessage(`"x"`)); err != nil {
		t.Error(err)
	}
	if keys, err := k.Keys(t.Context(), odd); err != nil || len(keys) != 1 || keys[0] != odd {
		t.Errorf("keys %q, %v", keys, err)
	}
	r := connect(t, at).Runs()
	j := r.Begin(state.Run{Code: odd})
	if err := j.Record(state.RunCall{Ordinal: 1, Tool: odd, State: state.RunIntent, Class: "write", Value: json.RawMessage(odd)}, true); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// The server ends and comes back: what was recorded meanwhile is kept, once, and
// what this broker does is not taken for that of one that is gone.
func TestServerComesBack(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	own, err := postgrestest.Start()
	own = postgrestest.Need(t, own, err)
	t.Cleanup(func() { own.Stop() }) // after the stores are closed
	at := own.Address()
	d := connect(t, at)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, runs := open(t, at), d.Runs()
	defer runs.Close()
	id := s.Begin(state.Execution{Client: "ci"})
	write(t, s, 1)
	j := runs.Begin(state.Run{Code: "return 1"})
	record := func(n int) {
		t.Helper()
		if err := j.Record(state.RunCall{Ordinal: n, Tool: "t", State: state.RunIntent, Class: "write"}, true); err != nil {
			t.Error(err)
		}
	}
	record(1)
	pin := func(pins map[state.PinName]state.Pin) error {
		pins[state.PinName{Name: "log"}] = state.Pin{}
		return nil
	}
	if err := d.Pins().ChangePins(t.Context(), "git", pin); err != nil {
		t.Fatal(err)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	pinned := make(chan error, 2)
	go func() { // both wait
		pins, err := d.Pins().Pins(t.Context(), "git")
		if err == nil && len(pins) != 1 {
			err = fmt.Errorf("%d pins, want 1", len(pins))
		}
		pinned <- err
		pinned <- d.Pins().ChangePins(t.Context(), "git", pin)
	}()
	s.Record(state.Call{ExecutionID: id, Seq: 7, Server: "git", Tool: "log", Status: state.CallOK})
	began := time.Now()
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	write(t, s, 1)
	record(2)
	if err := errors.Join(<-pinned, <-pinned); err != nil {
		t.Error(err)
	}
	t.Logf("written again %s after the server was started", time.Since(began))
	e, calls, err := s.Show(t.Context(), id)
	if err != nil || e.Status != state.StatusRunning || len(calls) != 1 {
		t.Errorf("%+v with %d calls, %v; want it running, with one", e, len(calls), err)
	}
	if v := verify(t, s); !v.OK() {
		t.Errorf("flaws: %+v", v.Flaws)
	}
	if _, _, _, err := d.Runs().Resume(t.Context(), state.Local, "r_none"); !errors.Is(err, state.ErrNotFound) {
		t.Error(err)
	}
}

// A broker whose run was taken over, because the server saw its end, sends nothing
// more of it.
func TestARunThatWasTakenOverSendsNothing(t *testing.T) {
	at := address(t)
	d := connect(t, at)
	first, second := d.Runs(), d.Runs()
	defer first.Close()
	defer second.Close()
	run := state.Run{ID: state.NewRunID(), Code: "return 1"}
	j := first.Begin(run)
	intent := func(j state.RunJournal, n int) error {
		return j.Record(state.RunCall{Ordinal: n, Tool: "t", State: state.RunIntent, Class: "write"}, true)
	}
	if err := intent(j, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := second.Resume(t.Context(), state.Local, run.ID); !errors.Is(err, state.ErrRunning) {
		t.Fatalf("Resume = %v, want ErrRunning", err)
	}
	cut(t, d, run.ID)
	_, calls, again, err := second.Resume(t.Context(), state.Local, run.ID)
	if err != nil || len(calls) != 1 || !calls[0].Lost() {
		t.Fatalf("Resume = %+v, %v", calls, err)
	}
	if err := intent(j, 2); !errors.Is(err, state.ErrRunning) {
		t.Errorf("the first one: %v, want ErrRunning", err)
	}
	if err := intent(again, 2); err != nil {
		t.Errorf("the second one: %v", err)
	}
	// Other runs of the first broker are not in the way of that.
	if err := j.Record(state.RunCall{Ordinal: 1, Tool: "t", State: state.RunMade}, false); err != nil && !errors.Is(err, state.ErrRunning) {
		t.Error(err)
	}
	if err := intent(first.Begin(state.Run{Code: "return 2"}), 1); err != nil {
		t.Errorf("another run of the first one: %v", err)
	}
	if err := j.End(state.Run{Status: state.StatusWaiting}); !errors.Is(err, state.ErrRunning) {
		t.Errorf("End of the first one = %v, want ErrRunning", err)
	}
	if got, _, err := first.Run(t.Context(), run.ID); err != nil || got.Status != state.StatusRunning || got.Calls != 2 {
		t.Errorf("%+v, %v; want it running, with the calls of the second one", got, err)
	}
}

// Nor does one whose run another broker has ended since.
func TestARunThatAnotherEndedSendsNothing(t *testing.T) {
	d := connect(t, address(t))
	first, second := d.Runs(), d.Runs()
	defer first.Close()
	defer second.Close()
	run := state.Run{ID: state.NewRunID(), Code: "return 1"}
	j := first.Begin(run)
	intent := state.RunCall{Ordinal: 1, Tool: "t", State: state.RunIntent, Class: "write"}
	if err := j.Record(intent, true); err != nil {
		t.Fatal(err)
	}
	cut(t, d, run.ID)
	_, _, again, err := second.Resume(t.Context(), state.Local, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.End(state.Run{Status: state.StatusWaiting}); err != nil {
		t.Fatal(err)
	}
	intent.Ordinal = 2
	if err := j.Record(intent, true); !errors.Is(err, state.ErrRunning) {
		t.Errorf("Record = %v, want ErrRunning", err)
	}
	if _, err := j.Cut(0); !errors.Is(err, state.ErrRunning) {
		t.Errorf("Cut = %v, want ErrRunning", err)
	}
}

// cut ends the connection of the broker that executes a run, as a network does that
// is cut between it and the server.
func cut(t *testing.T, d *Database, run string) {
	t.Helper()
	const end = `SELECT pg_terminate_backend(l.pid, 5000) FROM pg_locks l JOIN runs r ON r.owner = ((l.classid::bigint << 32) | l.objid::bigint)::text WHERE r.id = $1`
	var ended bool
	if err := d.db.QueryRowContext(t.Context(), end, run).Scan(&ended); err != nil || !ended {
		t.Fatalf("the connection was not ended: %v", err)
	}
}

func TestErrorsSayWhatToDoAndNoPassword(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	for _, tt := range []struct{ at, want string }{
		{"postgres://u:hunter2%zz@h/d", "write postgres://"},
		{"postgres://u:hunter2@h/d?sslmode=maybe", "write postgres://"},
		{"nonsense hunter2", "write postgres://"},
		{"postgres://u:hunter2@127.0.0.1:1/d", "check that PostgreSQL runs there"},
		{strings.Replace(strings.Replace(at, "/postgres?", "/nosuch?", 1), "postgres@", "postgres:hunter2@", 1), "createdb"},
		{strings.Replace(at, "postgres@", "nobody:hunter2@", 1), "rejects the user"},
		{at + "&default_transaction_read_only=on", "it can only be read, as a standby"},
		{"postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=/gone", "/gone: no such file"},
		{"postgres://u:hunter2@h.invalid/d", "open the database d on h.invalid:5432: lookup h.invalid"},
	} {
		d, err := Connect(tt.at, nil)
		if err == nil {
			_, _, err = d.Schema(t.Context())
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", tt.at, err, tt.want)
		}
	}
}

func TestExpiryIsThatOfTheDatabase(t *testing.T) {
	at := address(t)
	k := connect(t, at).Kept(&state.Limits{MaxAge: time.Hour, MaxValueAge: time.Hour})
	w, err := k.Create(t.Context(), "", state.Text)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, strings.Repeat("x", 3*partBytes+1))
	ref, err := w.Commit()
	if err != nil || k.SetValue(t.Context(), "", "k", json.RawMessage("1")) != nil {
		t.Fatal(err)
	}
	if _, err := k.d.db.ExecContext(t.Context(), "UPDATE results SET created = created - interval '2 hours'; UPDATE vals SET set_at = set_at - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Open(t.Context(), "", ref); !errors.Is(err, state.ErrNotFound) {
		t.Error(err)
	}
	if _, err := k.Value(t.Context(), "", "k"); !errors.Is(err, state.ErrNotFound) {
		t.Error(err)
	}
	if err := k.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := k.d.db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM result_parts) + (SELECT count(*) FROM vals)").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

// Clocks of brokers may differ: an approval of one holds at another for as long as it
// should, by the database's clock.
func TestClocksOfBrokersDiffer(t *testing.T) {
	at := address(t)
	open := func(ahead time.Duration) (*tables.Runs, func() time.Time) {
		d := connect(t, at)
		d.now = func() time.Time { return time.Now().Add(ahead) }
		r := d.Runs()
		t.Cleanup(func() { r.Close() })
		return r, d.now
	}
	fast, fastNow := open(5 * time.Minute)
	slow, slowNow := open(-5 * time.Minute)
	for _, tt := range []struct {
		name       string
		asks, says *tables.Runs
		now        func() time.Time
		decided    time.Duration // before now
		want       error
	}{
		{"decided by a fast one", slow, fast, fastNow, 0, nil},
		{"decided by a slow one", fast, slow, slowNow, 0, nil},
		{"nearly too old", slow, fast, fastNow, state.ApprovalAge - 2*time.Minute, nil},
		{"too old", fast, slow, slowNow, state.ApprovalAge + time.Minute, state.ErrNotApproved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := state.NewRunID()
			j := tt.asks.Begin(state.Run{ID: id, Code: "return 1"})
			call := state.RunCall{Ordinal: 1, Tool: "t", Class: "write", State: state.RunAsked}
			if err := j.Record(call, true); err != nil {
				t.Fatal(err)
			}
			if err := tt.says.Change(t.Context(), id, func(r *state.Run, calls []state.RunCall) error {
				return state.Verdict{Approve: true}.Decide(r, calls, tt.now().Add(-tt.decided))
			}); err != nil {
				t.Fatal(err)
			}
			_, calls, err := tt.asks.Run(t.Context(), id)
			if err != nil || len(calls) != 1 {
				t.Fatalf("%+v, %v", calls, err)
			}
			call.State = state.RunIntent
			if err := j.Record(call, true); !errors.Is(err, tt.want) {
				t.Errorf("the call is sent: %v, want %v; approved until %v", err, tt.want, calls[0].Expires)
			}
		})
	}
}

// A write costs two of these: its intent and its result.
func BenchmarkRecordIntent(b *testing.B) {
	r := connect(b, address(b)).Runs()
	defer r.Close()
	j := r.Begin(state.Run{})
	for n := 1; b.Loop(); n++ {
		if err := j.Record(state.RunCall{Ordinal: n, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"n":1}`), Class: "write", State: state.RunIntent}, true); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExecution is what an execution of some calls pays until its answer may
// be sent.
func BenchmarkExecution(b *testing.B) {
	for _, calls := range []int{1, 100} {
		b.Run(fmt.Sprint(calls, "calls"), func(b *testing.B) {
			s, err := connect(b, address(b)).Record(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for b.Loop() {
				id := s.Begin(state.Execution{Client: "ci", Code: "return 1"})
				for n := range calls {
					s.Record(state.Call{ExecutionID: id, Seq: n, Server: "git", Tool: "log", Status: state.CallOK})
				}
				if err := s.Finish(state.Execution{ID: id}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A broker that is stopped in a transaction, by SIGSTOP or with its machine, does not
// block others.
func TestLocksOfAStoppedTransactionEnd(t *testing.T) {
	at := address(t)
	var limit string
	if err := connect(t, at).db.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&limit); err != nil || limit != "5s" {
		t.Errorf("limit %q, %v; want 5s", limit, err)
	}
	stopped, other := connect(t, at+"&idle_in_transaction_session_timeout=50"), connect(t, at)
	for _, lock := range []string{
		"LOCK TABLE executions IN SHARE ROW EXCLUSIVE MODE",
		"SELECT pg_advisory_xact_lock(42)",
		"SELECT count(*) FROM (SELECT 1 FROM migrations FOR UPDATE) AS all_rows",
	} {
		tx, err := stopped.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		next, err := other.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := next.ExecContext(t.Context(), lock); err != nil { // waits for the first one
			t.Errorf("%s: %v", lock, err)
		}
		_ = next.Rollback()
		err = tx.Commit()
		if once, lost := retryable(err); err == nil || !once || !lost {
			t.Errorf("%s: the transaction that was stopped ends with %v, want an error after which it is tried again", lock, err)
		}
	}
	// Reading may take as long as its reader does.
	conn, err := stopped.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), dialect.Snapshot); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&limit); err != nil || limit != "0" {
		t.Errorf("limit of a snapshot %q, %v; want 0", limit, err)
	}
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
