package statetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Kept is the implementation of state.Results and state.Values that is tested.
type Kept struct {
	// New returns where nothing is kept yet: a directory, or an address.
	New func(t testing.TB) string
	// Open opens what is kept at a place that New returned, any number of times.
	Open func(t testing.TB, at string, l state.Limits) (state.Results, state.Values)
}

// Run runs the suite.
func (k Kept) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"results belong to one client", k.isolation},
		{"a result is not there before Commit", k.commit},
		{"results that are too old are gone", k.expiry},
		{"one client's flood spares the others", k.flood},
		{"values", k.values},
		{"limits of values", k.limits},
		{"many share one place", k.shared},
	} {
		t.Run(c.name, c.test)
	}
}

func (k Kept) open(t *testing.T, l state.Limits) (state.Results, state.Values) {
	t.Helper()
	return k.Open(t, k.New(t), l)
}

func put(t *testing.T, r state.Results, client, mime, data string) string {
	t.Helper()
	ref, err := keep(t, r, client, mime, data)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func keep(t *testing.T, r state.Results, client, mime, data string) (string, error) {
	t.Helper()
	w, err := r.Create(t.Context(), client, mime)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, data); err != nil {
		w.Discard()
		return "", err
	}
	return w.Commit()
}

// get returns a result and its bytes, which must be as many as it says.
func get(t *testing.T, r state.Results, client, ref string) (state.Result, string, error) {
	t.Helper()
	result, from, err := r.Open(t.Context(), client, ref)
	if err != nil {
		return result, "", err
	}
	data, err := io.ReadAll(from)
	if err := errors.Join(err, from.Close()); err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != result.Bytes {
		t.Errorf("result %s has %d bytes, want %d", ref, len(data), result.Bytes)
	}
	return result, string(data), nil
}

func (k Kept) isolation(t *testing.T) {
	r, _ := k.open(t, state.Limits{})
	ref := put(t, r, "alice", state.JSON, `{"a":1}`)
	got, data, err := get(t, r, "alice", ref)
	if err != nil || data != `{"a":1}` || got.Ref != ref || got.MIME != state.JSON || got.Client != "alice" || time.Since(got.Created).Abs() > time.Hour {
		t.Fatalf("Open = %+v %s %v", got, data, err)
	}
	for _, other := range []string{state.Local, "bob", "local", "Alice"} {
		if _, _, err := r.Open(t.Context(), other, ref); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("client %q: Open = %v, want ErrNotFound", other, err)
		}
		if err := r.Remove(t.Context(), other, ref); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("client %q: Remove = %v, want ErrNotFound", other, err)
		}
		if list, err := r.List(t.Context(), other); err != nil || len(list) != 0 {
			t.Errorf("client %q: List = %v, %v", other, list, err)
		}
	}
	for _, bad := range []string{"", ".", "../../secret", "r_", strings.Repeat("r", 1000), "r_aaaaaaaaaaaaaaaaaaaaaaaaaa", "r_\x00"} {
		if _, _, err := r.Open(t.Context(), "alice", bad); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("Open(%.40q) = %v, want ErrNotFound", bad, err)
		}
	}
	second := put(t, r, "alice", state.Text, "x")
	if list, err := r.List(t.Context(), "alice"); err != nil || len(list) != 2 || list[0].Created.Before(list[1].Created) {
		t.Errorf("List = %+v, %v; want two, the newest first", list, err)
	}
	put(t, r, state.Local, state.Text, "x")
	clients, err := r.Clients(t.Context())
	if slices.Sort(clients); err != nil || !slices.Equal(clients, []string{state.Local, "alice"}) {
		t.Errorf("Clients = %q, %v", clients, err)
	}
	for _, gone := range []string{ref, second} {
		if err := r.Remove(t.Context(), "alice", gone); err != nil {
			t.Error(err)
		}
		if _, _, err := r.Open(t.Context(), "alice", gone); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("after Remove: %v", err)
		}
	}
}

func (k Kept) commit(t *testing.T) {
	r, _ := k.open(t, state.Limits{})
	for _, discard := range []bool{true, false} {
		w, err := r.Create(t.Context(), "alice", state.Text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "half"); err != nil {
			t.Fatal(err)
		}
		if list, err := r.List(t.Context(), "alice"); err != nil || len(list) != 0 {
			t.Errorf("before Commit: %v, %v", list, err)
		}
		if discard {
			w.Discard()
			continue
		}
		ref, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if _, data, err := get(t, r, "alice", ref); data != "half" || err != nil {
			t.Errorf("after Commit: %q, %v", data, err)
		}
	}
}

func (k Kept) expiry(t *testing.T) {
	at := k.New(t)
	r, v := k.Open(t, at, state.Limits{})
	ref := put(t, r, "alice", state.Text, "old")
	if err := v.SetValue(t.Context(), "alice", "k", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	r, v = k.Open(t, at, state.Limits{MaxAge: 1, MaxValueAge: 1})
	if _, _, err := r.Open(t.Context(), "alice", ref); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Open = %v, want ErrNotFound", err)
	}
	if list, err := r.List(t.Context(), "alice"); err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v", list, err)
	}
	if _, err := v.Value(t.Context(), "alice", "k"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Value = %v, want ErrNotFound", err)
	}
	if keys, err := v.Keys(t.Context(), "alice"); err != nil || len(keys) != 0 {
		t.Errorf("Keys = %q, %v", keys, err)
	}
}

