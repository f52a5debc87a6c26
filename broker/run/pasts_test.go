package run

import (
	"fmt"
	"runtime"
	"testing"
)

// Principals without a read are forgotten, unless one of their runs is active.
func TestPastsHaveAnEnd(t *testing.T) {
	var p pasts
	runs := p.forOwner("runs")
	for i := range 10_000 {
		p.forOwner(fmt.Sprint("person ", i))
		if i%500 == 0 {
			runtime.GC()
		}
	}
	if n := len(p.byOwner); n > 5_000 {
		t.Errorf("%d principals are remembered", n)
	}
	if p.forOwner("runs") != runs {
		t.Error("a run has another past than the next one of its principal")
	}
	runtime.GC()
	for range 2 { // first the empty ones, then the unused ones
		p.mu.Lock()
		p.sweepLocked()
		p.mu.Unlock()
		runtime.GC()
	}
	p.mu.Lock()
	p.sweepLocked()
	n := len(p.byOwner)
	p.mu.Unlock()
	if n != 1 {
		t.Errorf("%d principals are remembered when all but one are over", n)
	}
	runtime.KeepAlive(runs)
}
