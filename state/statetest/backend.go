package statetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Backends are the implementation of state.Backend that is tested.
type Backends struct {
	// New returns the location of a new state, for which Prepare was never called.
	New func(testing.TB) string
	// Open opens the state there to serve, any number of times. The test closes it.
	Open func(t testing.TB, at string) state.Backend
	// Shared means that the brokers which open one state hear of each other.
	Shared bool
}

// Run runs the suite, with and without encryption. The suites of the stores are run
// where these are implemented.
func (s Backends) Run(t *testing.T) {
	key := state.NewKey()
	for name, seal := range map[string]func(testing.TB, state.Backend) state.Backend{
		"clear":  func(_ testing.TB, b state.Backend) state.Backend { return b },
		"sealed": func(t testing.TB, b state.Backend) state.Backend { return sealBackend(t, b, key) },
	} {
		t.Run(name, func(t *testing.T) {
			at := s.New(t)
			open := func(t testing.TB) state.Backend { return seal(t, s.open(t, at)) }
			t.Run("Prepare may be called again", func(t *testing.T) { s.prepared(t, open) })
			t.Run("a record is not created to read it", func(t *testing.T) { s.noRecord(t, open(t)) })
			t.Run("another backend reads what one has stored", func(t *testing.T) { s.readBack(t, open(t), open(t)) })
			t.Run("kinds of documents are separate", func(t *testing.T) { s.kinds(t, open(t)) })
			t.Run("the bus reaches its own subscribers", func(t *testing.T) { s.bus(t, open(t)) })
			t.Run("what brokers share", func(t *testing.T) { s.share(t, open(t), open(t)) })
		})
	}
	t.Run("what is sealed needs its key", s.sealed)
}

