package sqlite

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestRunsSuite(t *testing.T) {
	statetest.Runs{
		New:  func(t testing.TB) string { return t.TempDir() },
		Open: func(at string) (statetest.RunStore, error) { return NewRuns(at, nil), nil },
	}.Run(t)
}

// A write costs two of these: its intent and its result.
func BenchmarkRecordIntent(b *testing.B) {
	for _, class := range []string{"write", "destructive"} {
		b.Run(class, func(b *testing.B) {
			r := NewRuns(b.TempDir(), nil)
			defer r.Close()
			j := r.Begin(state.Run{})
			for n := 1; b.Loop(); n++ {
				c := state.RunCall{Ordinal: n, Func: "call", Tool: "t__write", Args: json.RawMessage(`{"n":1}`), Class: class, State: state.RunIntent}
				if err := j.Record(c, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The disk is full, or something else is wrong: a call that cannot be recorded must
// not be sent.
func TestRecordFailsWithoutDisk(t *testing.T) {
	r := NewRuns("/dev/null/nowhere", nil)
	defer r.Close()
	if err := r.Begin(state.Run{}).Record(state.RunCall{Ordinal: 1, State: state.RunIntent}, true); err == nil {
		t.Error("a call was recorded nowhere")
	}
}
