package files

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestKeptSuite(t *testing.T) {
	statetest.Kept{
		New: func(t testing.TB) string { return t.TempDir() },
		Open: func(_ testing.TB, at string, l state.Limits) (state.Results, state.Values) {
			s := Open(at, &l)
			return s, s
		},
	}.Run(t)
}

func put(t *testing.T, s *Store, client, data string) string {
	t.Helper()
	w, err := s.Create(t.Context(), client, state.Text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, data); err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func found(t *testing.T, s *Store, ref string) bool {
	t.Helper()
	_, data, err := s.Open(t.Context(), state.Local, ref)
	if err == nil {
		data.Close()
	} else if !errors.Is(err, state.ErrNotFound) {
		t.Error(err)
	}
	return err == nil
}

func TestOnlyReferencesAreFiles(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, nil)
	put(t, s, state.Local, `1`)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("{}\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"../../secret", "r_../../../secret"} {
		if found(t, s, ref) {
			t.Errorf("Open(%q) works", ref)
		}
		if err := s.Remove(t.Context(), state.Local, ref); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("Remove(%q) = %v", ref, err)
		}
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	s := Open(dir, nil)
	put(t, s, "alice", "x")
	if err := s.SetValue(t.Context(), "alice", "k", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, &state.Limits{MaxBytes: 170, MaxAge: time.Hour, MaxValueAge: time.Hour})
	age := func(path string, d time.Duration) {
		at := time.Now().Add(-d)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	aged := func(data string, d time.Duration) string {
		ref := put(t, s, state.Local, data)
		age(filepath.Join(dir, "local", "results", ref), d)
		return ref
	}
	small := strings.Repeat("x", 20)
	old := aged("old", 2*time.Hour)
	second := aged(small, 2*time.Minute)
	first := aged(small, time.Minute)
	w, err := s.Create(t.Context(), state.Local, state.Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetValue(t.Context(), state.Local, "gone", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	age(s.valuePath(state.Local, "gone"), 2*time.Hour)
	newest := put(t, s, state.Local, small)
	s.Sweep()
	if _, err := w.Commit(); err != nil {
		t.Errorf("what is being written was removed: %v", err)
	}
	for ref, want := range map[string]bool{old: false, second: false, first: true, newest: true} {
		if got := found(t, s, ref); got != want {
			t.Errorf("%s: found = %t, want %t", ref, got, want)
		}
	}
	if _, err := os.Stat(s.valuePath(state.Local, "gone")); err == nil {
		t.Error("an old value was not removed")
	}
}

// A store remembers the keys of a bounded number of clients.
func TestKeysInMemoryAreBounded(t *testing.T) {
	s := Open(t.TempDir(), nil)
	if err := s.SetValue(t.Context(), "first", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	for i := range maxKnownClients + 10 {
		if _, err := s.Keys(t.Context(), "client"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.keys) > maxKnownClients {
		t.Errorf("the keys of %d clients are in memory", len(s.keys))
	}
	if keys, err := s.Keys(t.Context(), "first"); err != nil || !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
}

// Keys are listed without the values, which may be long.
func TestKeysAreReadWithoutTheirValues(t *testing.T) {
	dir := t.TempDir()
	for _, k := range []string{"b", "a"} {
		if err := Open(dir, nil).SetValue(t.Context(), state.Local, k, json.RawMessage(`"`+strings.Repeat("x", 100_000)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "local", "values", "*"))
	for _, f := range files {
		if err := os.Truncate(f, 1000); err != nil { // reading the value would fail
			t.Fatal(err)
		}
	}
	s := Open(dir, nil)
	for range 2 {
		if keys, err := s.Keys(t.Context(), state.Local); err != nil || !slices.Equal(keys, []string{"a", "b"}) {
			t.Errorf("keys %q, %v", keys, err)
		}
	}
	if _, err := s.DeleteValue(t.Context(), state.Local, "a"); err != nil {
		t.Fatal(err)
	}
	if keys, err := s.Keys(t.Context(), state.Local); err != nil || !slices.Equal(keys, []string{"b"}) {
		t.Errorf("after a deletion: %q, %v", keys, err)
	}
}
