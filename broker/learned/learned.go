// Package learned infers the types of tools' results, so that a tool without an output schema
// still gets a return type. It merges the results of calls into a shape: the keys, whether each is
// always present, the kinds of value at each location, the formats of strings. It never stores the
// values themselves.
//
// Keys can be data too: a tool may answer with an object keyed by the names of people.
// So a key is stored in plain text only after two calls with different arguments had
// it, and only if it looks like the name of a field; before that it is stored as a
// keyed hash. An object with other keys, with more than 40, or with keys that differ
// from call to call, counts as a map from string to one type.
package learned

import "encoding/json"

const (
	// maxKeys bounds the keys of an object of a learned type.
	maxKeys = 40
	// maxDepth bounds the depth of a learned type; deeper values are unknown.
	maxDepth = 6
	// minCalls is the number of calls before a learned type is shown, and minDriftCalls the number
	// before a different result is a drift.
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

// A kind is a kind of JSON value. Integers are a kind of their own.
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

// A tally counts the values at one location.
type tally struct {
	// Kinds counts the values of each kind.
	Kinds [kinds]int `json:"k"`
	// Formats are the formats that all strings so far have.
	Formats formats `json:"f,omitempty"`
}

// add adds the counts of another tally.
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

// A node describes the values at one location in the results of a tool. Its JSON form is stored.
type node struct {
	tally
	// Object describes the objects at the location, or is nil.
	Object *object `json:"o,omitempty"`
	// Elem describes the elements of the arrays at the location, or is nil.
	Elem *node `json:"e,omitempty"`
}

// An object describes the objects at one location.
type object struct {
	N     int `json:"n"` // number of objects
	Calls int `json:"c"` // number of calls with objects
	// Fields are the keys that are stored in plain text, in the order of their confirmation, and
	// within a call of their first occurrence.
	Fields []*field `json:"p,omitempty"`
	// Pending are keys of calls with only one set of arguments, by hash.
	Pending map[string]*pending `json:"q,omitempty"`
	// Varied counts the calls whose objects had a new key and lacked a key that all earlier
	// objects had: see varies.
	Varied int `json:"d,omitempty"`
	// Values describes the values of all keys of an object that is a map. Fields and Pending are
	// empty then.
	Values *node `json:"v,omitempty"`
}

type field struct {
	Name string `json:"name"`
	N    int    `json:"n"` // number of objects with the field
	node `json:"t"`
}

type pending struct {
	Args  string `json:"a"` // hash of the arguments of the calls with the key
	Order int    `json:"i"` // index of the key when it was first seen
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

// A Type is the learned type of the results of one tool.
type Type struct {
	// Calls is the number of results that it was learned from.
	Calls int
	// Schema is the type as a JSON Schema.
	Schema json.RawMessage
}

// HasUse reports whether an output schema describes the results of a tool well enough that
// learning adds nothing.
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
