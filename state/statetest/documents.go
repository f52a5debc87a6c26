package statetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Documents is the suite of state.Documents.
type Documents struct {
	// New makes a place without documents, and Open opens a place any number of
	// times.
	New  func(testing.TB) string
	Open func(t testing.TB, at string) state.Documents
}

// Run runs the suite.
func (s Documents) Run(t *testing.T) {
	t.Run("what one keeps all read", s.kept)
	t.Run("each change is another version", s.versions)
	t.Run("one at a time has a lock", s.locked)
	t.Run("sealed documents are opened with their key and name alone", s.sealed)
}

func (s Documents) kept(t *testing.T) {
	at := s.New(t)
	mine, others := s.Open(t, at), s.Open(t, at)
	if _, err := others.Document(t.Context(), "a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("before there is one: %v, want ErrNotFound", err)
	}
	for _, body := range []string{"one", "", "two\x00\xff"} {
		if err := mine.SetDocument(t.Context(), "a", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := others.Document(t.Context(), "a"); err != nil || string(got) != body {
			t.Errorf("Document = %q, %v; want %q", got, err, body)
		}
	}
	if _, err := others.Document(t.Context(), "A-1"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("another name: %v, want ErrNotFound", err)
	}
	for range 2 {
		if err := others.SetDocument(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := mine.Document(t.Context(), "a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("after it was forgotten: %v, want ErrNotFound", err)
	}
}

func (s Documents) versions(t *testing.T) {
	at := s.New(t)
	mine, others := s.Open(t, at), s.Open(t, at)
	before := ""
	if v := others.DocumentVersion(t.Context(), "a"); v != "" {
		t.Errorf("version %q of none", v)
	}
	for n := range 20 {
		if err := mine.SetDocument(t.Context(), "a", fmt.Appendf(nil, "%02d", n)); err != nil {
			t.Fatal(err)
		}
		v := others.DocumentVersion(t.Context(), "a")
		if v == "" || v == before {
			t.Errorf("version %q after %q", v, before)
		}
		if again := mine.DocumentVersion(t.Context(), "a"); again != v {
			t.Errorf("version %q is %q for another one", v, again)
		}
		before = v
	}
}

func (s Documents) locked(t *testing.T) {
	at := s.New(t)
	const users, turns = 4, 10
	var wg sync.WaitGroup
	for range users {
		d := s.Open(t, at)
		wg.Go(func() {
			for range turns {
				unlock, err := d.LockDocument(t.Context(), "n")
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := d.Document(t.Context(), "n")
				n, _ := strconv.Atoi(string(body))
				if err := d.SetDocument(t.Context(), "n", []byte(strconv.Itoa(n+1))); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	wg.Wait()
	d := s.Open(t, at)
	if body, err := d.Document(t.Context(), "n"); err != nil || string(body) != strconv.Itoa(users*turns) {
		t.Errorf("%q, %v; want %d", body, err, users*turns)
	}
	unlock, err := d.LockDocument(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	other, err := s.Open(t, at).LockDocument(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Open(t, at).LockDocument(ctx, "n"); err == nil {
		t.Error("two have one lock")
	}
}

func (s Documents) sealed(t *testing.T) {
	docs := s.Open(t, s.New(t))
	key := state.NewKey()
	one, err := state.Seal(docs, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.SetDocument(t.Context(), "a", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if body, err := one.Document(t.Context(), "a"); err != nil || string(body) != "secret" {
		t.Errorf("%q, %v", body, err)
	}
	plain, err := docs.Document(t.Context(), "a")
	if err != nil || string(plain) == "secret" {
		t.Errorf("kept as %q, %v", plain, err)
	}
	if err := docs.SetDocument(t.Context(), "b", plain); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Document(t.Context(), "b"); err == nil {
		t.Error("a document is opened by another name")
	}
	other, err := state.Seal(docs, state.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Document(t.Context(), "a"); err == nil {
		t.Error("a document is opened with another key")
	}
	if err := one.SetDocument(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Document(t.Context(), "a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("after it was forgotten: %v", err)
	}
}
