package upstream

import (
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

func TestStarting(t *testing.T) {
	p := newPool(t, nil, fake("silent", fakeupstream.SilentInit), fake("good", fakeupstream.Good), Config{Name: "dead", Command: "/no/such/program"})
	if got := p.Starting(); len(got) != 3 || got[0].Name != "silent" || time.Since(got[0].Since) > time.Minute {
		t.Errorf("before the start: %+v, want all three", got)
	}
	p.Start(t.Context())
	deadline := time.After(30 * time.Second)
	for got := p.Starting(); len(got) != 1 || got[0].Name != "silent"; {
		changed := p.Changed()
		if got = p.Starting(); len(got) == 1 {
			continue
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("after 30 s: %+v, want the silent one only", got)
		}
	}
	changed := p.Changed()
	p.Update([]Config{fake("good", fakeupstream.Good)})
	<-changed
	if n := testing.AllocsPerRun(100, func() { p.Starting() }); n != 0 {
		t.Errorf("%g allocations while nothing is starting", n)
	}
	changed = p.Changed()
	p.Close()
	<-changed
}
