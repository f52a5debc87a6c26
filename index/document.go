package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// A record is one thing that can be found: a tool, or an entry. Its texts
// belong to the catalogue.
type record struct {
	tool  *discovery.Tool
	entry *Entry
}

func (r record) id() string {
	if r.entry != nil {
		return r.entry.ID
	}
	return r.tool.ID
}

func (r record) kind() string {
	if r.entry != nil {
		return r.entry.Kind
	}
	return ""
}

func (r record) server() string {
	if r.entry != nil {
		return r.entry.Server
	}
	return r.tool.Server
}

// texts are the name, title and description that are searched, and the schema
// of a tool's input.
func (r record) texts() (name, title, description string, schema json.RawMessage) {
	if e := r.entry; e != nil {
		return e.Name, e.Title, e.Description, nil
	}
	return r.tool.Name, r.tool.Title, r.tool.Description, r.tool.InputSchema
}

// A key tells records apart.
type key struct{ kind, id string }

func (r record) key() key { return key{r.kind(), r.id()} }

func (r record) stamp() string {
	if r.entry != nil {
		return r.entry.Stamp
	}
	return ""
}

// same reports whether two records of one key are found by the same words. It
// costs little for what was not listed anew: texts that share their memory are
// not compared.
func (r record) same(o record) bool {
	name, title, description, schema := r.texts()
	oName, oTitle, oDescription, oSchema := o.texts()
	return description == oDescription && title == oTitle && name == oName && r.server() == o.server() && r.stamp() == o.stamp() && bytes.Equal(schema, oSchema)
}

// compare orders equal scores.
func (r record) compare(o record) int {
	return cmp.Or(cmp.Compare(r.id(), o.id()), cmp.Compare(r.kind(), o.kind()))
}

// hash feeds everything that the documents of records depend on to h.
func hash(h io.Writer, records []record) {
	var head [8 * 4]byte
	buf := make([]byte, 0, 64<<10)
	for _, r := range records {
		name, title, description, schema := r.texts()
		parts := [...]string{r.kind(), r.id(), r.server(), name, title, description, r.stamp()}
		for i, p := range parts {
			binary.LittleEndian.PutUint32(head[4*i:], uint32(len(p)))
		}
		binary.LittleEndian.PutUint32(head[4*len(parts):], uint32(len(schema)))
		buf = append(buf, head[:]...)
		for _, p := range parts {
			buf = append(buf, p...)
		}
		if buf = append(buf, schema...); len(buf) > 32<<10 {
			_, _ = h.Write(buf) // a hash takes everything
			buf = buf[:0]
		}
	}
	_, _ = h.Write(buf)
}

// A parameter is one property of a tool's input.
type parameter struct {
	name, description string
	values            []string // of its enum
}

// parameters returns the top level of an input schema. A schema that cannot be
// read has no parameters.
func parameters(raw json.RawMessage) []parameter {
	properties := schema.Read(raw).Object().Properties()
	if properties == nil {
		return nil
	}
	list := make([]parameter, 0, properties.Size())
	for _, name := range slices.Sorted(slices.Values(properties.Keys)) {
		p := properties.Object(name) // one with an unusual schema still has its name
		list = append(list, parameter{name, p.Text("description"), schema.Strings(p.List("enum"))})
	}
	return list
}

// The fields of a document. What a word counts depends on where it stands and
// on how long that text is against the usual: a word among three says more
// than one among three hundred. The typical lengths are those of ten thousand
// published tools and not of the catalogue at hand, so that a tool's place
// does not depend on what else is connected.
type field struct {
	weight float64
	b      float64 // how much the length counts, from 0 to 1
	length float64 // the typical length, in words
}

var fields = [...]field{
	nameField:        {3, .5, 2.9},
	descriptionField: {.5, .6, 23},
	sentenceField:    {.5, .4, 10},
	serverField:      {.75, .2, 1.9},
	parameterField:   {.3, .4, 5.2},
	textField:        {.3, .1, 31},
	bodyField:        {1, .6, 400},
}

const (
	nameField = iota
	descriptionField
	sentenceField
	serverField
	parameterField
	textField // descriptions of parameters, values of enums
	bodyField // the Text of an entry
)

// A posting is one word of a document and its weight: how often it occurs,
// summed over the fields.
type posting struct {
	term   term
	weight float64
}

