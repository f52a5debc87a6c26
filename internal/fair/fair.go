// Package fair shares a bounded number of slots between owners, so that an owner who wants many
// does not block one who wants few.
package fair

import (
	"context"
	"errors"
	"sync"
)

// Slots are slots that owners acquire and release. They are safe for concurrent use.
//
// A free slot goes to the owner with the fewest slots, and among equals to the next in
// turn; within an owner it is first come, first served. So an owner waits for at most
// about one slot to be left by each of the others.
type Slots struct {
	n, more, queue int

	mu      sync.Mutex
	taken   int
	lent    int
	held    map[string]int             // by owner, positive
	waiting map[string][]chan struct{} // by owner; a channel is closed when its turn has come
	waits   int                        // the total number in waiting
	turns   []string                   // the owners in waiting, the next one first
}

// ErrFull reports that too many acquisitions of an owner are waiting.
var ErrFull = errors.New("too many acquisitions of this owner are waiting")

// crowd is the number of full queues from which each owner may have only one waiting: it bounds
// the memory for many owners.
const crowd = 10

// New returns n slots, and more for owners without a slot when all n are taken. queue is the
// number that one owner may have waiting; zero means any.
func New(n, more, queue int) *Slots {
	return &Slots{n: n, more: more, queue: queue, held: make(map[string]int), waiting: make(map[string][]chan struct{})}
}

// More returns a sensible number of slots beyond n for owners without a slot: a quarter of n, and
// none for a single slot.
func More(n int) int { return (n + 2) / 4 }

// Acquire acquires a slot, which Release frees. It returns ErrFull, or the cause of ctx if that is
// done before a slot is free.
func (p *Slots) Acquire(ctx context.Context, owner string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	if p.mayAcquire(owner) { // then the owner has none waiting
		p.take(owner)
		p.mu.Unlock()
		return nil
	}
	if n := len(p.waiting[owner]); p.queue > 0 && n > 0 && (n >= p.queue || p.waits >= crowd*p.queue) {
		p.mu.Unlock()
		return ErrFull
	}
	turn := make(chan struct{})
	if len(p.waiting[owner]) == 0 {
		p.turns = append(p.turns, owner)
	}
	p.waiting[owner] = append(p.waiting[owner], turn)
	p.waits++
	p.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !p.withdraw(owner, turn) { // its turn has just come
		p.Release(owner)
	}
	return context.Cause(ctx)
}

// mayAcquire reports whether an owner may acquire a slot now; p.mu must be held, as for the methods
// below.
func (p *Slots) mayAcquire(owner string) bool {
	return p.taken < p.n || p.taken < p.n+p.more && p.held[owner] == 0
}

func (p *Slots) take(owner string) {
	p.taken++
	p.held[owner]++
}

// withdraw removes a waiting entry from the queue, and reports whether it was still there.
func (p *Slots) withdraw(owner string, turn chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.waiting[owner] {
		if t == turn {
			p.dequeue(owner, i)
			if len(p.waiting[owner]) == 0 {
				p.skip(owner)
			}
			return true
		}
	}
	return false
}

// dequeue removes the i-th waiting entry of an owner.
func (p *Slots) dequeue(owner string, i int) {
	p.waits--
	list := p.waiting[owner]
	if list = append(list[:i:i], list[i+1:]...); len(list) > 0 {
		p.waiting[owner] = list
	} else {
		delete(p.waiting, owner)
	}
}

// skip removes an owner from the turns.
func (p *Slots) skip(owner string) {
	for i, o := range p.turns {
		if o == owner {
			p.turns = append(p.turns[:i:i], p.turns[i+1:]...)
			return
		}
	}
}

// Release frees a slot of the owner for the next one.
func (p *Slots) Release(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.held[owner]--; p.held[owner] == 0 {
		delete(p.held, owner)
	}
	for len(p.turns) > 0 {
		next := p.turns[0]
		for _, o := range p.turns[1:] {
			if p.held[o] < p.held[next] {
				next = o
			}
		}
		if !p.mayAcquire(next) { // then nobody may
			return
		}
		close(p.waiting[next][0])
		p.dequeue(next, 0)
		p.take(next)
		p.skip(next)
		if len(p.waiting[next]) > 0 {
			p.turns = append(p.turns, next)
		}
	}
}

// Lend frees a slot until Reclaim, and reports whether it did: at most n are lent at a time.
func (p *Slots) Lend(owner string) bool {
	p.mu.Lock()
	ok := p.lent < p.n
	if ok {
		p.lent++
	}
	p.mu.Unlock()
	if ok {
		p.Release(owner)
	}
	return ok
}

// Reclaim immediately takes back a slot that the owner has lent, even if that exceeds the bound by
// one.
func (p *Slots) Reclaim(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent--
	p.take(owner)
}

// Count returns the number of taken slots, and of waiting entries.
func (p *Slots) Count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, p.waits
}
