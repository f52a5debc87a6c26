package statetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
)

// Objects is the suite of state.Objects.
type Objects struct {
	// Open returns objects of an empty place.
	Open func(t testing.TB) state.Objects
}

// Run runs the suite.
func (s Objects) Run(t *testing.T) {
	o := s.Open(t)
	if _, err := o.Get(t.Context(), "a/0"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Get of nothing = %v", err)
	}
	for _, body := range []string{"first", "", strings.Repeat("x", 1<<20)} {
		if err := o.Put(t.Context(), "a/0", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := o.Get(t.Context(), "a/0"); err != nil || string(got) != body {
			t.Errorf("Get = %.20q, %v, want %.20q", got, err, body)
		}
	}
	for range 2 {
		if err := o.Delete(t.Context(), "a/0"); err != nil {
			t.Error(err)
		}
	}
}
