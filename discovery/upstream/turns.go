package upstream

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// installTurn is how long a server may hold its place: one that hangs delays the
// others by no more, and itself is waited for as long as ever.
const installTurn = 30 * time.Second

// startTurn is how long it may hold its place once its package is installed. Starting
// takes the processor, too, but a server that hangs takes nothing.
const startTurn = 5 * time.Second

// maxInstalls is how many servers that a package runner may have to download are
// started at once: one for each processor. More of them take each other's network
// and processor until none is ready in time.
func maxInstalls() int { return min(max(2, runtime.GOMAXPROCS(0)), 8) }

// turns are slots for servers. Servers get them in the order that was last preferred,
// and the others in the order of their arrival.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting []*turn
	order   []string
}

type turn struct {
	server string
	ready  chan struct{} // closed when it has a place
}

// wait waits for a place. It reports false if ctx is done first.
func (t *turns) wait(ctx context.Context, server string) bool {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return true
	}
	me := &turn{server, make(chan struct{})}
	t.waiting = append(t.waiting, me)
	t.mu.Unlock()
	select {
	case <-me.ready:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, me)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // it has just got a place
		t.leave()
	}
	return false
}

// leave gives a place to the next.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	rank := func(w *turn) int {
		if i := slices.Index(t.order, w.server); i >= 0 {
			return i
		}
		return len(t.order)
	}
	next := slices.MinFunc(t.waiting, func(a, b *turn) int { return cmp.Compare(rank(a), rank(b)) }) // the first of equals
	t.waiting = slices.DeleteFunc(t.waiting, func(w *turn) bool { return w == next })
	close(next.ready)
}

// first puts a server before all others.
func (t *turns) first(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order = append([]string{server}, t.order[:min(len(t.order), 100)]...)
}

// prefer sets the order of the servers, until it is called again.
func (t *turns) prefer(servers []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order = slices.Clone(servers)
}
