package upstream

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A revocable permit counts its calls.
type revocable struct {
	asked   atomic.Int32
	revoked atomic.Bool
}

func (r *revocable) MayStart() error {
	r.asked.Add(1)
	if r.revoked.Load() {
		return errors.New("it has changed since its approval")
	}
	return nil
}

// Each start of a program needs a permit, also after the program exited.
func TestEachStartNeedsAPermit(t *testing.T) {
	permit := new(revocable)
	s := fake("s", fakeupstream.Dies)
	s.Permit = permit
	p := newPool(t, nil, s)
	if err := p.Wait(t.Context(), "s"); err != nil { // a program that ends before it is listed is not started at once
		t.Fatal(err)
	}
	first := permit.asked.Load()
	_, _ = p.Call(t.Context(), "s", "die", nil, nil) // fails
	permit.revoked.Store(true)
	_, err := p.Call(t.Context(), "s", "echo", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "changed since its approval") || first == 0 || permit.asked.Load() == first {
		t.Errorf("without a permit: %v, asked %d and then %d times", err, first, permit.asked.Load())
	}
	if pid := p.Status()[0].PID; pid != 0 {
		t.Errorf("process %d runs", pid)
	}
}
