package statetest

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

func (a Audits) callFilters(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{Payloads: true})
	begun := time.Now()
	id := s.Begin(state.Execution{Client: "ann", ClientInfo: "cursor", Code: "1"})
	for _, c := range []state.Call{
		{ExecutionID: id, Seq: 1, Server: "git", Tool: "log", ID: "git__log", Status: state.CallOK, Class: "read", Args: []byte(`{"path":"A_b"}`)},
		{ExecutionID: id, Seq: 2, Server: "git", Tool: "push", ID: "git__push", Status: state.CallDenied, Class: "write", Decision: "deny rule x"},
		{Server: "src", Tool: "log", ID: "src__log", Status: state.CallError, Error: "no such file", Started: begun.Add(-time.Hour)},
	} {
		s.Record(c)
	}
	if err := s.Finish(state.Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	all, err := s.Calls(t.Context(), state.CallFilter{})
	if err != nil || len(all) != 3 || all[0].N <= all[1].N || all[1].Client != "ann" || all[0].Client != "" {
		t.Fatalf("Calls = %+v, %v", all, err)
	}
	for _, tt := range []struct {
		name string
		f    state.CallFilter
		want []string
	}{
		{"limit", state.CallFilter{Limit: 1}, []string{"src__log"}},
		{"before", state.CallFilter{Before: all[0].N}, []string{"git__push", "git__log"}},
		{"after", state.CallFilter{After: all[1].N}, []string{"src__log"}},
		{"since", state.CallFilter{Since: begun.Add(-time.Minute)}, []string{"git__push", "git__log"}},
		{"until", state.CallFilter{Until: begun.Add(-time.Minute)}, []string{"src__log"}},
		{"server and tool", state.CallFilter{Server: "git", Tool: "log"}, []string{"git__log"}},
		{"status", state.CallFilter{Status: state.CallDenied}, []string{"git__push"}},
		{"class", state.CallFilter{Class: "write"}, []string{"git__push"}},
		{"client", state.CallFilter{Client: "cursor"}, []string{"git__push", "git__log"}},
		{"decision", state.CallFilter{Text: "RULE X"}, []string{"git__push"}},
		{"arguments, and _ is no pattern", state.CallFilter{Text: "a_b"}, []string{"git__log"}},
		{"% is no pattern", state.CallFilter{Text: "%"}, nil},
	} {
		list, err := s.Calls(t.Context(), tt.f)
		var got []string
		for _, c := range list {
			got = append(got, c.ID)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func (a Audits) news(t *testing.T) {
	at := a.New(t)
	s, reader := a.open(t, at, state.Keep{Code: true}), a.open(t, at, state.Keep{})
	old := s.Begin(state.Execution{Code: "old"})
	s.Record(state.Call{ExecutionID: old, Seq: 1, Server: "s", Tool: "old", Status: state.CallOK})
	if err := s.Finish(state.Execution{ID: old}); err != nil {
		t.Fatal(err)
	}
	n, err := reader.News(t.Context(), state.Position{})
	if err != nil || len(n.Calls)+len(n.Events)+len(n.Executions) > 0 || n.At.Call == 0 {
		t.Fatalf("at first: %+v, %v", n, err)
	}
	from := n.At
	id := s.Begin(state.Execution{Client: "ann", Code: "new"})
	s.Record(state.Call{ExecutionID: id, Seq: 1, Server: "s", Tool: "new", Status: state.CallOK})
	s.Note(state.Event{Kind: state.EventDrift, Server: "s"})
	if err := s.Finish(state.Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	// A position holds as text, and in another process.
	n, err = reader.News(t.Context(), state.ParsePosition(from.String()))
	if err != nil || len(n.Calls) != 1 || n.Calls[0].Tool != "new" || n.Calls[0].Client != "ann" || len(n.Events) != 1 || n.Missed {
		t.Fatalf("News = %+v, %v", n, err)
	}
	i := slices.IndexFunc(n.Executions, func(e state.Execution) bool { return e.ID == id })
	if i < 0 || n.Executions[i].Status != state.StatusDone || n.Executions[i].Code != "" {
		t.Errorf("executions: %+v", n.Executions)
	}
	if again, err := reader.News(t.Context(), n.At); err != nil || len(again.Calls)+len(again.Events) > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	// A clock that was set back hides nothing that comes then.
	ahead := n.At
	ahead.Time = time.Now().Add(time.Hour)
	id = s.Begin(state.Execution{Code: "later"})
	if err := s.Finish(state.Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	if n, err = reader.News(t.Context(), ahead); err != nil || !slices.ContainsFunc(n.Executions, func(e state.Execution) bool { return e.ID == id }) {
		t.Errorf("after the clock was set back: %+v, %v", n.Executions, err)
	}
	for range state.MaxNews + 1 {
		s.Record(state.Call{Server: "s", Tool: "many", Status: state.CallOK})
	}
	if err := s.Finish(state.Execution{ID: id}); err != nil {
		t.Fatal(err)
	}
	if n, err = reader.News(t.Context(), from); err != nil || !n.Missed || len(n.Calls) > 0 {
		t.Errorf("too much: %d calls, missed %v, %v", len(n.Calls), n.Missed, err)
	}
	for _, none := range []string{"x-1", "-1--1-1", "1-1", "99999999999999999999-1-1"} {
		if p := state.ParsePosition(none); p != (state.Position{}) {
			t.Errorf("%q, which is no position, is %+v", none, p)
		}
	}
}
