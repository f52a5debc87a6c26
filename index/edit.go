package index

import "maps"

// scanned is how many documents a search reads one by one before lists of the
// documents of each word pay. So many may change before the lists are made
// again.
const scanned = 400

// An edit makes the next snapshot of an index. The lock of the index is held
// from edit to finish.
type edit struct {
	x      *Index
	old    *snapshot
	next   *snapshot
	reader *reader
	seen   map[string]bool
	dirty  bool
}

func (x *Index) edit() *edit {
	old := x.current.Load()
	next := &snapshot{catalog: old.catalog, vocabulary: old.vocabulary, docs: old.docs, df: old.df, live: old.live, inverted: old.inverted, fresh: old.fresh, vectors: old.vectors}
	return &edit{x: x, old: old, next: next, seen: make(map[string]bool, len(x.slots))}
}

// change makes the parts of the new snapshot that are about to change its own.
func (e *edit) change() {
	if e.dirty {
		return
	}
	e.dirty = true
	l := newLexer(e.old.vocabulary)
	e.reader = &reader{terms: l}
	e.next.vocabulary = l.v
	e.next.docs = append([]*document(nil), e.old.docs...)
	e.next.df = append([]uint32(nil), e.old.df...)
	e.next.fresh = maps.Clone(e.old.fresh)
	if e.next.fresh == nil {
		e.next.fresh = map[int]bool{}
	}
}

// put enters a record, unless it is there as it is.
func (e *edit) put(rec record) {
	key := rec.key()
	e.seen[key] = true
	slot, known := e.x.slots[key]
	if known && e.next.docs[slot].made.same(rec) {
		return
	}
	e.change()
	d := e.reader.read(rec)
	if e.next.vectors != nil {
		d.vector = e.next.vectors.of(rec)
	}
	switch {
	case known:
		e.count(e.next.docs[slot], -1)
	case len(e.x.free) > 0:
		slot = e.x.free[len(e.x.free)-1]
		e.x.free = e.x.free[:len(e.x.free)-1]
	default:
		slot = len(e.next.docs)
		e.next.docs = append(e.next.docs, nil)
	}
	e.x.slots[key] = slot
	e.next.docs[slot] = d
	e.next.fresh[slot] = true
	e.count(d, 1)
}

func (e *edit) count(d *document, n int) {
	for len(e.next.df) < len(e.next.vocabulary.samples) {
		e.next.df = append(e.next.df, 0)
	}
	for _, p := range d.postings {
		e.next.df[p.term] += uint32(n)
	}
	e.next.live += n
}

// finish removes what was not put again, of the kinds that are ours, and makes
// the new snapshot the one that searches see.
func (e *edit) finish(ours func(kind string) bool) {
	for key, slot := range e.x.slots {
		d := e.next.docs[slot]
		if e.seen[key] || !ours(d.hit.Kind) {
			continue
		}
		e.change()
		e.count(d, -1)
		e.next.docs[slot] = nil
		delete(e.next.fresh, slot)
		delete(e.x.slots, key)
		e.x.free = append(e.x.free, slot)
	}
	if len(e.next.fresh) > scanned {
		e.next.inverted = invert(e.next.docs, len(e.next.vocabulary.samples))
		e.next.fresh = map[int]bool{}
	}
	e.x.current.Store(e.next)
}
