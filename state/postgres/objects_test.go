package postgres

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakes3"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/s3"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

// A bucket is one at a server that may be away.
type bucket struct {
	backend *fakes3.Server
	url     string
	away    atomic.Bool
	putting atomic.Pointer[func() error] // if not nil, called for each object that is put
}

func newBucket(t testing.TB) *bucket {
	b := &bucket{backend: fakes3.New("results")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := b.putting.Load()
		if b.away.Load() || r.Method == http.MethodPut && f != nil && (*f)() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b.backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *bucket) objects(t testing.TB, keys ...[]byte) state.Objects {
	t.Helper()
	o, err := s3.Parse("s3://results/broker?accessKey=id&secretKey=secret&endpoint="+b.url, func(s string) (string, error) { return s, nil }, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		return s3.New(o)
	}
	sealed, err := state.SealObjects(s3.New(o), keys...)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// all returns all objects, by their names.
func (b *bucket) all() map[string]string { return b.backend.Objects("results") }

func TestKeptSuiteWithObjects(t *testing.T) {
	b := newBucket(t)
	statetest.Kept{
		New: func(t testing.TB) string { return address(t) },
		Open: func(t testing.TB, at string, l state.Limits) (state.Results, state.Values) {
			k := connect(t, at).Kept(&l).In(b.objects(t))
			return k, k
		},
	}.Run(t)
}

func put(t *testing.T, k *Kept, data string) (string, error) {
	t.Helper()
	w, err := k.Create(t.Context(), "alice", state.Text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(data)); err != nil {
		w.Discard()
		return "", err
	}
	return w.Commit()
}

func TestResultsAsObjects(t *testing.T) {
	at := address(t)
	b := newBucket(t)
	k := connect(t, at).Kept(nil).In(b.objects(t, state.NewKey()))
	read := func(ref, want string) {
		t.Helper()
		_, r, err := k.Open(t.Context(), "alice", ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(got) != want {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	kept := map[string]string{}
	for n, objects := range map[int]int{inlineBytes: 0, inlineBytes + 1: 1, objectBytes: 1, 2*objectBytes + 1: 3} {
		before := len(b.all())
		data := strings.Repeat("planted secret ", n)[:n]
		ref, err := put(t, k, data)
		if err != nil {
			t.Fatal(err)
		}
		read(ref, data)
		if got := len(b.all()) - before; got != objects {
			t.Errorf("%d bytes are %d objects, want %d", n, got, objects)
		}
		kept[ref] = data
	}
	for name, body := range b.all() {
		if strings.Contains(body, "planted") {
			t.Errorf("%s is in the clear", name)
		}
		for ref := range kept {
			if strings.Contains(name, ref) {
				t.Errorf("the name %s has a reference", name)
			}
		}
	}

	b.away.Store(true)
	short, long := strings.Repeat("s", spareBytes), strings.Repeat("l", spareBytes+1)
	spare, err := put(t, k, short)
	if err != nil {
		t.Fatal(err)
	}
	read(spare, short)
	if ref, err := put(t, k, long); err == nil || ref != "" || !strings.Contains(err.Error(), "503") {
		t.Errorf("a long result is %q, %v", ref, err)
	}
	removed := ""
	for ref, data := range kept {
		if len(data) > objectBytes {
			removed = ref
		}
	}
	if err := k.Remove(t.Context(), "alice", removed); err != nil { // its objects are deleted later
		t.Error(err)
	}
	b.away.Store(false)
	delete(kept, removed)
	for ref, data := range kept {
		read(ref, data)
	}
	ref, err := put(t, k, long)
	if err != nil {
		t.Fatal(err)
	}
	read(ref, long)
	if err := k.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.all()); n != 3 {
		t.Errorf("%d objects are left, want those of three results", n)
	}
	if _, err := k.d.db.ExecContext(t.Context(), "UPDATE results SET created = created - interval '30 days'"); err != nil {
		t.Fatal(err)
	}
	if err := k.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.all()); n != 0 {
		t.Errorf("%d objects are left of results that are too old", n)
	}
}

// Objects are sealed again while they are read, also after that was broken off, and
// none of a result that is removed meanwhile is left.
func TestObjectsAreSealedAgain(t *testing.T) {
	at, b, one, two := address(t), newBucket(t), state.NewKey(), state.NewKey()
	kept := func(keys ...[]byte) *Kept { return connect(t, at).Kept(nil).In(b.objects(t, keys...)) }
	long, short := strings.Repeat("x", 2*objectBytes+1), strings.Repeat("y", inlineBytes+1)
	refs := map[string]string{}
	for _, data := range []string{long, short} {
		ref, err := put(t, kept(one), data)
		if err != nil {
			t.Fatal(err)
		}
		refs[data] = ref
	}
	read := func(k *Kept, data string) error {
		_, r, err := k.Open(t.Context(), "alice", refs[data])
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if err == nil && string(got) != data {
			err = fmt.Errorf("%d bytes, want %d", len(got), len(data))
		}
		return err
	}
	rekey := func(want state.Rekeyed, says string, keys ...[]byte) {
		t.Helper()
		r, err := kept(keys...).Rekey(t.Context())
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) || !reflect.DeepEqual(r, want) {
			t.Errorf("Rekey = %+v, %v, want %+v, %q", r, err, want, says)
		}
	}
	puts := 0
	refuseThird := func() error {
		if puts++; puts == 3 {
			return errors.New("away")
		}
		return nil
	}
	b.putting.Store(&refuseThird)
	rekey(state.Rekeyed{Sealed: 2}, "503", two, one)
	b.putting.Store(nil)
	for _, data := range []string{long, short} {
		if err := errors.Join(read(kept(two, one), data), read(kept(one, two), data)); err != nil {
			t.Error(err)
		}
	}
	rekey(state.Rekeyed{Sealed: 2, Kept: 2}, "", two, one)
	rekey(state.Rekeyed{Kept: 4}, "", two)
	for _, data := range []string{long, short} {
		if err := read(kept(two), data); err != nil {
			t.Error(err)
		}
		if err := read(kept(one), data); !errors.Is(err, state.ErrSealed) {
			t.Errorf("with the old key: %v", err)
		}
	}
	all := []string{refs[long], refs[short]}
	slices.Sort(all)
	rekey(state.Rekeyed{Unopened: all}, "", one)
	rekey(state.Rekeyed{}, "") // not sealed at all

	k, begun, goOn, done := kept(two), make(chan struct{}), make(chan struct{}), make(chan error, 2)
	if err := k.Remove(t.Context(), "alice", refs[long]); err != nil {
		t.Fatal(err)
	}
	waits := func() error { close(begun); <-goOn; return nil }
	b.putting.Store(&waits)
	back := kept(one, two)
	go func() { _, err := back.Rekey(t.Context()); done <- err }()
	<-begun
	go func() { done <- k.Remove(t.Context(), "alice", refs[short]) }()
	eventually.True(t, "the removal waits", func() bool {
		var n int
		err := back.d.db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n)
		return err == nil && n > 0
	})
	close(goOn)
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
	if n := len(b.all()); n != 0 {
		t.Errorf("%d objects are left of results that were removed", n)
	}
}

// BenchmarkKeep is a result of 1 MB, in the database and as an object.
func BenchmarkKeep(b *testing.B) {
	data := []byte(strings.Repeat("x", 1_000_000))
	for name, o := range map[string]state.Objects{"database": nil, "object": newBucket(b).objects(b)} {
		b.Run(name, func(b *testing.B) {
			k := connect(b, address(b)).Kept(nil).In(o)
			for b.Loop() {
				w, err := k.Create(b.Context(), "", state.Text)
				if err == nil {
					_, err = w.Write(data)
				}
				if err == nil {
					_, err = w.Commit()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
