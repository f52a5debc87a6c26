package index

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bidx "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// A part is one bleve index, opened to read. It is immutable.
type part struct {
	index  bidx.Index
	reader bidx.IndexReader
	first  int // the slot of its first document
	views  []view
	file   bool // it reads files, which may be damaged while they are open
}

// A view is a segment of bleve: its documents have numbers of their own.
type view struct {
	segment.Segment
	slots []uint32 // by the number of the document
}

// newPart reads which documents are where. It takes n documents, from the slot
// first on, for granted. On an error x is closed.
func newPart(x bidx.Index, first, n int, file bool) (p *part, err error) {
	p = &part{index: x, first: first, file: file}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.reader, err = x.Reader(); err != nil {
		return nil, err
	}
	s, ok := p.reader.(*scorch.IndexSnapshot)
	if !ok {
		return nil, fmt.Errorf("a %T has no segments", p.reader)
	}
	found := 0
	for _, seg := range s.Segments() {
		v := view{seg.Segment(), make([]uint32, seg.Segment().Count())}
		if err := v.readSlots(first, n); err != nil {
			return nil, err
		}
		p.views = append(p.views, v)
		found += len(v.slots)
	}
	if found != n {
		return nil, fmt.Errorf("%d documents, want %d", found, n)
	}
	return p, nil
}

// readSlots reads the ids of the documents, which are their slots.
func (v *view) readSlots(first, n int) error {
	d, err := v.Dictionary("_id")
	if err != nil {
		return err
	}
	var list segment.PostingsList
	var it segment.PostingsIterator
	ids := d.AutomatonIterator(nil, nil, nil)
	for {
		id, err := ids.Next()
		if err != nil || id == nil {
			return err
		}
		slot := 0
		for _, c := range []byte(id.Term) {
			slot = slot*10 + int(c-'0')
		}
		if slot < first || slot >= first+n {
			return fmt.Errorf("unknown document %q", id.Term)
		}
		if list, err = d.PostingsList([]byte(id.Term), nil, list); err != nil {
			return err
		}
		it = list.Iterator(false, false, false, it)
		doc, err := it.Next()
		if err != nil || doc == nil {
			return fmt.Errorf("document %q has no number: %w", id.Term, err)
		}
		v.slots[doc.Number()] = uint32(slot)
	}
}

// each calls f with the slot and the frequency of each document that has a
// word in a field.
func (v *view) each(field, word string, f func(slot uint32, freq uint64)) {
	d, err := v.Dictionary(field)
	check(err)
	list, err := d.PostingsList([]byte(word), nil, nil)
	check(err)
	if list.Count() == 0 {
		return
	}
	it := list.Iterator(true, false, false, nil)
	for {
		p, err := it.Next()
		check(err)
		if p == nil {
			return
		}
		f(v.slots[p.Number()], p.Frequency())
	}
}

// append appends the documents of p that hold a stem to list, but not those
// that are dead.
func (p *part) append(list []packed, stem string, dead []bool) []packed {
	for i := range p.views {
		v := &p.views[i]
		from := len(list)
		v.each(weightField, stem, func(slot uint32, freq uint64) {
			list = append(list, packed{slot, saturated(float32(freq) / quantum)})
		})
		if from == len(list) {
			continue
		}
		at := from // the documents that have it in their name are some of them, in the same order
		v.each(placeField, stem, func(slot uint32, freq uint64) {
			for list[at].at != slot {
				at++
			}
			list[at].at |= uint32(freq) << slotBits
			at++
		})
		kept := list[:from]
		for _, d := range list[from:] {
			if !dead[d.slot()] {
				kept = append(kept, d)
			}
		}
		list = kept
	}
	return list
}

// spellings appends the words that begin with a letter.
func (p *part) spellings(list []spelling, letter byte) []spelling {
	for i := range p.views {
		d, err := p.views[i].Dictionary(spellField)
		check(err)
		it := d.AutomatonIterator(nil, []byte{letter}, []byte{letter + 1})
		for {
			e, err := it.Next()
			check(err)
			if e == nil {
				break
			}
			list = append(list, newSpelling(e.Term))
		}
	}
	return list
}

func (p *part) close() error {
	var err error
	if p.reader != nil {
		err = p.reader.Close()
	}
	return errors.Join(err, p.index.Close())
}

func closeParts(list []*part) error {
	var all []error
	for _, p := range list {
		all = append(all, p.close())
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
