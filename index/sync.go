package index

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// maxParts is how many small indexes of changes are searched side by side.
const maxParts = 8

// Sync makes the index hold exactly the tools of c and the entries, none of
// which may be changed afterwards. It reads only what was added, removed or
// changed since the last call. Searches go on meanwhile and see either the old
// state or the new one. An entry without a kind is an error, and changes
// nothing.
func (x *Index) Sync(c *discovery.Catalog, entries []Entry) error {
	list, err := records(c, entries)
	if err != nil {
		return err
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	select {
	case <-x.done:
		return errors.New("index: closed")
	default:
	}
	x.wanted, x.catalog = list, c
	return x.follow()
}

// follow makes a snapshot of what is wanted; x.changing is held.
func (x *Index) follow() error {
	next, changed := x.current.moved(x.wanted)
	switch {
	case len(changed) == 0 && next.live == x.current.live:
		x.use(next)
		return nil
	case len(changed) > next.live/2:
		whole, err := x.whole(x.wanted)
		if err != nil {
			return err
		}
		x.use(whole)
		return nil
	}
	if x.store != nil {
		if p, err := x.store.open(x.wanted); err == nil {
			x.use(newSnapshot(x.wanted, p))
			return nil
		}
	}
	if len(changed) > 0 {
		if err := next.add(changed); err != nil {
			return err
		}
	}
	x.settleSoon()
	x.use(next)
	return nil
}

// whole is a snapshot of one index of everything: one that is in the directory,
// else one in memory, so that nothing is written before the first search.
// x.changing is held.
func (x *Index) whole(list []record) (*snapshot, error) {
	if x.store != nil && len(list) > 0 {
		if p, err := x.store.open(list); err == nil {
			return newSnapshot(list, p), nil
		}
		x.settleSoon()
	}
	p, err := buildInMemory(list, 0, x.done)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return newSnapshot(list, p), nil
}

// stored is a snapshot of one index of everything in the directory, or in memory
// if it cannot be there. now is what is searched, which may be that index.
func (x *Index) stored(list []record, now *snapshot) (*snapshot, error) {
	if x.store != nil && len(list) > 0 {
		p, err := x.store.open(list)
		if err != nil {
			p, err = x.store.keep(list, now, x.done)
		}
		if err == nil {
			return newSnapshot(list, p), nil
		}
		if !errors.Is(err, errClosed) {
			x.log.Warn("the search index is kept in memory", "err", err)
		}
		if now.holds(list) {
			return nil, nil
		}
	}
	p, err := buildInMemory(list, 0, x.done)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return newSnapshot(list, p), nil
}

// holds reports whether s is one index in memory of exactly these records.
func (s *snapshot) holds(list []record) bool {
	return len(s.parts) == 1 && !s.parts[0].file && s.live == len(list) &&
		slices.EqualFunc(s.records, list, func(a, b record) bool { return a.key() == b.key() && a.same(b) })
}

// settleSoon builds everything again in the background, when more changes that
// come with this one have come too; x.changing is held.
func (x *Index) settleSoon() {
	if x.settling {
		return
	}
	x.settling = true
	x.tasks.Go(func() {
		select {
		case <-x.done:
		case <-time.After(x.quiet):
			if err := x.settle(); err != nil && !errors.Is(err, errClosed) {
				x.log.Warn("search index", "err", err)
			}
		}
	})
}

// settle replaces the current snapshot by one index of everything. What changes
// meanwhile is followed again.
func (x *Index) settle() error {
	x.changing.Lock()
	list, now := x.wanted, x.current
	for _, p := range now.parts { // they may be replaced meanwhile
		p.AddRef()
		defer p.DecRef()
	}
	x.settling = false
	x.changing.Unlock()
	whole, err := x.stored(list, now)
	if err != nil || whole == nil {
		return err
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	select {
	case <-x.done:
		return errors.Join(errClosed, closeParts(whole.parts))
	default:
	}
	x.use(whole)
	return x.follow()
}

// save writes what was built in memory for the next start; x.changing is held.
func (x *Index) save() {
	if !x.settling || x.store == nil || !x.current.holds(x.wanted) {
		return
	}
	if err := x.store.save(x.wanted, x.current.parts[0].Segment); err != nil {
		x.log.Warn("the search index is not kept", "err", err)
	}
}

// replaceDamaged replaces s, if it is still the current snapshot, by one that
// needs no file.
func (x *Index) replaceDamaged(s *snapshot) error {
	x.changing.Lock()
	defer x.changing.Unlock()
	if x.current != s {
		return nil
	}
	list := make([]record, 0, s.live)
	for slot, r := range s.records {
		if !s.dead[slot] {
			list = append(list, r)
		}
	}
	p, err := buildInMemory(list, 0, x.done)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if x.store != nil {
		x.store.discard(list)
	}
	x.use(newSnapshot(list, p))
	return nil
}

// use makes next what searches see; x.changing is held.
func (x *Index) use(next *snapshot) {
	if err := x.swap(next); err != nil {
		x.log.Warn("search index: close what was replaced", "err", err)
	}
}

// swap is use, and returns what went wrong when it closed what only the
// snapshot before needed.
func (x *Index) swap(next *snapshot) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current
	next.catalog = x.catalog
	x.current = next
	return closeParts(slices.DeleteFunc(slices.Clone(old.parts), func(p *part) bool { return slices.Contains(next.parts, p) }))
}

// moved is a copy of s that holds those of the wanted records that s has as
// they are, and the list of the others.
func (s *snapshot) moved(wanted []record) (next *snapshot, changed []record) {
	slots := make(map[key]int, s.live)
	for slot, r := range s.records {
		if !s.dead[slot] {
			slots[r.key()] = slot
		}
	}
	next = newSnapshot(slices.Clone(s.records), s.parts...)
	for i := range next.dead {
		next.dead[i] = true
	}
	next.live = len(wanted)
	for _, r := range wanted {
		slot, ok := slots[r.key()]
		if !ok || !s.records[slot].same(r) {
			changed = append(changed, r)
			continue
		}
		next.dead[slot] = false
		next.records[slot] = r // so that the old catalogue is not kept
	}
	return next, changed
}

// add appends an index in memory of what has changed. Too many of them become
// one.
func (s *snapshot) add(changed []record) error {
	if len(s.parts) >= maxParts {
		first := s.parts[1].first
		for slot := first; slot < len(s.records); slot++ {
			if !s.dead[slot] {
				changed = append(changed, s.records[slot])
			}
		}
		s.records, s.dead, s.parts = s.records[:first:first], s.dead[:first:first], s.parts[:1:1]
	}
	p, err := buildInMemory(changed, len(s.records), nil)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	s.parts = append(slices.Clip(s.parts), p)
	s.records = append(s.records, changed...)
	s.dead = append(s.dead, make([]bool, len(changed))...)
	return nil
}
