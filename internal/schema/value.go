// Package schema reads untrusted JSON Schemas and checks JSON against them.
//
// A Document shows the contents of a schema: leniently, in their order, and within bounds. Parts of
// a wrong schema are ignored, and it is never an error. A value in it is an *Object, a []any, a
// string, a json.Number, a bool or nil.
//
// A Schema is compiled, which reports what is wrong with it. It checks JSON and describes mistakes
// for their author, who may be a model.
package schema

import (
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// An Object is a JSON object in its original order. The last value of a duplicate key counts. The
// nil Object has no members.
type Object struct {
	Keys  []string
	Vals  []any
	index map[string]int // only for large objects
}

// indexedFrom is the number of keys from which a map is faster than a search.
const indexedFrom = 12

func (o *Object) at(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.Keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Set adds a member, or replaces its value.
func (o *Object) Set(key string, v any) {
	if i := o.at(key); i >= 0 {
		o.Vals[i] = v
		return
	}
	o.Keys, o.Vals = append(o.Keys, key), append(o.Vals, v)
	switch {
	case o.index != nil:
		o.index[key] = len(o.Keys) - 1
	case len(o.Keys) == indexedFrom:
		o.index = make(map[string]int, 2*indexedFrom)
		for i, k := range o.Keys {
			o.index[k] = i
		}
	}
}

// Get returns the value of a member, or nil.
func (o *Object) Get(key string) any {
	if i := o.at(key); i >= 0 {
		return o.Vals[i]
	}
	return nil
}

// Has distinguishes an absent key from one with the value null.
func (o *Object) Has(key string) bool { return o.at(key) >= 0 }

// Object returns the value of a member that is an object, or nil.
func (o *Object) Object(key string) *Object {
	v, _ := o.Get(key).(*Object)
	return v
}

// List returns the value of a member that is a list, or nil.
func (o *Object) List(key string) []any {
	v, _ := o.Get(key).([]any)
	return v
}

// Text returns the value of a member that is a string, or "".
func (o *Object) Text(key string) string {
	v, _ := o.Get(key).(string)
	return v
}

// Size returns the number of keys.
func (o *Object) Size() int {
	if o == nil {
		return 0
	}
	return len(o.Keys)
}

// MarshalJSON encodes the members in order.
func (o *Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, key := range o.Keys {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(key) // a string always marshals
		v, err := json.Marshal(o.Vals[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), v...)
	}
	return append(b, '}'), nil
}

// MaxNesting bounds the depth of a schema. Deeper parts are read as true, the schema that accepts
// everything.
const MaxNesting = 200

// Decode decodes one JSON value. encoding/json would lose the order of keys, and its token reader
// is slower than all other work on a schema.
func Decode(raw []byte) (any, error) {
	d := decoder{jsonscan.New(string(raw))}
	v := d.value(0)
	if !d.End() {
		return nil, errors.New("schema is not valid JSON")
	}
	return v, nil
}

type decoder struct{ jsonscan.Scanner[string] }

func (d *decoder) value(depth int) any {
	if depth > MaxNesting {
		if k := d.Kind(); k == '{' || k == '[' {
			d.Skip()
			return true
		}
	}
	switch k := d.Kind(); k {
	case '{':
		o := &Object{}
		for d.Enter('{'); d.More('}'); {
			if key := d.Key(); !d.Broken() {
				o.Set(jsonscan.Unquote(key), d.value(depth+1))
			}
		}
		return o
	case '[':
		list := []any{}
		for d.Enter('['); d.More(']'); {
			list = append(list, d.value(depth+1))
		}
		return list
	default:
		raw := d.Skip()
		switch {
		case d.Broken(), k == 'n':
			return nil
		case k == '"':
			return jsonscan.Unquote(raw)
		case k == 't', k == 'f':
			return k == 't'
		}
		return json.Number(raw)
	}
}
