package postgres

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// Journals can be read with the key alone, and are sealed again with another one while
// a broker writes them, also those of before there was a key.
func TestRunsAreSealedAgain(t *testing.T) {
	at, one, two := address(t), state.NewKey(), state.NewKey()
	runs := func(keys ...[]byte) *tables.Runs {
		r := connect(t, at).Runs()
		t.Cleanup(func() { r.Close() })
		if len(keys) > 0 {
			sealed, err := state.Seal(nil, keys...)
			if err != nil {
				t.Fatal(err)
			}
			r.Sealed = sealed
		}
		return r
	}
	call := func(n int) state.RunCall {
		return state.RunCall{Ordinal: n, Func: "call", Tool: "t__w", State: state.RunDone, Settled: n, Args: json.RawMessage(`"planted"`), Value: json.RawMessage(`"planted"`), Steps: []byte("planted")}
	}
	begin := func(r *tables.Runs, id string) state.RunJournal {
		t.Helper()
		j := r.Begin(state.Run{ID: id, Code: "planted", Client: "planted", Started: time.Now()})
		if err := j.Record(call(1), true); err != nil {
			t.Fatal(err)
		}
		return j
	}
	clear, old := runs(), runs(one)
	if err := begin(clear, "r_clear").End(state.Run{Status: state.StatusDone}); err != nil {
		t.Fatal(err)
	}
	j := begin(old, "r_sealed")
	d := connect(t, at)
	planted := func() (n int) {
		t.Helper()
		if err := d.db.QueryRowContext(t.Context(), `SELECT count(*) FROM (SELECT runs.*::text FROM runs UNION ALL SELECT run_calls.*::text FROM run_calls) AS a (row)
			WHERE row LIKE '%planted%' OR row LIKE '%706c616e746564%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	closed := clear.Close()
	if n := planted(); closed != nil || n != 2 {
		t.Fatalf("%d rows are in the clear, want those of one run; %v", n, closed)
	}
	rekey := func(want state.Rekeyed, keys ...[]byte) {
		t.Helper()
		if got, err := runs(keys...).Rekey(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Rekey = %+v, %v, want %+v", got, err, want)
		}
	}
	rekey(state.Rekeyed{Sealed: 2}, two, one)
	rekey(state.Rekeyed{Kept: 2}, two, one)
	if err := j.Record(call(2), true); err != nil { // with the old key
		t.Fatal(err)
	}
	if _, _, err := runs(two).Run(t.Context(), "r_sealed"); !errors.Is(err, state.ErrSealed) {
		t.Errorf("half sealed with another key: %v", err)
	}
	rekey(state.Rekeyed{Sealed: 1, Kept: 1}, two, one)
	for _, id := range []string{"r_sealed", "r_clear"} {
		run, calls, err := runs(two).Run(t.Context(), id)
		if err != nil || run.Code != "planted" || run.Client != "planted" || len(calls) == 0 || string(calls[0].Value) != `"planted"` || string(calls[0].Steps) != "planted" {
			t.Errorf("%s: %+v, %+v, %v", id, run, calls, err)
		}
	}
	if n := planted(); n != 0 {
		t.Errorf("%d rows are in the clear", n)
	}

	// Without the key a run is listed, and nothing else.
	for _, r := range []*tables.Runs{runs(one), runs()} {
		list, err := r.Runs(t.Context(), -1)
		if err != nil || len(list) != 2 || slices.ContainsFunc(list, func(r state.Run) bool { return !strings.Contains(r.Error, "another key") }) {
			t.Errorf("%+v, %v", list, err)
		}
		if _, _, _, err := r.Resume(t.Context(), state.Local, "r_clear"); !errors.Is(err, state.ErrSealed) {
			t.Errorf("Resume: %v", err)
		}
	}
	rekey(state.Rekeyed{Unopened: []string{"r_sealed", "r_clear"}}, one)
}
