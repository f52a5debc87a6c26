package index

import (
	"errors"
	"fmt"
	"math"

	bdocument "github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bidx "github.com/blevesearch/bleve_index_api"
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
	x, err := buildBleve("", list, first, done)
	if err != nil {
		return nil, err
	}
	return newPart(x, first, len(list), false)
}

// buildBleve makes an index of bleve in the directory path, or in memory if path
// is "". The package bleve would open it too, but draws in query languages,
// analyzers and other stores.
func buildBleve(path string, list []record, first int, done <-chan struct{}) (bidx.Index, error) {
	queue := bidx.NewAnalysisQueue(analysts)
	defer queue.Close() // only a batch needs it
	x, err := openBleve(map[string]any{"path": path, "create_if_missing": true, "error_if_exists": true}, queue)
	if err != nil {
		return nil, err
	}
	if err := fill(x, list, first, done); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// analysts is how many goroutines enter the documents of a batch.
const analysts = 4

// openBleve opens an index of bleve.
func openBleve(config map[string]any, queue *bidx.AnalysisQueue) (bidx.Index, error) {
	x, err := scorch.NewScorch(scorch.Name, config, queue)
	if err != nil {
		return nil, err
	}
	if err := x.Open(); err != nil { // it cannot be closed then
		return nil, err
	}
	return x, nil
}

// fill enters the documents of list as one segment.
func fill(x bidx.Index, list []record, first int, done <-chan struct{}) error {
	if first+len(list) > slotMask {
		return fmt.Errorf("%d tools and entries are more than the index can hold", len(list))
	}
	if len(list) == 0 {
		return nil
	}
	r := newReader()
	batch := bidx.NewBatch()
	for i, rec := range list {
		select {
		case <-done:
			return errClosed
		default:
		}
		d := r.read(rec)
		doc := bdocument.NewDocument(fmt.Sprintf("%07d", first+i))
		for _, f := range r.fields(&d) {
			doc.AddField(f)
		}
		batch.Update(doc)
	}
	return x.Batch(batch)
}

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
func (f *bleveField) Size() int                                       { return 64 + 64*len(f.slab) }
