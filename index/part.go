package index

import (
	"errors"
	"fmt"
	"runtime/debug"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// A part is one segment of bleve, opened to read. It is immutable.
type part struct {
	segment.Segment
	first int  // the slot of its first document
	file  bool // it reads files, which may be damaged while they are open
}

// newPart checks that the segment has n documents. On an error seg is closed.
func newPart(seg segment.Segment, first, n int, file bool) (*part, error) {
	if found := seg.Count(); found != uint64(n) {
		return nil, errors.Join(fmt.Errorf("%d documents, want %d", found, n), seg.Close())
	}
	return &part{seg, first, file}, nil
}

// each calls f with the slot and the frequency of each document that has a
// word in a field.
func (p *part) each(field, word string, f func(slot uint32, freq uint64)) {
	d, err := p.Dictionary(field)
	check(err)
	list, err := d.PostingsList([]byte(word), nil, nil)
	check(err)
	if list.Count() == 0 {
		return
	}
	it := list.Iterator(true, false, false, nil)
	for {
		doc, err := it.Next()
		check(err)
		if doc == nil {
			return
		}
		if doc.Number() >= p.Count() {
			check(fmt.Errorf("%w: document %d of %d", errDamaged, doc.Number(), p.Count()))
		}
		f(uint32(p.first)+uint32(doc.Number()), doc.Frequency())
	}
}

// append appends the documents of p that hold a stem to list, but not those
// that are dead.
func (p *part) append(list []packed, stem string, dead []bool) []packed {
	from := len(list)
	p.each(weightField, stem, func(slot uint32, freq uint64) {
		list = append(list, packed{slot, saturated(float32(freq) / quantum)})
	})
	if from == len(list) {
		return list
	}
	at := from // the documents that have it in their name are some of them, in the same order
	p.each(placeField, stem, func(slot uint32, freq uint64) {
		for list[at].at != slot {
			at++
		}
		list[at].at |= uint32(freq) << slotBits
		at++
	})
	alive := list[:from]
	for _, d := range list[from:] {
		if !dead[d.slot()] {
			alive = append(alive, d)
		}
	}
	return alive
}

// spellings appends the words that begin with a letter.
func (p *part) spellings(list []spelling, letter byte) []spelling {
	d, err := p.Dictionary(spellField)
	check(err)
	it := d.AutomatonIterator(nil, []byte{letter}, []byte{letter + 1})
	for {
		e, err := it.Next()
		check(err)
		if e == nil {
			return list
		}
		list = append(list, newSpelling(e.Term))
	}
}

func closeParts(list []*part) error {
	var all []error
	for _, p := range list {
		all = append(all, p.Close())
	}
	return errors.Join(all...)
}

// errDamaged says that files are not what bleve wrote.
var errDamaged = errors.New("damaged")

// check ends a search of an unreadable index; guard catches that. An index in memory
// can always be read.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// guard runs f, which reads files. bleve panics for some of those that are
// damaged, and reading one that was truncated after it was mapped is a fault.
func guard(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	f()
	return nil
}
