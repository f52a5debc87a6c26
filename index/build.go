package index

import (
	"errors"
	"fmt"
	"math"

	bidx "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/zapx/v17"
)

// The fields of a document in bleve. Their frequencies are not counts.
const (
	weightField = "w"     // the stems; how often is the weight times quantum
	placeField  = "name"  // the stems of the name; how often is the place, and the words of the name
	spellField  = "spell" // words as they are written, each in one document
	foldField   = "fold"  // the name, folded
)

// quantum is what a weight is counted in: fine enough to change no order of the
// recorded queries.
const quantum = 256

// errClosed is why a build has ended early.
var errClosed = errors.New("index: closed")

// buildInMemory makes an index of list that no other process sees. Its
// documents have the slots from first on. It ends early when done is closed.
func buildInMemory(list []record, first int, done <-chan struct{}) (*part, error) {
	seg, err := newSegment(list, first, done)
	if err != nil {
		return nil, err
	}
	return newPart(seg, first, len(list), false)
}

// newSegment makes a segment of bleve in memory. The n-th document is the n-th of list.
func newSegment(list []record, first int, done <-chan struct{}) (segment.Segment, error) {
	if first+len(list) > slotMask {
		return nil, fmt.Errorf("%d tools and entries are more than the index can hold", len(list))
	}
	r := newReader()
	docs := make([]bidx.Document, 0, len(list))
	for _, rec := range list {
		select {
		case <-done:
			return nil, errClosed
		default:
		}
		d := r.read(rec)
		docs = append(docs, &bleveDocument{r.fields(&d)})
	}
	seg, _, err := new(zap.ZapPlugin).New(docs)
	if err != nil {
		return nil, err
	}
	return seg, nil
}

// A bleveDocument is a document whose fields are known.
type bleveDocument struct{ fields []*bleveField }

// identity is the field that bleve stores of each document. Documents are known by their
// numbers here, so it is empty.
var identity = &bleveField{name: "_id", opts: bidx.StoreField}

func (d *bleveDocument) VisitFields(visit bidx.FieldVisitor) {
	visit(identity)
	for _, f := range d.fields {
		visit(f)
	}
}

func (d *bleveDocument) ID() string                                { return "" }
func (d *bleveDocument) Size() int                                 { return 0 }
func (d *bleveDocument) VisitComposite(bidx.CompositeFieldVisitor) {}
func (d *bleveDocument) HasComposite() bool                        { return false }
func (d *bleveDocument) NumPlainTextBytes() uint64                 { return 0 }
func (d *bleveDocument) AddIDField()                               {}
func (d *bleveDocument) StoredFieldsBytes() uint64                 { return 0 }
func (d *bleveDocument) Indexed() bool                             { return true }

// fields are those of d, with the spellings that no document before has.
func (r *reader) fields(d *document) []*bleveField {
	weights := newField(weightField, len(d.postings), 0)
	named := min(d.nameLen, maxNamed)
	places := newField(placeField, named, 0)
	for i, p := range d.postings {
		weights.add(r.stems[p.term], max(1, int(math.Round(p.weight*quantum))))
		if i < named {
			places.add(r.stems[p.term], (1+i)|named<<namedBits)
		}
	}
	spell := newField(spellField, len(r.spellings), bidx.SkipFreqNorm)
	for _, w := range r.spellings {
		spell.add(w, 1)
	}
	r.spellings = r.spellings[:0]
	fold := newField(foldField, 1, bidx.SkipFreqNorm)
	fold.add(d.name, 1)
	return []*bleveField{weights, places, spell, fold}
}

// A bleveField is a field with known words and frequencies.
type bleveField struct {
	name  string
	freqs bidx.TokenFrequencies
	slab  []bidx.TokenFreq
	opts  bidx.FieldIndexingOptions
}

func newField(name string, n int, opts bidx.FieldIndexingOptions) *bleveField {
	return &bleveField{name, make(bidx.TokenFrequencies, n), make([]bidx.TokenFreq, 0, n), bidx.IndexField | opts}
}

// add enters a word that was not entered before; no more than newField was
// promised.
func (f *bleveField) add(word string, freq int) {
	f.slab = append(f.slab, bidx.TokenFreq{Term: []byte(word)})
	t := &f.slab[len(f.slab)-1]
	t.SetFrequency(freq)
	f.freqs[word] = t
}

func (f *bleveField) Name() string                                    { return f.name }
func (f *bleveField) Value() []byte                                   { return nil }
func (f *bleveField) ArrayPositions() []uint64                        { return nil }
func (f *bleveField) EncodedFieldType() byte                          { return 't' }
func (f *bleveField) Analyze()                                        {}
func (f *bleveField) Options() bidx.FieldIndexingOptions              { return f.opts }
func (f *bleveField) AnalyzedLength() int                             { return len(f.freqs) }
func (f *bleveField) AnalyzedTokenFrequencies() bidx.TokenFrequencies { return f.freqs }
func (f *bleveField) NumPlainTextBytes() uint64                       { return 0 }