func (k Kept) flood(t *testing.T) {
	r, _ := k.open(t, state.Limits{MaxBytes: 400})
	hers := put(t, r, "alice", state.Text, "hers")
	var last string
	for range 40 {
		last = put(t, r, "bob", state.Text, strings.Repeat("x", 100))
	}
	for client, ref := range map[string]string{"alice": hers, "bob": last} {
		if _, _, err := get(t, r, client, ref); err != nil {
			t.Errorf("%s: %v", client, err)
		}
	}
	if list, err := r.List(t.Context(), "bob"); err != nil || len(list) >= 40 {
		t.Errorf("%d results of 100 bytes each stay within 400 bytes, %v", len(list), err)
	}
	ref, err := keep(t, r, "alice", state.Text, strings.Repeat("x", 401))
	if _, ok := errors.AsType[*state.LimitError](err); !ok || ref != "" {
		t.Errorf("more than fits is kept as %q, %v; want a LimitError", ref, err)
	}
}

func (k Kept) values(t *testing.T) {
	_, v := k.open(t, state.Limits{})
	ctx := t.Context()
	if _, err := v.Value(ctx, "", "a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Value of nothing = %v", err)
	}
	for _, key := range []string{"b", "a", "../x/\x00ü"} {
		if err := v.SetValue(ctx, "", key, json.RawMessage(`{"n":1}`)); err != nil {
			t.Errorf("SetValue(%q): %v", key, err)
		}
	}
	if err := v.SetValue(ctx, "", "a", json.RawMessage(`123`)); err != nil {
		t.Errorf("set again: %v", err)
	}
	if got, err := v.Value(ctx, "", "a"); string(got) != "123" || err != nil {
		t.Errorf("Value = %s, %v", got, err)
	}
	if keys, err := v.Keys(ctx, ""); err != nil || !slices.Equal(keys, []string{"../x/\x00ü", "a", "b"}) {
		t.Errorf("Keys = %q, %v", keys, err)
	}
	if keys, err := v.Keys(ctx, "other"); err != nil || len(keys) != 0 {
		t.Errorf("keys of another client: %q, %v", keys, err)
	}
	if _, err := v.Value(ctx, "other", "a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("value of another client: %v", err)
	}
	for _, want := range []bool{true, false} {
		if was, err := v.DeleteValue(ctx, "", "b"); was != want || err != nil {
			t.Errorf("DeleteValue = %t, %v; want %t", was, err, want)
		}
	}
}

func (k Kept) limits(t *testing.T) {
	_, v := k.open(t, state.Limits{MaxValueBytes: 10, MaxKeys: 2, MaxValuesBytes: 200})
	refused := func(v state.Values, key, value, want string) {
		t.Helper()
		err := v.SetValue(t.Context(), "", key, json.RawMessage(value))
		if e, ok := errors.AsType[*state.LimitError](err); !ok || !strings.Contains(e.Text, want) {
			t.Errorf("SetValue(%.20q, %s) = %v, want a LimitError with %q", key, value, err, want)
		}
	}
	for _, key := range []string{"a", "b"} {
		if err := v.SetValue(t.Context(), "", key, json.RawMessage(`1`)); err != nil {
			t.Fatal(err)
		}
	}
	refused(v, "", `1`, "empty")
	refused(v, strings.Repeat("k", 257), `1`, "257 characters; at most 256")
	refused(v, "a", `"0123456789"`, "12 bytes; at most 10")
	refused(v, "c", `1`, "2 keys; at most 2")
	if got, err := v.Value(t.Context(), "", "a"); string(got) != "1" || err != nil {
		t.Errorf("a refused value has changed the old one: %s, %v", got, err)
	}
	_, tight := k.open(t, state.Limits{MaxValuesBytes: 60})
	long := `"` + strings.Repeat("x", 30) + `"`
	if err := tight.SetValue(t.Context(), "", "a", json.RawMessage(long)); err != nil {
		t.Fatal(err)
	}
	refused(tight, "b", long, "all values together")
}

func (k Kept) shared(t *testing.T) {
	at := k.New(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r, v := k.Open(t, at, state.Limits{})
			for j := range 25 {
				w, err := r.Create(t.Context(), "", state.JSON)
				if err != nil {
					t.Errorf("Create: %v", err)
					return
				}
				if _, err := w.Write([]byte(`[1]`)); err != nil {
					t.Errorf("Write: %v", err)
				}
				ref, err := w.Commit()
				if err != nil {
					t.Errorf("Commit: %v", err)
				}
				if _, data, err := get(t, r, "", ref); data != `[1]` || err != nil {
					t.Errorf("Open: %s, %v", data, err)
				}
				if err := v.SetValue(t.Context(), "", "shared", json.RawMessage(fmt.Sprintf(`"%d"`, i*100+j))); err != nil {
					t.Errorf("SetValue: %v", err)
				}
				if got, err := v.Value(t.Context(), "", "shared"); err != nil || !json.Valid(got) {
					t.Errorf("Value = %s, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	r, _ := k.Open(t, at, state.Limits{})
	if list, err := r.List(t.Context(), ""); err != nil || len(list) != 100 {
		t.Errorf("%d results, %v; want 100", len(list), err)
	}
}
