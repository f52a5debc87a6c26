// Package learned infers the types of tools' results, so that a tool without an output
// schema still gets a return type. It merges the results of calls into a shape: the
// keys, whether each is always present, the kinds of value at each place, the formats
// of strings. It never stores the values themselves.
//
// Keys can be data too: a tool may answer with an object keyed by the names of people.
// So a key is stored in plain text only after two calls with different arguments had
// it, and only if it looks like the name of a field; before that it is stored as a
// keyed hash. An object with other keys, with more than 40, or with keys that differ
// from call to call, counts as a map from string to one type.
package learned

import "encoding/json"

const (
	// maxKeys is how many keys an object of a learned type can have.
	maxKeys = 40
	// maxDepth is how deep a learned type goes; what is deeper is unknown.
	maxDepth = 6
	// minCalls is how many calls a type must have been learned from before it
	// is shown, and before a result that differs is called a drift.
	minCalls, minDriftCalls = 2, 3
)

// isFieldName reports whether a key looks like that of a record, unlike that of a map.
func isFieldName(key string) bool {
	if key == "" || len(key) > 40 {
		return false
	}
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// A kind is a kind of JSON value. Integers differ from other numbers.
type kind int

const (
	kindNull kind = iota
	kindBool
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
	kinds
)

var kindNames = [kinds]string{"null", "boolean", "integer", "number", "string", "array", "object"}

// A tally is what was counted at one place.
type tally struct {
	// Kinds counts the values of each kind.
	Kinds [kinds]int `json:"k"`
	// Formats are those that every string so far has.
	Formats formats `json:"f,omitempty"`
}

// add adds what was counted elsewhere.
func (t *tally) add(other tally) {
	switch {
	case other.Kinds[kindString] == 0:
	case t.Kinds[kindString] == 0:
		t.Formats = other.Formats
	default:
		t.Formats &= other.Formats
	}
	for k, n := range other.Kinds {
		t.Kinds[k] += n
	}
}

// A node is one place in the results of a tool, and what was seen there. Its
// JSON form is what the state directory holds.
type node struct {
	tally
	// Object is what is known of the objects here; nil if there were none.
	Object *object `json:"o,omitempty"`
	// Elem is what is known of the elements of arrays here.
	Elem *node `json:"e,omitempty"`
}

// An object is what was seen of the objects at one place.
type object struct {
	N     int `json:"n"` // how many objects
	Calls int `json:"c"` // in how many calls
	// Fields are the keys that are not secret any more, in the order of their
	// confirmation, and within a call of their first occurrence.
	Fields []*field `json:"p,omitempty"`
	// Pending are keys that only calls with one set of arguments had, by
	// hash.
	Pending map[string]*pending `json:"q,omitempty"`
	// Varied counts the calls whose objects had a key that none before them had and
	// lacked a key that all before them had: see varies.
	Varied int `json:"d,omitempty"`
	// Values is what the values of all keys have in common, for an object
	// that is a map. Fields and Pending are empty then.
	Values *node `json:"v,omitempty"`
}

type field struct {
	Name string `json:"name"`
	N    int    `json:"n"` // how many objects had it
	node `json:"t"`
}

type pending struct {
	Args  string `json:"a"` // hash of the arguments of the calls that had it
	Order int    `json:"i"` // where the key stood when it was first seen
	N     int    `json:"n"`
	node  `json:"t"`
}

func (o *object) field(name string) *field {
	for _, f := range o.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// A Type is what is known of the results of one tool.
type Type struct {
	// Calls is how many results it was learned from.
	Calls int
	// Schema is the type as a JSON Schema.
	Schema json.RawMessage
}

// HasUse reports whether an output schema says anything of what a tool answers:
// whether learning can add nothing to it.
func HasUse(outputSchema json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(outputSchema, &s) != nil {
		return false
	}
	for _, k := range []string{"properties", "$ref", "anyOf", "oneOf", "allOf", "items", "prefixItems", "enum", "const", "patternProperties"} {
		if v, ok := s[k]; ok && string(v) != "{}" && string(v) != "[]" {
			return true
		}
	}
	var typ string
	if json.Unmarshal(s["type"], &typ) == nil && typ != "object" && typ != "array" {
		return true
	}
	// {"type":"object","additionalProperties":{…}} is a map.
	var extra map[string]json.RawMessage
	return json.Unmarshal(s["additionalProperties"], &extra) == nil && len(extra) > 0
}
