package sqlite

import (
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// BenchmarkOpen is the cost for a broker's start: of a new file, and of one
// that is there.
func BenchmarkOpen(b *testing.B) {
	timeOpen := func(b *testing.B, dir string) {
		s, err := Open(dir, nil)
		b.StopTimer()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			b.StartTimer()
			timeOpen(b, dir)
		}
	})
	b.Run("existing", func(b *testing.B) {
		dir := b.TempDir()
		first, err := Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer first.Close()
		for b.Loop() {
			timeOpen(b, dir)
		}
	})
}

// BenchmarkRecord is what a call pays on its way: at the pace of 100 calls an
// execution, the writer keeps up.
func BenchmarkRecord(b *testing.B) {
	s := openBench(b, nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s.Record(state.Call{ExecutionID: "e_1", Server: "git", Tool: "log", ID: "git__log", Duration: time.Millisecond, Status: state.CallOK})
		if n++; n%100 == 0 {
			b.StopTimer()
			if err := s.Finish(state.Execution{ID: "e_1"}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkExecution is what an execution pays until its answer may be sent.
func BenchmarkExecution(b *testing.B) {
	for _, bb := range []struct {
		name  string
		calls int
		o     *Options
	}{{"0calls", 0, nil}, {"1call", 1, nil}, {"100calls", 100, nil}, {"100calls/payloads", 100, &Options{Payloads: true}}} {
		b.Run(bb.name, func(b *testing.B) {
			s := openBench(b, bb.o)
			b.ReportAllocs()
			for b.Loop() {
				id := s.Begin(state.Execution{Client: "ci", Language: "typescript", Code: "return 1"})
				for i := range bb.calls {
					s.Record(state.Call{ExecutionID: id, Seq: i, Server: "git", Tool: "log", ID: "git__log", Status: state.CallOK, Args: []byte(`{"limit":3}`), Result: []byte(`{"ok":true}`)})
				}
				if err := s.Finish(state.Execution{ID: id}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func openBench(b *testing.B, o *Options) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}
