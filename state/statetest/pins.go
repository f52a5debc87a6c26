package statetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/state"
)

// Pins is the suite of state.Pins.
type Pins struct {
	// New makes a place without pins.
	New func(testing.TB) string
	// Open opens the pins at a place, any number of times.
	Open func(t testing.TB, at string) state.Pins
}

// Run runs the suite.
func (s Pins) Run(t *testing.T) {
	tool := func(name string) state.PinName { return state.PinName{Kind: state.PinTool, Name: name} }
	set := func(t *testing.T, p state.Pins, server, name, digest string) {
		t.Helper()
		if err := p.ChangePins(t.Context(), server, func(m map[state.PinName]state.Pin) error {
			m[tool(name)] = state.Pin{Digest: digest, Definition: []byte(`{"name":"` + name + `"}`), ByPerson: true}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(t *testing.T, p state.Pins, server string) map[state.PinName]state.Pin {
		t.Helper()
		m, err := p.Pins(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("pins of one server are seen by all and by no other server", func(t *testing.T) {
		at := s.New(t)
		mine, others := s.Open(t, at), s.Open(t, at)
		if m := read(t, others, "a"); m != nil {
			t.Errorf("pins %v before there are any, want nil", m)
		}
		set(t, mine, "a", "t", "1")
		want := map[state.PinName]state.Pin{tool("t"): {PinName: tool("t"), Digest: "1", Definition: []byte(`{"name":"t"}`), ByPerson: true}}
		if diff := cmp.Diff(want, read(t, others, "a")); diff != "" {
			t.Errorf("pins (-want +got):\n%s", diff)
		}
		for _, other := range []string{"A", "a/../a", "", strings.Repeat("a", 5000)} {
			if m := read(t, others, other); m != nil {
				t.Errorf("pins of %.10q: %v", other, m)
			}
		}
	})
	t.Run("kinds and names do not mix", func(t *testing.T) {
		p := s.Open(t, s.New(t))
		names := []state.PinName{{Kind: state.PinTool, Name: "x"}, {Kind: state.PinPrompt, Name: "x"}, {Kind: state.PinServer}, {Kind: state.PinResource, Name: "file:///a\nb\"⟨"}}
		if err := p.ChangePins(t.Context(), "s", func(m map[state.PinName]state.Pin) error {
			for i, n := range names {
				m[n] = state.Pin{Digest: fmt.Sprint(i)}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		m := read(t, p, "s")
		for i, n := range names {
			if m[n].Digest != fmt.Sprint(i) {
				t.Errorf("%v: %+v", n, m[n])
			}
		}
	})
	t.Run("an error changes nothing", func(t *testing.T) {
		p := s.Open(t, s.New(t))
		set(t, p, "a", "t", "1")
		no := errors.New("no")
		if err := p.ChangePins(t.Context(), "a", func(m map[state.PinName]state.Pin) error { clear(m); return no }); !errors.Is(err, no) {
			t.Errorf("error %v", err)
		}
		if m := read(t, p, "a"); m[tool("t")].Digest != "1" {
			t.Errorf("pins %v", m)
		}
		if err := p.ChangePins(t.Context(), "a", func(m map[state.PinName]state.Pin) error { clear(m); return nil }); err != nil {
			t.Fatal(err)
		}
		if m := read(t, p, "a"); m == nil || len(m) > 0 {
			t.Errorf("pins %v after all were removed, want an empty map", m)
		}
	})
	t.Run("each change is another version", func(t *testing.T) {
		at := s.New(t)
		mine, others := s.Open(t, at), s.Open(t, at)
		seen := map[string]bool{}
		all := map[string]bool{}
		for i := range 20 {
			if v := others.PinsVersion(t.Context(), "a"); seen[v] {
				t.Errorf("change %d: version %q again", i, v)
			} else {
				seen[v] = true
			}
			if v := others.PinsVersion(t.Context(), ""); all[v] {
				t.Errorf("change %d: version of all %q again", i, v)
			} else {
				all[v] = true
			}
			set(t, mine, "a", "t", fmt.Sprintf("%02d", i))
		}
	})
	t.Run("no change of another broker is lost", func(t *testing.T) {
		at := s.New(t)
		var wg sync.WaitGroup
		const brokers, changes = 4, 25
		for b := range brokers {
			p := s.Open(t, at)
			wg.Go(func() {
				for i := range changes {
					set(t, p, "a", fmt.Sprintf("%d-%d", b, i), "1")
				}
			})
		}
		wg.Wait()
		if n := len(read(t, s.Open(t, at), "a")); n != brokers*changes {
			t.Errorf("%d pins, want %d", n, brokers*changes)
		}
	})
}
