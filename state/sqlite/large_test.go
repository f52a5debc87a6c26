package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// fill records executions of ten calls each. One call, near the beginning, is like
// no other.
func fill(tb testing.TB, s *Store, executions int) {
	tb.Helper()
	began := time.Now().Add(-time.Duration(executions) * time.Second)
	for i := range executions {
		at := began.Add(time.Duration(i) * time.Second)
		id := s.Begin(state.Execution{Client: fmt.Sprint("client ", i%5), Language: "typescript", Code: fmt.Sprint("return ", i), Started: at})
		for seq := range 10 {
			c := state.Call{ExecutionID: id, Seq: seq, Server: fmt.Sprint("server", seq), Tool: "read", ID: fmt.Sprintf("server%d__read", seq), Status: state.CallOK, Class: "read",
				Started: at, Duration: time.Millisecond, Decision: "allow preset", Args: []byte(`{"path":"docs/readme.md","limit":50}`), Result: []byte(`{"ok":true}`)}
			if i == 50 && seq == 5 {
				c.Server, c.Tool, c.Status, c.Class, c.Error = "rare", "write", state.CallError, "write", "no such file"
			}
			s.Record(c)
		}
		if err := s.Finish(state.Execution{ID: id, Ended: at.Add(time.Millisecond), Calls: 10}); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkLarge asks a record of a million calls in 100,000 executions what the
// console asks it. It takes a minute to write that first.
func BenchmarkLarge(b *testing.B) {
	s := openBench(b, &Options{Payloads: true, MaxBytes: -1})
	start := time.Now()
	fill(b, s, 100_000)
	b.Logf("written in %s", time.Since(start).Round(time.Second))
	at, err := s.News(b.Context(), state.Position{})
	if err != nil {
		b.Fatal(err)
	}
	one := at.At
	one.Call, one.Event = one.Call-12, one.Event-12
	for _, p := range []struct {
		name string
		at   state.Position
	}{{"news/none", at.At}, {"news/an execution", one}} {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.News(b.Context(), p.at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, f := range []struct {
		name string
		f    state.CallFilter
	}{
		{"any", state.CallFilter{}}, {"server", state.CallFilter{Server: "server3"}}, {"status", state.CallFilter{Status: state.CallError}}, {"class", state.CallFilter{Class: "write"}},
		{"client", state.CallFilter{Client: "client 3"}}, {"no client", state.CallFilter{Client: "x"}}, {"rare", state.CallFilter{Server: "rare"}}, {"text", state.CallFilter{Text: "readme"}}, {"rare text", state.CallFilter{Text: "no such"}},
		{"since", state.CallFilter{Text: "no such", Since: time.Now().Add(-time.Hour)}},
	} {
		b.Run("calls/"+f.name, func(b *testing.B) {
			f.f.Limit = 100
			for b.Loop() {
				if _, err := s.Calls(b.Context(), f.f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, f := range []struct {
		name string
		f    state.Filter
	}{{"any", state.Filter{}}, {"status", state.Filter{Status: state.StatusTimeout}}, {"server", state.Filter{Server: "rare"}}, {"text", state.Filter{Text: "no such"}}} {
		b.Run("executions/"+f.name, func(b *testing.B) {
			f.f.Limit = 100
			for b.Loop() {
				if _, err := s.List(b.Context(), f.f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("stats", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Stats(b.Context(), time.Time{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
