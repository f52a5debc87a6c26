package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
)

func TestOldRecordsGoByThemselves(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &Options{Days: -1})
	id := s.Begin(state.Execution{Started: time.Now().Add(-100 * 24 * time.Hour)})
	if err := s.Finish(state.Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context()); err != nil || !exists(t, s, id) {
		t.Error("Days below 0 removed a record")
	}
	s = open(t, dir, nil)
	eventually.True(t, "a record of 100 days is removed in the background", func() bool { return !exists(t, s, id) })
}

func exists(t *testing.T, s *Store, id string) bool {
	t.Helper()
	_, _, err := s.Show(t.Context(), id)
	if err != nil && !errors.Is(err, state.ErrNoRecord) {
		t.Fatal(err)
	}
	return err == nil
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
		if _, err := s.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
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
		if _, err := OpenReadOnly(t.TempDir()); !errors.Is(err, state.ErrNoRecord) {
			t.Errorf("OpenReadOnly = %v, want state.ErrNoRecord", err)
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
	r.Begin(state.Execution{})
	r.Record(state.Call{})
	if err := r.Finish(state.Execution{}); err == nil {
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
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{})}); err != nil {
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

// A record of an older broker is read by a newer one that has not written yet.
func TestOldRecordIsBroughtUpToDateToBeRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	s.Note(state.Event{Kind: state.EventToolsChanged, Server: "a"})
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{})}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, dir, "DROP TABLE types", "DROP TABLE type_key", "ALTER TABLE executions DROP COLUMN client_info", "ALTER TABLE calls DROP COLUMN class",
		"ALTER TABLE calls DROP COLUMN decision", "PRAGMA user_version = 2", withoutChain)
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Events(t.Context(), time.Time{}, 10)
	if err != nil || len(got) != 1 || got[0].Server != "a" {
		t.Errorf("events = %v, %v; want the old one", got, err)
	}
}

// withoutAnswers removes the additions of version 8, withoutParts also those of version
// 7, and withoutChain those of version 6.
const (
	withoutAnswers = "ALTER TABLE executions DROP COLUMN answer"

	withoutParts = withoutAnswers + "; ALTER TABLE executions DROP COLUMN prepared; ALTER TABLE executions DROP COLUMN queued; ALTER TABLE executions DROP COLUMN opened; " +
		"ALTER TABLE calls DROP COLUMN waited; ALTER TABLE calls DROP COLUMN line"
	withoutChain = withoutParts + "; DROP TABLE chain; DROP TABLE head; ALTER TABLE executions DROP COLUMN begun; ALTER TABLE executions DROP COLUMN finished"
)

// alter changes a file that no Store has open.
func alter(t *testing.T, dir string, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, fileName)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range texts {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// To open a record and to read it waits for nobody who writes.
func TestReadersWaitForNoWriter(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	var mode string
	var vacuum int
	if err := s.db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal_mode = %q, %v", mode, err)
	}
	if err := s.db.QueryRowContext(t.Context(), "PRAGMA auto_vacuum").Scan(&vacuum); err != nil || vacuum != 2 {
		t.Errorf("auto_vacuum = %d, %v; want incremental", vacuum, err)
	}
	_, err := s.Change(t.Context(), []state.ToolName{{}}, func(state.TypeRow) ([]byte, error) {
		began := time.Now()
		other := open(t, dir, nil)
		_, err := other.List(t.Context(), state.Filter{})
		if took := time.Since(began); took > busyTimeout/2 {
			t.Errorf("it took %s", took)
		}
		return nil, err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is new does not depend on when an execution began, or what the clock says.
func TestLongExecutionsAreNewsWhenTheyEnd(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	id := s.Begin(state.Execution{Started: time.Now().Add(-100 * time.Hour)})
	s.Record(state.Call{ExecutionID: id, Status: state.CallOK})
	n, err := s.News(t.Context(), state.Position{})
	eventually.True(t, "the call is in the record", func() bool {
		n, err = s.News(t.Context(), state.Position{})
		return err != nil || n.At.Call == 2
	})
	if err == nil {
		err = s.Finish(state.Execution{ID: id, Ended: time.Now().Add(-99 * time.Hour)})
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err = s.News(t.Context(), n.At)
	if err != nil || len(n.Executions) != 1 || n.Executions[0].Status != state.StatusDone || len(n.Calls) != 0 {
		t.Errorf("News = %+v, %v", n, err)
	}
	if n, err = s.News(t.Context(), n.At); err != nil || len(n.Executions) != 0 {
		t.Errorf("again: %+v, %v", n, err)
	}
}
