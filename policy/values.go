package policy

import (
	"bytes"
	"encoding/json"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Bounds of Values. A run that reads more counts as carrying all of it.
const (
	minValue       = 12 // characters
	maxValues      = 10_000
	maxValuesBytes = 4 << 20
	maxCompared    = 1 << 30 // bytes times values
)

// Values are the texts that a run has seen in results, for comparison with arguments:
// ignoring case and white space, and only texts of at least 12 characters. The zero
// value is empty; it is not safe for concurrent use.
type Values struct {
	texts [][]byte
	known map[string]bool // the same texts
	bytes int
	full  bool
}

// AddJSON adds the texts of a result. Invalid JSON counts as anything.
func (v *Values) AddJSON(result json.RawMessage) {
	if len(result) > 0 && !eachText(result, v.add) {
		v.full, v.texts, v.known = true, nil, nil
	}
}

// AddText adds one text.
func (v *Values) AddText(text string) { v.add([]byte(text)) }

func (v *Values) add(text []byte) {
	if utf8.RuneCount(bytes.Join(bytes.Fields(text), []byte(" "))) < minValue || v.full {
		return
	}
	v.store(folded(text))
}

// store adds a folded text.
func (v *Values) store(f []byte) {
	if len(f) == 0 || v.full || v.known[string(f)] {
		return
	}
	if len(v.texts) >= maxValues || v.bytes+len(f) > maxValuesBytes {
		v.full, v.texts, v.known = true, nil, nil
		return
	}
	if v.known == nil {
		v.known = make(map[string]bool)
	}
	v.known[string(f)] = true
	v.texts, v.bytes = append(v.texts, f), v.bytes+len(f)
}

// in reports whether the arguments contain one of the texts.
func (v *Values) in(args json.RawMessage) bool {
	switch {
	case v == nil || len(args) == 0:
		return false
	case v.full, len(args) > maxCompared/(len(v.texts)+1):
		return true
	}
	hit := false
	valid := eachText(args, func(text []byte) {
		if hit {
			return
		}
		f := folded(text)
		for _, value := range v.texts {
			if bytes.Contains(f, value) {
				hit = true
			}
		}
	})
	return hit || !valid
}

// folded returns a text in lower case without white space.
func folded(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// eachText calls f with each string, number and key of a JSON value. It returns false if b is not
// JSON.
func eachText(b []byte, f func(text []byte)) bool {
	s := jsonscan.New(b)
	textsOf(&s, f)
	return s.End()
}

func textsOf(s *jsonscan.Scanner[[]byte], f func(text []byte)) {
	switch s.Kind() {
	case '{':
		for s.Enter('{'); s.More('}'); {
			if key := s.Key(); !s.Broken() {
				f(jsonscan.Unquote(key))
			}
			textsOf(s, f)
		}
	case '[':
		for s.Enter('['); s.More(']'); {
			textsOf(s, f)
		}
	default:
		if raw := s.Skip(); !s.Broken() {
			f(leafOf(raw).text)
		}
	}
}
