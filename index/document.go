package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A record is what the index is told of one thing that can be found.
type record struct {
	id, kind, server         string
	name, title, description string
	schema                   json.RawMessage
}

func toolRecord(t *discovery.Tool) record {
	return record{
		id: t.ID, server: t.Server, name: t.Name, title: t.Title, description: t.Description,
		schema: t.InputSchema,
	}
}

func entryRecord(e Entry) record {
	return record{id: e.ID, kind: e.Kind, server: e.Server, name: e.Name, title: e.Title, description: e.Description}
}

// key tells records apart. No id of a tool holds a control character.
func (r record) key() string {
	if r.kind == "" {
		return r.id
	}
	return r.kind + "\x1f" + r.id
}

// same reports whether two records of one key are found by the same words. It
// costs little for what was not listed anew: texts that share their memory are
// not compared.
func (r record) same(o record) bool {
	return r.description == o.description && r.title == o.title && r.name == o.name && r.server == o.server &&
		bytes.Equal(r.schema, o.schema)
}

// A parameter is one property of a tool's input.
type parameter struct {
	name, description string
	values            []string // of its enum
}

// parameters returns the top level of an input schema. A schema that cannot be
// read has none.
func parameters(schema json.RawMessage) []parameter {
	if len(schema) == 0 {
		return nil
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	list := make([]parameter, 0, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var p struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		}
		// A parameter whose schema is odd still has its name.
		_ = json.Unmarshal(s.Properties[name], &p)
		q := parameter{name: name, description: p.Description}
		for _, v := range p.Enum {
			if v, ok := v.(string); ok {
				q.values = append(q.values, v)
			}
		}
		list = append(list, q)
	}
	return list
}

// The fields of a document. What a word counts depends on where it stands and
// on how long that text is against the usual: a word among three says more
// than one among three hundred. The usual lengths are those of ten thousand
// published tools and not of the catalogue at hand, so that a tool's place
// does not depend on what else is connected.
type field struct {
	weight float64
	b      float64 // how much the length counts, from 0 to 1
	length float64 // the usual length, in words
}

var fields = [...]field{
	nameField:        {3, .5, 2.9},
	descriptionField: {.5, .6, 23},
	sentenceField:    {.5, .4, 10},
	serverField:      {.75, .2, 1.9},
	parameterField:   {.3, .4, 5.2},
	textField:        {.3, .1, 31},
}

const (
	nameField = iota
	descriptionField
	sentenceField
	serverField
	parameterField
	textField // descriptions of parameters, values of enums
)

// A posting is one word of a document and its weight: how often it occurs,
// summed over the fields.
type posting struct {
	term   term
	weight float32
}

// A document is a record as the search sees it. It is immutable.
type document struct {
	hit      Hit // without score
	server   string
	name     string    // folded, see nearest.Fold
	nameLen  int       // different words in the name
	postings []posting // the words of the name first
	made     record    // what it was made of; its texts belong to the catalogue
	vector   []int8
}

// A reader takes records apart into documents. Not for concurrent use.
type reader struct {
	terms *lexer
	met   []occurrence
}

// An occurrence is one word in one field.
type occurrence struct {
	term  term
	field uint8
}

// read makes a document of a record.
func (r *reader) read(rec record) *document {
	r.met = r.met[:0]
	lengths := [len(fields)]int{
		nameField:        r.text(nameField, rec.name, false),
		descriptionField: r.text(descriptionField, rec.description, true),
		sentenceField:    r.text(sentenceField, firstSentence(rec.description), true) + r.text(sentenceField, rec.title, true),
		serverField:      r.text(serverField, rec.server, false) + r.text(serverField, rec.kind, false),
	}
	for _, p := range parameters(rec.schema) {
		lengths[parameterField] += r.text(parameterField, p.name, false)
		lengths[textField] += r.text(textField, p.description, true)
		for _, v := range p.values {
			lengths[textField] += r.text(textField, v, true)
		}
	}
	d := &document{hit: Hit{ID: rec.id, Kind: rec.kind}, server: rec.server, name: nearest.Fold(rec.name), made: rec}
	d.postings, d.nameLen = r.weigh(lengths)
	return d
}

// weigh sums the occurrences of each word, those of the name first, and says
// how many words the name has.
func (r *reader) weigh(lengths [len(fields)]int) (list []posting, named int) {
	var weights [len(fields)]float64
	for f, of := range fields {
		weights[f] = of.weight / (1 - of.b + of.b*float64(lengths[f])/of.length)
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
		list = append(list, posting{t, float32(sum)})
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
	eachWord(s, prose, func(w string) {
		if t, ok := r.terms.intern(w); ok {
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
