package api

import (
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// BenchmarkSearch looks for calls in a record of a million, as the Audit page does: for
// the first answer, and for all that there is. It takes a minute to write that first.
func BenchmarkSearch(b *testing.B) {
	store, err := sqlite.Open(b.TempDir(), &sqlite.Options{Payloads: true, MaxBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	for i := range 1000 {
		id := store.Begin(state.Execution{Client: "ann", Code: "return 1", Started: time.Now().Add(time.Duration(i-1000) * time.Minute)})
		for seq := range 1000 {
			c := state.Call{ExecutionID: id, Seq: seq, Server: "git", Tool: "log", ID: "git__log", Status: state.CallOK, Class: "read", Decision: "allow preset", Args: []byte(`{"path":"docs/readme.md","limit":50}`), Result: []byte(`{"ok":true}`)}
			if i == 5 && seq == 5 {
				c.Server, c.Status, c.Class, c.Error = "rare", state.CallError, "write", "no such file"
			}
			store.Record(c)
		}
		if err := store.Finish(state.Execution{ID: id}); err != nil {
			b.Fatal(err)
		}
	}
	r := &Reader{Audit: store}
	for _, bb := range []struct {
		name string
		f    state.CallFilter
	}{{"any", state.CallFilter{}}, {"server", state.CallFilter{Server: "rare"}}, {"status", state.CallFilter{Status: state.CallError}}, {"client", state.CallFilter{Client: "bob"}}, {"text", state.CallFilter{Text: "no such"}}} {
		b.Run("first/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.searchCalls(b.Context(), bb.f, searchTime); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("all/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				for f := bb.f; ; {
					found, err := r.searchCalls(b.Context(), f, searchTime)
					if err != nil {
						b.Fatal(err)
					}
					if f.Before = found.Searched; found.Searched == 0 {
						break
					}
				}
			}
		})
	}
}
