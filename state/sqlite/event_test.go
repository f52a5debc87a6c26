package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsAreListedTheLatestFirst(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	s.Note(Event{Time: at, Kind: EventToolsChanged, Server: "a", Detail: "x (description)"})
	s.Note(Event{Time: at.Add(time.Minute), Kind: EventToolsChanged, Server: "b", Detail: "password=hunter2hunter2"})
	// What was recorded before is committed when an execution is.
	if err := s.Finish(Execution{ID: s.Begin(Execution{})}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Events(t.Context(), time.Time{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{Time: at.Add(time.Minute), Kind: EventToolsChanged, Server: "b", Detail: "password=" + Redacted},
		{Time: at, Kind: EventToolsChanged, Server: "a", Detail: "x (description)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got, err := s.Events(t.Context(), at.Add(time.Second), 10); err != nil || len(got) != 1 {
		t.Errorf("events since: %v, %v; want one", got, err)
	}
	for limit, want := range map[int]int{-1: 2, 0: 2, 1: 1} {
		if got, err := s.Events(t.Context(), time.Time{}, limit); err != nil || len(got) != want {
			t.Errorf("events with limit %d: %v, %v; want %d", limit, got, err, want)
		}
	}
	if _, err := s.Prune(t.Context(), at.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Events(t.Context(), time.Time{}, 10); err != nil || len(got) != 1 {
		t.Errorf("after pruning: %v, %v; want one", got, err)
	}
}
