package upstream

import (
	"sync"
)

// news wakes goroutines that wait for an event; it costs little without any.
type news struct {
	mu sync.Mutex
	ch chan struct{} // nil if no goroutine waits
}

func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}