// A document is a record as bleve is given it.
type document struct {
	name     string    // folded, see nearest.Fold
	nameLen  int       // different words in the name
	postings []posting // the words of the name first
}

// A term is the number of a stem within one reader.
type term int32

// none is the term of words that say nothing.
const none = term(-1)

// A reader takes records apart into documents. Not for concurrent use.
type reader struct {
	words map[string]term // in lower case
	terms map[string]term // by stem
	stems []string        // by term
	// spellings are words that were not met before, to repair others with.
	spellings []string
	met       []occurrence
}

func newReader() *reader {
	return &reader{words: map[string]term{}, terms: map[string]term{}}
}

// intern returns the term of a word in lower case, or false for a stop word. written is
// the word with its accents.
func (r *reader) intern(word, written string) (term, bool) {
	if t, ok := r.words[word]; ok {
		return t, t != none
	}
	word = strings.Clone(word) // not the text it was cut from
	if words().stop[word] {
		r.words[word] = none
		return none, false
	}
	s := stem(word)
	t, ok := r.terms[s]
	if !ok {
		t = term(len(r.stems))
		r.terms[s] = t
		r.stems = append(r.stems, s)
	}
	r.words[word] = t
	if repairable(word) {
		r.spellings = append(r.spellings, spellingTerm(word, written))
	}
	return t, true
}

// An occurrence is one word in one field.
type occurrence struct {
	term  term
	field uint8
}

// read makes a document of a record.
func (r *reader) read(rec record) document {
	r.met = r.met[:0]
	name, title, description, schema := rec.texts()
	lengths := [len(fields)]int{
		nameField:        r.text(nameField, name, false),
		descriptionField: r.text(descriptionField, description, true),
		sentenceField:    r.text(sentenceField, firstSentence(description), true) + r.text(sentenceField, title, true),
		serverField:      r.text(serverField, rec.server(), false) + r.text(serverField, rec.kind(), false),
	}
	if rec.entry != nil && rec.entry.Text != nil {
		lengths[bodyField] = r.text(bodyField, rec.entry.Text(), true)
	}
	for _, p := range parameters(schema) {
		lengths[parameterField] += r.text(parameterField, p.name, false)
		lengths[textField] += r.text(textField, p.description, true)
		for _, v := range p.values {
			lengths[textField] += r.text(textField, v, true)
		}
	}
	d := document{name: nearest.Fold(name)}
	d.postings, d.nameLen = r.weigh(lengths)
	return d
}

// weigh sums the occurrences of each word, those of the name first, and says
// how many words the name has.
func (r *reader) weigh(lengths [len(fields)]int) (list []posting, named int) {
	var weights [len(fields)]float64
	for f, spec := range fields {
		weights[f] = spec.weight / (1 - spec.b + spec.b*float64(lengths[f])/spec.length)
	}
	slices.SortFunc(r.met, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.field, b.field))
	})
	different := 0
	for i := range r.met {
		if i == 0 || r.met[i].term != r.met[i-1].term {
			different++
		}
	}
	list = make([]posting, 0, different)
	for i := 0; i < len(r.met); {
		t, inName, sum := r.met[i].term, r.met[i].field == nameField, 0.0
		for ; i < len(r.met) && r.met[i].term == t; i++ {
			sum += weights[r.met[i].field]
		}
		list = append(list, posting{t, sum})
		if inName {
			last := len(list) - 1
			list[named], list[last] = list[last], list[named]
			named++
		}
	}
	return list, named
}

// text counts the words of s into a field and returns how many there were.
func (r *reader) text(f int, s string, prose bool) int {
	before := len(r.met)
	eachWord(s, prose, func(w, written string) {
		if t, ok := r.intern(w, written); ok {
			r.met = append(r.met, occurrence{t, uint8(f)})
		}
	})
	return len(r.met) - before
}

// firstSentence is the text up to the first full stop or line break.
func firstSentence(s string) string {
	s = strings.TrimSpace(s)
	for i, r := range s {
		switch {
		case r == '\n', r == '。':
			return s[:i]
		case (r == '.' || r == '!' || r == '?') && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n'):
			// "e.g. " and "i.e. " end no sentence.
			if i >= 2 && s[i-2] == '.' {
				continue
			}
			return s[:i]
		}
	}
	return s
}
