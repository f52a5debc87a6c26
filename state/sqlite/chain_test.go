package sqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

// record writes n executions of two calls each, and an event.
func record(t *testing.T, s *Store, n int, began time.Time) (ids []string) {
	t.Helper()
	for i := range n {
		id := s.Begin(state.Execution{Client: "ci", Language: "typescript", Code: "return 1", Started: began.Add(time.Duration(i) * time.Second)})
		for seq := range 2 {
			s.Record(state.Call{ExecutionID: id, Seq: seq, Server: "git", Tool: "log", ID: "git__log", Status: state.CallOK, Started: began, Decision: "allow preset", Args: []byte(`{"n":1}`)})
		}
		s.Note(state.Event{Kind: state.EventDrift, Server: "git", Detail: "field x", Time: began})
		if err := s.Finish(state.Execution{ID: id, Answer: []byte(`{"exit_code":0}`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func verify(t *testing.T, dir string, anchors ...state.Head) state.Verification {
	t.Helper()
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Verify(t.Context(), anchors)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantSound(t *testing.T, v state.Verification) {
	t.Helper()
	if !v.OK() {
		t.Errorf("flaws in a record that nobody touched: %+v", v.Flaws)
	}
}

// wantFlaw says what the first flaw must be.
func wantFlaw(t *testing.T, v state.Verification, n int64, text string) {
	t.Helper()
	if len(v.Flaws) == 0 || v.Flaws[0].N != n || !strings.Contains(v.Flaws[0].Row+": "+v.Flaws[0].Why, text) {
		t.Errorf("flaws = %+v, want first one at %d with %q", v.Flaws, n, text)
	}
}

func TestVerifyNamesTheFirstRowThatWasTamperedWith(t *testing.T) {
	// An execution has links 5k+1 (its beginning), +2, +3 (calls), +4 (event) and +5 (its end).
	const executions = 4
	for _, tt := range []struct {
		name   string
		tamper []string
		n      int64
		want   string
	}{
		{"a call is changed", []string{"UPDATE calls SET tool = 'other' WHERE n = 8"}, 8, "call 1 of git__log in execution e_"},
		{"a decision is changed", []string{"UPDATE calls SET decision = 'allow rule' WHERE n = 7"}, 7, "changed"},
		{"arguments are removed", []string{"UPDATE calls SET args = NULL WHERE n = 8"}, 8, "changed"},
		{"an event is changed", []string{"UPDATE events SET detail = detail || ' ' WHERE n = 9"}, 9, "event result_drift"},
		{"the beginning of an execution", []string{"UPDATE executions SET client = 'me' WHERE begun = 6"}, 6, "its beginning was changed"},
		{"the end of an execution", []string{"UPDATE executions SET exit_code = 1 WHERE begun = 6"}, 10, "its end was changed"},
		{"an execution that is running again", []string{"UPDATE executions SET status = 'running', finished = 0 WHERE begun = 6"}, 10, "changed to what it was before"},
		{"a call is removed", []string{"DELETE FROM calls WHERE n = 7"}, 7, "removed"},
		{"an execution is removed", []string{"DELETE FROM executions WHERE begun = 11"}, 11, "removed"},
		{"an event is removed with its link", []string{"DELETE FROM events WHERE n = 9", "DELETE FROM chain WHERE n = 9"}, 9, "missing from the chain"},
		{"a call is added", []string{"INSERT INTO calls (n, execution, seq, server, tool, tool_id, started, duration, status, arg_bytes, result_bytes, error) VALUES (99, '', 1, '', '', '', 0, 0, '', 0, 0, '')"}, 99, "not in the chain"},
		{"an execution is added", []string{"INSERT INTO executions (id, owner, client, language, code_hash, started, status) VALUES ('e_x', 1, '', '', '', 5, 'done')"}, 0, "not in the chain"},
		{"the tail is cut", []string{"DELETE FROM calls WHERE n > 15", "DELETE FROM events WHERE n > 15", "DELETE FROM executions WHERE begun > 15", "DELETE FROM chain WHERE n > 15"}, 16, "the chain ends before its head"},
		{"the front is cut", []string{"DELETE FROM calls WHERE n <= 5", "DELETE FROM events WHERE n <= 5", "DELETE FROM executions WHERE begun <= 5", "DELETE FROM chain WHERE n <= 5",
			"UPDATE head SET base = 5, base_hash = (SELECT hash FROM chain WHERE n = 6)"}, 5, "rows at the beginning were removed"},
		{"a link is changed with its row", []string{"UPDATE events SET detail = '' WHERE n = 9", "UPDATE chain SET digest = x'00' WHERE n = 9"}, 9, "hash"},
		{"a checkpoint is forged", []string{"DELETE FROM calls WHERE n = 7", "UPDATE chain SET kind = 'p', time = 9e18 WHERE n = 8"}, 8, "hash"},
		{"two rows change places", []string{"UPDATE calls SET n = -1 WHERE n = 2", "UPDATE calls SET n = 2 WHERE n = 7", "UPDATE calls SET n = 7 WHERE n = -1"}, 2, "changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, &Options{Payloads: true})
			record(t, s, executions, time.Now())
			wantSound(t, verify(t, dir))
			for _, text := range tt.tamper {
				if _, err := s.db.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			wantFlaw(t, verify(t, dir), tt.n, tt.want)
		})
	}
}

// One bit anywhere in the pages of rows is seen, or makes the file unreadable.
func TestVerifySeesOneBit(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, &Options{Payloads: true})
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, 3, time.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"git__log", "allow preset", "field x", "typescript", `{"n":1}`} {
		for at := 0; ; {
			i := bytes.Index(whole[at:], []byte(word))
			if i < 0 {
				if at == 0 {
					t.Errorf("%q is not in the file", word)
				}
				break
			}
			at += i + 1
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if v := verify(t, dir); v.OK() {
				t.Errorf("bit %d of %q was flipped unseen", at, word)
			}
		}
	}
}

// The owner of the file can rewrite all of it. An anchor shows that, and a cut tail.
func TestAnchorsShowWhatTheChainDoesNot(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "heads.jsonl")
	s := open(t, dir, &Options{Anchor: file})
	record(t, s, 2, time.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	var anchor state.Head
	if err != nil || json.Unmarshal(text, &anchor) != nil || anchor.N != 10 {
		t.Fatalf("anchors %q, %v; want one of link 10", text, err)
	}
	if v := verify(t, dir, anchor); !v.OK() || v.Anchors != 1 {
		t.Errorf("with its anchor: %+v", v)
	}

	again := t.TempDir() // the same number of rows, written anew
	s = open(t, again, nil)
	record(t, s, 3, time.Now())
	wantSound(t, verify(t, again))
	wantFlaw(t, verify(t, again, anchor), 10, "written anew")

	short := t.TempDir() // whoever cut it has put the head right
	record(t, open(t, short, nil), 1, time.Now())
	wantSound(t, verify(t, short))
	wantFlaw(t, verify(t, short, anchor), 6, "and the chain ends at 5")
}

func TestPruneLeavesACheckpoint(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	now := time.Now()
	record(t, s, 3, now.Add(-48*time.Hour))
	running := s.Begin(state.Execution{Started: now.Add(-47 * time.Hour)})
	record(t, s, 2, now.Add(-46*time.Hour))
	record(t, s, 2, now)
	old := verify(t, dir).Head
	if n, err := s.Prune(t.Context(), now.Add(-time.Hour)); err != nil || n != 5 {
		t.Fatalf("Prune = %d, %v; want 5", n, err)
	}
	v := verify(t, dir, state.Head{N: 3}, old)
	if wantSound(t, v); v.Base != 15 || v.Older != 1 || v.Anchors != 1 {
		t.Errorf("after a prune: %+v; want that it begins after link 15, before what runs", v)
	}
	if err := s.Finish(state.Execution{ID: running}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	v = verify(t, dir)
	if wantSound(t, v); v.Base <= 15 {
		t.Errorf("after the second prune: %+v", v)
	}
	if _, err := s.db.ExecContext(t.Context(), "DELETE FROM calls WHERE n = (SELECT max(n) FROM calls)"); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, dir); v.OK() {
		t.Error("a call that was not old was removed unseen")
	}
	if _, err := s.Prune(t.Context(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	record(t, s, 1, now)
	wantSound(t, verify(t, dir))
}

func TestPruneBySize(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &Options{MaxBytes: 400_000, Days: -1})
	code := strings.Repeat("x", 8000)
	for i := range 100 {
		id := s.Begin(state.Execution{Code: code + fmt.Sprint(i), Started: time.Now().Add(time.Duration(i-100) * time.Hour)})
		if err := s.Finish(state.Execution{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), state.Filter{Limit: -1})
	if err != nil || len(list) < 20 || len(list) > 60 || list[0].Code != "" && !strings.HasSuffix(list[0].Code, "99") {
		t.Errorf("%d executions are left, %v; want those that fit, the latest", len(list), err)
	}
	wantSound(t, verify(t, dir))
}

func TestTwoBrokersWriteOneChain(t *testing.T) {
	dir := t.TempDir()
	child := statetest.StartChild(t, dir) // records, and is killed in the middle of it
	s := open(t, dir, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		record(t, open(t, dir, nil), 20, time.Now())
	}()
	record(t, s, 20, time.Now())
	<-done
	child.Kill(t)
	v := verify(t, dir)
	if wantSound(t, v); v.Links < 200 {
		t.Errorf("%d links", v.Links)
	}
	open(t, dir, nil) // marks what was killed
	eventually.True(t, "the killed execution is interrupted", func() bool {
		var n int
		_ = s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM executions WHERE status = 'interrupted'").Scan(&n)
		return n == 1
	})
	wantSound(t, verify(t, dir))
}

func TestAnOlderRecordKeepsItsChain(t *testing.T) {
	for version, without := range map[int]string{6: withoutParts, 7: withoutAnswers} {
		dir := t.TempDir()
		s := open(t, dir, nil)
		record(t, s, 2, time.Now())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		alter(t, dir, without, fmt.Sprintf("PRAGMA user_version = %d", version))
		s = open(t, dir, &Options{Payloads: true})
		record(t, s, 1, time.Now())
		v := verify(t, dir)
		if wantSound(t, v); v.Unhashed != 0 || v.Links != 15 {
			t.Errorf("%+v; want 15 links, and no row outside of the chain", v)
		}
	}
}

func TestRecordsFromBeforeTheChainAreCounted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	record(t, s, 2, time.Now().Add(-time.Hour))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, dir, withoutChain, "PRAGMA user_version = 5")
	s = open(t, dir, nil)
	record(t, s, 1, time.Now())
	v := verify(t, dir)
	if wantSound(t, v); v.Unhashed != 2*4 || v.Links != 5 || v.Base != 0 {
		t.Errorf("%+v; want 8 rows from before the chain and 5 links", v)
	}
	if _, err := s.db.ExecContext(t.Context(), "UPDATE calls SET tool = 'x' WHERE n > 10"); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, dir); v.OK() {
		t.Error("a change after the update was not seen")
	}
}

// BenchmarkVerify is for the calls of a month of use.
func BenchmarkVerify(b *testing.B) {
	s := openBench(b, nil)
	const calls = 65_000
	for i := range calls {
		s.Record(state.Call{ExecutionID: "e_1", Seq: i, Server: "git", Tool: "log", ID: "git__log", Status: state.CallOK})
	}
	if err := s.Finish(state.Execution{ID: "e_1"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if v, err := s.Verify(b.Context(), nil); err != nil || !v.OK() {
			b.Fatal(v, err)
		}
	}
}
