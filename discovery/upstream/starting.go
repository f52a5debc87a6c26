package upstream

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
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
	for _, s := range p.servers() {
		s.mu.Lock()
		if s.err == nil && !s.inventory.isKnown() && (s.state == StateIdle || s.state == StateStarting) {
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
	for _, s := range p.servers() {
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
	for _, s := range p.servers() {
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

// Prefer has these servers installed and started before others that wait for that,
// in this order, until it is called again.
func (p *Pool) Prefer(servers []string) {
	p.installing.prefer(servers)
}

// About is what is known of a server before it is listed: its description and its
// package or program.
func (p *Pool) About(server string) string {
	s := p.server(server)
	if s == nil {
		return ""
	}
	about := []string{s.cfg.Description, path.Base(strings.ReplaceAll(s.cfg.Command, `\`, "/"))}
	if spec, err := packages.Parse(s.cfg.Command, s.cfg.Args); err == nil {
		about[1] = spec.Name
	}
	return strings.Join(about, ". ")
}
