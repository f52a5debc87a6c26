// Package fair shares a bounded number of places between owners, so that one who
// wants many does not keep out one who wants few.
package fair

import (
	"context"
	"errors"
	"sync"
)

// Places are slots that owners enter and leave. They are safe for concurrent use.
//
// A free slot goes to the owner with the fewest slots, and among equals to the next in
// turn; within an owner it is first come, first served. So an owner waits for at most
// about one slot to be left by each of the others.
type Places struct {
	n, more, queue int

	mu      sync.Mutex
	taken   int
	lent    int
	held    map[string]int             // by owner, above zero
	waiting map[string][]chan struct{} // by owner; each is closed when its turn has come
	waits   int                        // how many wait in all
	turns   []string                   // the owners of waiting, the next one first
}

// ErrFull is the error of an owner who has as many waiting as may be.
var ErrFull = errors.New("too many wait already")

// crowd is how many queues may be full before every owner may have but one
// waiting: it bounds what many owners together hold.
const crowd = 10

// New returns n places, and more for those who hold none when all n are taken.
// queue is how many of one owner may wait; zero means any number.
func New(n, more, queue int) *Places {
	return &Places{n: n, more: more, queue: queue, held: make(map[string]int), waiting: make(map[string][]chan struct{})}
}

// More is how many places beyond n are worth keeping for those who hold none: a
// quarter, and none beyond a single one.
func More(n int) int { return (n + 2) / 4 }

// Enter takes a place, which Leave gives back. Its error is ErrFull, or why ctx
// was done before there was a place.
func (p *Places) Enter(ctx context.Context, owner string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	if p.openTo(owner) { // then none of its own wait
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
	if !p.withdraw(owner, turn) { // its turn has come just now
		p.Leave(owner)
	}
	return context.Cause(ctx)
}

// openTo says whether an owner may take a place now; p.mu is held, as in all
// that follow.
func (p *Places) openTo(owner string) bool {
	return p.taken < p.n || p.taken < p.n+p.more && p.held[owner] == 0
}

func (p *Places) take(owner string) {
	p.taken++
	p.held[owner]++
}

// withdraw takes one who waits out of the queue, if it is still there.
func (p *Places) withdraw(owner string, turn chan struct{}) bool {
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

// dequeue removes the i-th of those of an owner who wait.
func (p *Places) dequeue(owner string, i int) {
	p.waits--
	list := p.waiting[owner]
	if list = append(list[:i:i], list[i+1:]...); len(list) > 0 {
		p.waiting[owner] = list
	} else {
		delete(p.waiting, owner)
	}
}

// skip takes an owner out of the turns.
func (p *Places) skip(owner string) {
	for i, o := range p.turns {
		if o == owner {
			p.turns = append(p.turns[:i:i], p.turns[i+1:]...)
			return
		}
	}
}

// Leave frees a slot of the owner for the next one.
func (p *Places) Leave(owner string) {
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
		if !p.openTo(next) { // then to no one
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

// Lend gives a place back until Return, and says whether it did: not more than n
// are lent at one time.
func (p *Places) Lend(owner string) bool {
	p.mu.Lock()
	ok := p.lent < p.n
	if ok {
		p.lent++
	}
	p.mu.Unlock()
	if ok {
		p.Leave(owner)
	}
	return ok
}

// Return takes a place at once that the owner has lent, even if that makes one
// too many.
func (p *Places) Return(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent--
	p.take(owner)
}

// Count says how many places are taken, and how many wait for one.
func (p *Places) Count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, p.waits
}
