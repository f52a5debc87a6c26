package codegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A value is any JSON value with the order of object keys kept: an *object, a
// []value, a string, a json.Number, a bool or nil.
type value any

// An object is a JSON object in the order in which it was written.
type object struct {
	keys []string
	vals map[string]value
}

func (o *object) get(key string) value {
	if o == nil {
		return nil
	}
	return o.vals[key]
}

// has tells a key that is absent from one whose value is null.
func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.vals[key]
	return ok
}

func (o *object) object(key string) *object {
	v, _ := o.get(key).(*object)
	return v
}

func (o *object) list(key string) []value {
	v, _ := o.get(key).([]value)
	return v
}

func (o *object) text(key string) string {
	v, _ := o.get(key).(string)
	return v
}

// maxNesting bounds the depth of a schema that is read at all.
const maxNesting = 200

var errTooDeep = errors.New("nested too deeply")

// decode reads one JSON value, keeping key order and the digits of numbers,
// both of which encoding/json's maps lose.
func decode(raw []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return decodeValue(d, 0)
}

func decodeValue(d *json.Decoder, depth int) (value, error) {
	if depth > maxNesting {
		return nil, errTooDeep
	}
	tok, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if delim == '[' {
		list := []value{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	o := &object{vals: make(map[string]value)}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if !o.has(name) {
			o.keys = append(o.keys, name)
		}
		o.vals[name] = v
	}
	_, err = d.Token()
	return o, err
}
