package gate

import (
	"encoding/json"
	"errors"
	"reflect"
)

// ErrTooDeep reports that a message is nested too deep.
var ErrTooDeep = errors.New("a message nests its values too deep")

const maxDepth = 200

// Message returns v with all strings cleaned that would be sent with it, and the total length of
// the strings. It does not modify anything that v refers to, but copies changed parts. It walks
// structs, maps, slices and pointers; bytes are binary data. If change is not nil, clean strings
// pass through it, except for names that a client sends back, in fields such as RequestState. JSON
// in raw messages stays JSON.
func Message(v any, change func(string) string) (clean any, bytes int, err error) {
	w := &walker{change: change}
	out, changed := w.walk(reflect.ValueOf(v), 0)
	switch {
	case w.tooDeep:
		return nil, 0, ErrTooDeep
	case !changed:
		return v, w.bytes, nil
	}
	return out.Interface(), w.bytes, nil
}

// names are the fields of messages that only machines read.
var names = map[string]bool{"RequestState": true, "NextCursor": true, "Cursor": true, "URI": true, "URL": true, "URITemplate": true, "ElicitationID": true, "MIMEType": true}

type walker struct {
	change  func(string) string
	named   bool // this is a name
	bytes   int
	tooDeep bool
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// walk returns the changed value, and whether it differs from v.
func (w *walker) walk(v reflect.Value, depth int) (reflect.Value, bool) {
	if depth > maxDepth {
		w.tooDeep = true
		return v, false
	}
	switch v.Kind() {
	case reflect.String:
		old := v.String()
		s := Clean(old)
		if w.change != nil && !w.named {
			s = w.change(s)
		}
		w.bytes += len(s)
		if s == old { // the same memory, so this is fast
			return v, false
		}
		return reflect.ValueOf(s).Convert(v.Type()), true
	case reflect.Pointer, reflect.Interface:
		return w.inside(v, depth)
	case reflect.Struct:
		return w.fields(v, depth)
	case reflect.Slice, reflect.Array:
		return w.items(v, depth)
	case reflect.Map:
		return w.entries(v, depth)
	}
	return v, false
}

func (w *walker) inside(v reflect.Value, depth int) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	elem, changed := w.walk(v.Elem(), depth+1)
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return elem, true
	}
	p := reflect.New(v.Type().Elem())
	p.Elem().Set(elem)
	return p, true
}

// fields copies a struct and changes the exported fields of the copy: others are not sent.
func (w *walker) fields(v reflect.Value, depth int) (reflect.Value, bool) {
	var out reflect.Value
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.IsExported() {
			continue
		}
		w.named = names[v.Type().Field(i).Name]
		field, changed := w.walk(v.Field(i), depth+1)
		w.named = false
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (w *walker) items(v reflect.Value, depth int) (reflect.Value, bool) {
	switch {
	case v.Type() == rawMessage:
		old := v.Bytes()
		value := JSON(old)
		if w.change != nil && len(value) > 2 && (value[0] == '{' || value[0] == '[' || value[0] == '"') {
			text := string(value)
			if changed := w.change(text); changed != text {
				value = json.RawMessage(changed)
			}
		}
		w.bytes += len(value)
		return reflect.ValueOf(value), len(value) != len(old) || len(old) > 0 && &value[0] != &old[0]
	case v.Type().Elem().Kind() == reflect.Uint8:
		return v, false
	}
	var out reflect.Value
	for i := range v.Len() {
		item, changed := w.walk(v.Index(i), depth+1)
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			if v.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(item)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (w *walker) entries(v reflect.Value, depth int) (reflect.Value, bool) {
	var out reflect.Value
	for iter := v.MapRange(); iter.Next(); {
		key, newKey := w.walk(iter.Key(), depth+1)
		value, newValue := w.walk(iter.Value(), depth+1)
		if !newKey && !newValue {
			continue
		}
		if !out.IsValid() {
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for all := v.MapRange(); all.Next(); {
				out.SetMapIndex(all.Key(), all.Value())
			}
		}
		out.SetMapIndex(iter.Key(), reflect.Value{})
		out.SetMapIndex(key, value)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}
