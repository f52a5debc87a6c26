package statetest

import (
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
)

// Buses is the suite of state.Bus and state.Listings.
type Buses struct {
	// New makes a place without listings, and Open opens it for one broker, any number
	// of times. Close ends a broker.
	New  func(testing.TB) string
	Open func(t testing.TB, at string) (b state.Bus, l state.Listings, close func())
}

// heardTime is how long a notice may take in a test.
const heardTime = 30 * time.Second

// Run runs the suite.
func (s Buses) Run(t *testing.T) {
	t.Run("all hear what one publishes", s.heard)
	t.Run("one leads, and another one after it", s.leads)
	t.Run("a listing that changes is published", s.listings)
}

// hear collects what is heard, without the notices that some may have been missed.
func hear(b state.Bus, topic string) (names chan string, stop func()) {
	names = make(chan string, 1000)
	return names, b.Subscribe(topic, func(name string) {
		if name != "" {
			names <- name
		}
	})
}

func next(t *testing.T, names chan string) string {
	t.Helper()
	select {
	case name := <-names:
		return name
	case <-time.After(heardTime):
		t.Fatalf("nothing was heard in %s", heardTime)
		return ""
	}
}

// reach publishes until others hear: a bus may need a moment to be there.
func reach(t *testing.T, b state.Bus, topic string, others ...chan string) {
	t.Helper()
	for _, names := range others {
		for deadline := time.Now().Add(heardTime); len(names) == 0; time.Sleep(5 * time.Millisecond) {
			if err := b.Publish(t.Context(), topic, "hello"); err != nil || time.Now().After(deadline) {
				t.Fatalf("nobody hears: %v", err)
			}
		}
	}
	if err := b.Publish(t.Context(), topic, "now"); err != nil {
		t.Fatal(err)
	}
	for _, names := range others {
		for next(t, names) != "now" {
		}
	}
}

func (s Buses) heard(t *testing.T) {
	at := s.New(t)
	one, _, closeOne := s.Open(t, at)
	two, _, closeTwo := s.Open(t, at)
	defer closeOne()
	defer closeTwo()
	mine, _ := hear(one, state.TopicRuns)
	others, stop := hear(two, state.TopicRuns)
	cancel, _ := hear(two, state.TopicCancel)
	reach(t, one, state.TopicRuns, mine, others)
	for _, name := range []string{"r_1", "a/b c\n'é", "r_2"} {
		if err := one.Publish(t.Context(), state.TopicRuns, name); err != nil {
			t.Fatal(err)
		}
		for _, names := range []chan string{mine, others} {
			if got := next(t, names); got != name {
				t.Errorf("heard %q, want %q", got, name)
			}
		}
	}
	stop()
	reach(t, two, state.TopicRuns, mine)
	if len(others) > 0 || len(cancel) > 0 {
		t.Errorf("heard %d after stop and %d of another topic", len(others), len(cancel))
	}
}

func (s Buses) leads(t *testing.T) {
	at := s.New(t)
	one, _, closeOne := s.Open(t, at)
	eventually.True(t, "the first one leads", one.Leads)
	two, _, closeTwo := s.Open(t, at)
	defer closeTwo()
	told := make(chan bool, 100)
	defer two.Subscribe(state.TopicLead, func(string) { told <- two.Leads() })()
	names, _ := hear(two, state.TopicRuns)
	reach(t, one, state.TopicRuns, names) // it is there, and has looked whether somebody leads
	if two.Leads() {
		t.Error("two lead")
	}
	closeOne()
	eventually.True(t, "the other one leads", two.Leads)
	for deadline := time.After(heardTime); ; {
		select {
		case leads := <-told:
			if leads {
				return
			}
		case <-deadline:
			t.Fatal("nobody was told who leads")
		}
	}
}

func (s Buses) listings(t *testing.T) {
	at := s.New(t)
	one, mine, closeOne := s.Open(t, at)
	_, others, closeTwo := s.Open(t, at)
	defer closeOne()
	defer closeTwo()
	names, _ := hear(one, state.TopicListings)
	reach(t, one, state.TopicListings, names)
	set := func(key, body string) {
		t.Helper()
		if err := others.SetListing(t.Context(), key, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	set("a", "1")
	set("a", "1") // the same content is not a change
	set("b", "\x00\xff")
	set("a", "2")
	for _, want := range []string{"a", "b", "a"} {
		if got := next(t, names); got != want {
			t.Errorf("heard of %q, want %q", got, want)
		}
	}
	all, err := mine.Listings(t.Context(), []string{"a", "b", "c"})
	if err != nil || len(all) != 2 || string(all["a"]) != "2" || string(all["b"]) != "\x00\xff" {
		t.Errorf("Listings = %q, %v", all, err)
	}
}