// sealBackend returns b with sealed journals and documents, but for the kind "open".
func sealBackend(t testing.TB, b state.Backend, keys ...[]byte) *state.SealedBackend {
	t.Helper()
	sealed, err := state.SealBackend(b, state.SealOptions{Keys: keys, Runs: true, Kind: func(kind string) string {
		if kind == "open" {
			return ""
		}
		return "sealed-" + kind
	}})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// open opens a state that is closed with the test.
func (s Backends) open(t testing.TB, at string) state.Backend {
	t.Helper()
	b := s.Open(t, at)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func (s Backends) prepared(t *testing.T, open func(testing.TB) state.Backend) {
	b := open(t)
	before, err := b.Prepared(t.Context())
	if before == s.Shared || err != nil {
		t.Errorf("Prepared = %t, %v before Prepare", before, err)
	}
	for range 2 {
		if err := b.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []state.Backend{b, open(t)} {
		if after, err := b.Prepared(t.Context()); !after || err != nil {
			t.Errorf("Prepared = %t, %v after Prepare", after, err)
		}
	}
	if where, err := b.Describe(t.Context()); where == "" || err != nil {
		t.Errorf("Describe = %q, %v", where, err)
	}
}

// aRun is a run with one call, begun in b and ended.
func aRun(t *testing.T, b state.Backend, id, text string) {
	t.Helper()
	runs := b.Runs(state.RunOptions{})
	j := runs.Begin(state.Run{ID: id, Code: text, Started: time.Now()})
	value, _ := json.Marshal(text) // of a string: no error
	err := j.Record(state.RunCall{Ordinal: 1, Func: "call", Tool: "t__w", State: state.RunDone, Settled: 1, Value: value}, true)
	if err := errors.Join(err, j.End(state.Run{Status: state.StatusDone}), runs.Close()); err != nil {
		t.Fatal(err)
	}
}

func (s Backends) readBack(t *testing.T, one, two state.Backend) {
	ctx := t.Context()
	audit, err := one.Audit(ctx, state.AuditOptions{Keep: state.Keep{Code: true}})
	if err != nil {
		t.Fatal(err)
	}
	id := audit.Begin(state.Execution{Language: "typescript", Code: "return 1"})
	if err := errors.Join(audit.Finish(state.Execution{ID: id}), audit.Close()); err != nil {
		t.Fatal(err)
	}
	aRun(t, one, "r_one", "return 2")
	ref := put(t, one.Results(), "c", state.Text, "a result")
	name := state.PinName{Kind: state.PinTool, Name: "t"}
	pin := func(pins map[state.PinName]state.Pin) error {
		pins[name] = state.Pin{PinName: name, Digest: "d"}
		return nil
	}
	err = errors.Join(one.Values().SetValue(ctx, "c", "k", json.RawMessage(`3`)), one.Pins().ChangePins(ctx, "s", pin), one.Documents("d").SetDocument(ctx, "n", []byte("a document")))
	if err != nil {
		t.Fatal(err)
	}

	history, err := two.Audit(ctx, state.AuditOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	if e, _, err := history.Show(ctx, id); e.Code != "return 1" || err != nil {
		t.Errorf("the execution has the code %q, %v", e.Code, err)
	}
	runs := two.Runs(state.RunOptions{})
	defer runs.Close()
	if r, calls, err := runs.Run(ctx, "r_one"); r.Code != "return 2" || len(calls) != 1 || string(calls[0].Value) != `"return 2"` || err != nil {
		t.Errorf("the run is %q with %d calls, %v", r.Code, len(calls), err)
	}
	_, body, err := two.Results().Open(ctx, "c", ref)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); string(text) != "a result" || err != nil {
		t.Errorf("the result is %q, %v", text, err)
	}
	if v, err := two.Values().Value(ctx, "c", "k"); string(v) != "3" || err != nil {
		t.Errorf("the value is %s, %v", v, err)
	}
	if pins, err := two.Pins().Pins(ctx, "s"); pins[name].Digest != "d" || err != nil {
		t.Errorf("the pins are %v, %v", pins, err)
	}
	if clients, err := two.Results().Clients(ctx); !slices.Equal(clients, []string{"c"}) || err != nil {
		t.Errorf("the clients with results or values are %q, %v", clients, err)
	}
	if doc, err := two.Documents("d").Document(ctx, "n"); string(doc) != "a document" || err != nil {
		t.Errorf("the document is %q, %v", doc, err)
	}
}

func (s Backends) kinds(t *testing.T, b state.Backend) {
	kinds := []string{"one", "two", "open"}
	for _, kind := range kinds {
		if err := b.Documents(kind).SetDocument(t.Context(), "name", []byte(kind)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		list, err := b.Documents(kind).ListDocuments(t.Context(), "")
		if len(list) != 1 || err != nil {
			t.Errorf("%s lists %v, %v", kind, list, err)
		}
		if text, err := b.Documents(kind).Document(t.Context(), "name"); string(text) != kind || err != nil {
			t.Errorf("%s has %q, %v", kind, text, err)
		}
	}
}

func (s Backends) noRecord(t *testing.T, b state.Backend) {
	for range 2 {
		history, err := b.Audit(t.Context(), state.AuditOptions{ReadOnly: true})
		if err == nil {
			var list []state.Execution
			list, err = history.List(t.Context(), state.Filter{})
			if len(list) != 0 {
				t.Errorf("List = %v", list)
			}
			err = errors.Join(err, history.Close())
		}
		if err != nil && !errors.Is(err, state.ErrNoRecord) {
			t.Error(err)
		}
	}
}

func (s Backends) bus(t *testing.T, b state.Backend) {
	heard := make(chan string, 10)
	defer b.Bus().Subscribe(state.TopicRuns, func(name string) { heard <- name })()
	for publish := time.NewTicker(20 * time.Millisecond); ; { // until the bus listens
		if err := b.Bus().Publish(t.Context(), state.TopicRuns, "r_1"); err != nil {
			t.Fatal(err)
		}
		select {
		case name := <-heard:
			if name == "r_1" {
				return
			}
		case <-publish.C:
		case <-t.Context().Done():
			t.Fatal("no notice arrives")
		}
	}
}

func (s Backends) share(t *testing.T, one, two state.Backend) {
	if has := []bool{one.Listings() != nil, one.Buckets() != nil, one.Replicas() != nil}; !slices.Equal(has, []bool{s.Shared, s.Shared, s.Shared}) {
		t.Fatalf("listings, buckets, replicas: %t; want %t", has, s.Shared)
	}
	if !s.Shared {
		return
	}
	ctx := t.Context()
	if err := one.Listings().SetListing(ctx, "key", []byte("listing")); err != nil {
		t.Fatal(err)
	}
	if all, err := two.Listings().Listings(ctx, []string{"key", "other"}); len(all) != 1 || string(all["key"]) != "listing" || err != nil {
		t.Errorf("Listings = %q, %v", all, err)
	}
	bucket := state.Bucket{Key: "b", Rate: 1e-6, Burst: 1}
	first, _, err := one.Buckets().TakeTokens(ctx, bucket, 1)
	second, _, err2 := two.Buckets().TakeTokens(ctx, bucket, 1)
	if first != 1 || second != 0 || err != nil || err2 != nil {
		t.Errorf("of one token, %d and %d are taken; %v, %v", first, second, err, err2)
	}
	leave, err := one.Replicas().Join(ctx, state.Replica{Name: "one", Address: "127.0.0.1:1", Certificate: []byte("c")})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if living, err := two.Replicas().Living(ctx); len(living) != 1 || living[0].Name != "one" || err != nil {
		t.Errorf("Living = %v, %v", living, err)
	}
}

func (s Backends) sealed(t *testing.T) {
	ctx, key, other := t.Context(), state.NewKey(), state.NewKey()
	in := s.open(t, s.New(t))
	if err := in.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	b, wrong, both := sealBackend(t, in, key), sealBackend(t, in, other), sealBackend(t, in, other, key)
	for _, kind := range []string{"closed", "open"} {
		if err := b.Documents(kind).SetDocument(ctx, "n", []byte("planted")); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := in.Documents("sealed-closed").Document(ctx, "n")
	if bytes.Contains(stored, []byte("planted")) || err != nil {
		t.Errorf("stored is %q, %v", stored, err)
	}
	for name, docs := range map[string]state.Documents{"in the clear": in.Documents("open"), "by a later key": both.Documents("closed")} {
		if text, err := docs.Document(ctx, "n"); string(text) != "planted" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := wrong.Documents("closed").Document(ctx, "n"); !errors.Is(err, state.ErrSealed) {
		t.Errorf("with another key: %v", err)
	}
	aRun(t, b, "r_sealed", "planted")
	for name, keyless := range map[string]state.Backend{"no key": in, "another key": wrong} {
		runs := keyless.Runs(state.RunOptions{})
		r, calls, _ := runs.Run(ctx, "r_sealed") // what it returns is what counts
		text, err := json.Marshal([]any{r, r.Code, calls})
		for _, c := range calls {
			text = append(text, c.Value...)
		}
		if err := errors.Join(err, runs.Close()); bytes.Contains(text, []byte("planted")) || err != nil {
			t.Errorf("%s: the run is read as %s, %v", name, text, err)
		}
	}
	if _, err := state.SealBackend(in, state.SealOptions{}); err == nil {
		t.Error("a backend is sealed without a key")
	}
}
