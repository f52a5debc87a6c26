package statetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	t.Run("one that comes after one that is gone is another version", s.replaced)
	t.Run("a list has all names that begin so", s.listed)
	t.Run("one at a time has a lock", s.locked)
	t.Run("one of them is read as it is now", s.one)
	t.Run("sealed documents are opened with their key and name alone", s.sealed)
	t.Run("the first key seals and all open", s.keys)
	t.Run("all are sealed again while others write", s.rekeyed)
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

func (s Documents) replaced(t *testing.T) {
	d := s.Open(t, s.New(t))
	seen := map[string]bool{}
	for range 5 {
		if err := d.SetDocument(t.Context(), "a", []byte("same")); err != nil {
			t.Fatal(err)
		}
		v := d.DocumentVersion(t.Context(), "a")
		if v == "" || seen[v] {
			t.Errorf("version %q, after %v", v, seen)
		}
		seen[v] = true
		if err := d.SetDocument(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
	}
}

func (s Documents) listed(t *testing.T) {
	at := s.New(t)
	mine, others := s.Open(t, at), s.Open(t, at)
	if list, err := mine.ListDocuments(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("before there is one: %v, %v", list, err)
	}
	for _, name := range []string{"b.2", "a.1", "b.1", "b_1", "c"} {
		if err := mine.SetDocument(t.Context(), name, []byte("12345")); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.SetDocument(t.Context(), "b.2", nil); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{"": "a.1 b.1 b_1 c", "b.": "b.1", "b": "b.1 b_1", "d": "", "%": ""} {
		list, err := others.ListDocuments(t.Context(), prefix)
		var names []string
		for _, one := range list {
			names = append(names, one.Name)
			if v := mine.DocumentVersion(t.Context(), one.Name); v != one.Version || one.Bytes < 5 || time.Since(one.Changed).Abs() > time.Hour {
				t.Errorf("%+v, whose version is %q", one, v)
			}
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("ListDocuments(%q) = %s, %v; want %s", prefix, got, err, want)
		}
	}
}

func (s Documents) one(t *testing.T) {
	at := s.New(t)
	mine, others := state.OneDocument(s.Open(t, at), "a"), state.OneDocument(s.Open(t, at), "a")
	if body, err := others.Read(); err != nil || body != nil || others.Version() != "" {
		t.Errorf("before there is one: %q, %q, %v", body, others.Version(), err)
	}
	const users, turns = 4, 5
	var wg sync.WaitGroup
	for range users {
		d := state.OneDocument(s.Open(t, at), "a")
		wg.Go(func() {
			for range turns {
				if err := d.Edit(func(body []byte) ([]byte, error) { return append(body, 'x'), nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	failed := errors.New("no")
	if err := mine.Edit(func([]byte) ([]byte, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("Edit = %v, want %v", err, failed)
	}
	others.Forget()
	for _, d := range []*state.Document{mine, others} {
		if body, err := d.Read(); len(body) != users*turns || d.Version() == "" || err != nil {
			t.Errorf("%q, %q, %v; want %d bytes", body, d.Version(), err, users*turns)
		}
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
	if _, err := state.Seal(docs); err == nil {
		t.Error("documents are sealed without a key")
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

// seal seals what is at a place.
func (s Documents) seal(t *testing.T, at string, keys ...[]byte) *state.Sealed {
	t.Helper()
	sealed, err := state.Seal(s.Open(t, at), keys...)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func (s Documents) keys(t *testing.T) {
	at := s.New(t)
	first, second := state.NewKey(), state.NewKey()
	before, both, after := s.seal(t, at, first), s.seal(t, at, second, first), s.seal(t, at, second)
	if err := before.SetDocument(t.Context(), "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if body, err := both.Document(t.Context(), "a"); err != nil || string(body) != "1" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := after.Document(t.Context(), "a"); err == nil {
		t.Error("the new key opens what the old one has sealed")
	}
	if err := both.SetDocument(t.Context(), "a", []byte("2")); err != nil {
		t.Fatal(err)
	}
	if body, err := after.Document(t.Context(), "a"); err != nil || string(body) != "2" {
		t.Errorf("%q, %v", body, err)
	}
}

func (s Documents) rekeyed(t *testing.T) {
	at := s.New(t)
	in, ok := s.Open(t, at).(state.Swapper)
	if !ok {
		t.Skip("these documents are sealed where their key is kept")
	}
	first, second := state.NewKey(), state.NewKey()
	before := s.seal(t, at, first)
	const names, turns = 30, 40
	name := func(n int) string { return fmt.Sprintf("d%02d", n) }
	for n := range names {
		if err := before.SetDocument(t.Context(), name(n), []byte("0")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.seal(t, at, state.NewKey()).SetDocument(t.Context(), "strange", []byte("0")); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	begun := make(chan struct{}, 2)
	for i := range 2 { // one as before the change of keys, one as after it
		d := s.seal(t, at, [][]byte{first, second}[i], [][]byte{second, first}[i])
		writers.Go(func() {
			for turn := range turns {
				n := (i + 2*turn) % names
				unlock, err := d.LockDocument(t.Context(), name(n))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := d.Document(t.Context(), name(n))
				if err == nil {
					err = d.SetDocument(t.Context(), name(n), append(body, 'x'))
				}
				if unlock(); err != nil {
					t.Error(err)
				}
				if turn == 0 {
					begun <- struct{}{}
				}
			}
		})
	}
	<-begun
	<-begun
	both := s.seal(t, at, second, first)
	if _, err := both.Rekey(t.Context(), in); err != nil {
		t.Error(err)
	}
	writers.Wait()
	r, err := both.Rekey(t.Context(), in)
	if err != nil || r.Sealed+r.Kept != names || len(r.Unopened) != 1 || r.Unopened[0] != "strange" {
		t.Errorf("Rekey = %+v, %v", r, err)
	}
	after := s.seal(t, at, second)
	written := 0
	for n := range names {
		body, err := after.Document(t.Context(), name(n))
		if err != nil {
			t.Errorf("with the new key alone: %v", err)
		}
		written += len(body) - 1
	}
	if written != 2*turns {
		t.Errorf("%d changes are kept of %d", written, 2*turns)
	}
}
