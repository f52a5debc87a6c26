package run

import (
	"sync"
	"weak"

	"github.com/mcpbroker/mcpbroker/bridge"
)

// pasts records what the runs of each principal have read. The zero value is empty.
type pasts struct {
	mu      sync.Mutex
	byOwner map[string]*ownerPast
	sweep   int // the number of entries that starts the next sweep
}

// An ownerPast holds the past of one principal: strongly while the past counts, and weakly while a
// run uses it.
type ownerPast struct {
	counts *bridge.Past
	used   weak.Pointer[bridge.Past]
}

// minPasts is the number of principals below which no sweep happens.
const minPasts = 64

// forOwner returns the past of a principal.
func (p *pasts) forOwner(owner string) *bridge.Past {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byOwner == nil {
		p.byOwner = make(map[string]*ownerPast)
	}
	one := p.byOwner[owner]
	if one != nil {
		if past := one.used.Value(); past != nil {
			one.counts = past
			return past
		}
	}
	if len(p.byOwner) >= max(p.sweep, minPasts) {
		p.sweepLocked()
	}
	past := new(bridge.Past)
	p.byOwner[owner] = &ownerPast{past, weak.Make(past)}
	return past
}

// sweepLocked drops principals without a running execution and without a recent read.
func (p *pasts) sweepLocked() {
	for owner, one := range p.byOwner {
		if one.counts != nil && one.counts.Empty() {
			one.counts = nil
		}
		if one.counts == nil && one.used.Value() == nil {
			delete(p.byOwner, owner)
		}
	}
	p.sweep = 2 * len(p.byOwner)
}
