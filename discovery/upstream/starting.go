package upstream

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Starting is a server with unknown tools that is being connected or may be.
type Starting struct {
	Name  string
	Since time.Time
	// Idle is set if the server is not connected yet.
	Idle bool
}

// Starting returns the servers that were never listed and that are being
// started for the first time, or wait for that, in config order. One that has
// failed is not among them, also while it is tried again. It is nil once the
// pool is closed.
func (p *Pool) Starting() []Starting {
	if p.closing() {
		return nil
	}
	var out []Starting
	for _, s := range p.roster.Load().servers {
		s.mu.Lock()
		if !s.known && s.err == nil && (s.state == StateIdle || s.state == StateStarting) {
			out = append(out, Starting{s.cfg.Name, s.since, s.state == StateIdle})
		}
		s.mu.Unlock()
	}
	return out
}

// Learn connects, in the background, the servers with unknown tools, or the named ones
// of them, for a short-lived program. It skips servers that failed recently and servers
// that must not be stopped while npx installs them, and waits a moment for those that
// failed before and are tried again. Starting returns the others.
func (p *Pool) Learn(ctx context.Context, names ...string) {
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	var again []*attempt
	for _, s := range p.roster.Load().servers {
		if len(names) > 0 && !slices.Contains(names, s.cfg.Name) {
			continue
		}
		if a := s.learnSoon(); a != nil {
			again = append(again, a)
		}
	}
	for _, a := range again {
		select {
		case <-a.done:
		case <-grace.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Due returns the servers that Learn would connect, in config order.
func (p *Pool) Due() []string {
	var names []string
	for _, s := range p.roster.Load().servers {
		s.mu.Lock()
		if s.dueLocked() {
			names = append(names, s.cfg.Name)
		}
		s.mu.Unlock()
	}
	return names
}

// Changed returns a channel that is closed when a server is listed or changes
// its state, when others are configured, or when the pool is closed.
func (p *Pool) Changed() <-chan struct{} { return p.news.next() }

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
