package usage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A record keeps events in memory.
type record struct {
	state.History
	state.Journal
	mu     sync.Mutex
	events []state.Event
}

func (r *record) Note(e state.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = time.Now()
	r.events = append(r.events, e)
}

func (r *record) Events(_ context.Context, _ time.Time, limit int) ([]state.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.events)
	slices.Reverse(list)
	return list[:min(limit, len(list))], nil
}

func words(text string) []string {
	list := strings.Fields(text)
	slices.Sort(list)
	return list
}

// bubble runs f with a store in a synctest bubble.
func bubble(t *testing.T, r *record, f func(s *usage.Store)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := usage.New(&usage.Options{Journal: r, History: r})
		f(s)
		_ = s.Close()
	})
}

// A tool that was called after a search counts after similar searches of the same owner,
// more after more calls, and in the next process too.
func TestCallsAfterSearchesCount(t *testing.T) {
	r := new(record)
	me, ann := usage.Who{Session: "1"}, usage.Who{Owner: "ann", Session: "1"}
	share := func(s *usage.Store, owner, query, tool string) string {
		synctest.Wait()
		return fmt.Sprintf("%.2f", s.Favor(owner, words(query))[tool])
	}
	bubble(t, r, func(s *usage.Store) {
		for n, want := range []string{"0.50", "0.75", "1.00", "1.00", "1.00"} {
			s.Searched(me, words("create issue"), []string{"jira__create_issue", "github__create_issue"})
			s.Called(me, []string{"github__create_issue"})
			if got := share(s, "", "create issue", "github__create_issue"); got != want {
				t.Errorf("after %d calls: %s, want %s", n+1, got, want)
			}
		}
		if len(r.events) != 3 {
			t.Errorf("%d events, want 3: more uses add nothing on the same day", len(r.events))
		}
	})
	bubble(t, r, func(s *usage.Store) {
		for _, c := range []struct{ owner, query, tool, want string }{
			{"", "create issue", "github__create_issue", "1.00"},
			{"", "create issue now", "github__create_issue", "0.67"},
			{"", "create", "github__create_issue", "0.00"},
			{"", "list the pods", "github__create_issue", "0.00"},
			{"", "create issue", "jira__create_issue", "0.00"},
			{"ann", "create issue", "github__create_issue", "0.00"},
		} {
			if got := share(s, c.owner, c.query, c.tool); got != c.want {
				t.Errorf("%q of %q: %s has %s, want %s", c.query, c.owner, c.tool, got, c.want)
			}
		}
		s.Searched(ann, words("create issue"), []string{"jira__create_issue"})
		s.Called(me, []string{"jira__create_issue"}) // somebody else
		s.Called(usage.Who{Owner: "ann", Session: "2"}, []string{"jira__create_issue"})
		if got := share(s, "ann", "create issue", "jira__create_issue"); got != "0.00" {
			t.Errorf("calls of others and of other conversations count: %s", got)
		}
		s.Called(ann, []string{"jira__create_issue", "slack__send"})
		if got := share(s, "ann", "create issue", "jira__create_issue"); got != "0.50" {
			t.Errorf("a call of ann has %s", got)
		}
		if got := share(s, "ann", "create issue", "slack__send"); got != "0.00" {
			t.Errorf("a tool that the search did not find has %s", got)
		}
		time.Sleep(time.Hour)
		s.Called(ann, []string{"jira__create_issue"})
		if got := share(s, "ann", "create issue", "jira__create_issue"); got != "0.50" {
			t.Errorf("a call an hour later has %s", got)
		}
	})
	for _, e := range r.events {
		if strings.Contains(e.Digest+e.Client+e.Detail, "ann") {
			t.Errorf("the record names the owner: %+v", e)
		}
	}
}

// What the record forgets is forgotten, by a running store within a minute of use.
func TestForgottenWithTheRecord(t *testing.T) {
	r := new(record)
	bubble(t, r, func(s *usage.Store) {
		me := usage.Who{}
		s.Searched(me, words("create issue"), []string{"a__b"})
		s.Called(me, []string{"a__b"})
		synctest.Wait()
		if s.Favor("", words("create issue")) == nil {
			t.Error("nothing was learned")
		}
		r.events = nil
		time.Sleep(2 * time.Minute)
		s.Searched(me, words("something else"), []string{"a__b"})
		synctest.Wait()
		if got := s.Favor("", words("create issue")); got != nil {
			t.Errorf("after the record was pruned: %v", got)
		}
	})
}

// Whatever is searched and called, the memory is bounded, and the latest stays.
func TestUsageIsBounded(t *testing.T) {
	r := new(record)
	for owner := range 3 {
		for i := range 2000 {
			r.Note(state.Event{Kind: state.EventSearchUsed, Name: fmt.Sprintf("tool%d", i), Digest: fmt.Sprintf("%d", owner), Detail: fmt.Sprintf("find thing%d", i/20)})
			r.Note(state.Event{Kind: state.EventDrift, Name: "x", Detail: "find"})
		}
	}
	for i := range 500 {
		r.Note(state.Event{Kind: state.EventSearchUsed, Name: "mine", Detail: fmt.Sprintf("find thing%d", i)})
	}
	r.Note(state.Event{Kind: state.EventSearchUsed, Name: "mine", Detail: ""})
	bubble(t, r, func(s *usage.Store) {
		if got := s.Favor("", words("find thing499")); len(got) != 1 {
			t.Errorf("the latest search has %v", got)
		}
		if got := s.Favor("", words("find thing1")); got != nil {
			t.Errorf("the oldest search has %v", got)
		}
		for i := range 10_000 { // more than waits
			s.Searched(usage.Who{Owner: fmt.Sprint(i)}, words("find thing"), []string{"a"})
			s.Called(usage.Who{Owner: fmt.Sprint(i)}, []string{"a"})
		}
	})
}

// The record of a real state has what was learned, and loses it with its retention.
func TestUsageInTheRecord(t *testing.T) {
	kept, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	note := func(tool, detail string) {
		kept.Note(state.Event{Kind: state.EventSearchUsed, Name: tool, Detail: detail})
	}
	note("github__create_issue", "create issu")
	e := kept.Begin(state.Execution{Client: "t"})
	if err := kept.Finish(state.Execution{ID: e}); err != nil { // all before it is committed
		t.Fatal(err)
	}
	favor := func() map[string]float64 {
		s := usage.New(&usage.Options{Journal: kept, History: kept})
		defer s.Close()
		return s.Favor("", []string{"create", "issu"})
	}
	if got := favor(); got["github__create_issue"] != 0.5 {
		t.Errorf("the record gives %v", got)
	}
	if _, err := kept.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := favor(); got != nil {
		t.Errorf("the pruned record gives %v", got)
	}
}

// A store that was closed, or was never used, does nothing.
func TestClosedUsage(t *testing.T) {
	for _, use := range []func(*usage.Store){func(*usage.Store) {}, func(s *usage.Store) { s.Begin() }, func(s *usage.Store) { s.Favor("", []string{"a"}) }} {
		s := usage.New(nil)
		use(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s.Searched(usage.Who{}, []string{"a"}, []string{"b"})
		s.Called(usage.Who{}, []string{"b"})
		if got := s.Favor("", []string{"a"}); got != nil {
			t.Errorf("a closed store knows %v", got)
		}
	}
}
