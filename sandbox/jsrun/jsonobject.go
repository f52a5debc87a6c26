package jsrun

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// A keyPath is the keys of an object, in order, as far as they have been read.
// Objects of one kind have the same: what stands behind a key is guessed from
// the object before, so that most keys are compared and not looked up.
type keyPath struct {
	before *keyPath
	raw    string // the last key, as it stands in the text
	plain  bool   // raw is ASCII without escapes
	name   unistring.String
	length int

	guess *keyPath // what stood behind it last
	next  map[string]*keyPath
	names []unistring.String // all of them, once an object ended here
}

// maxKeyPaths is how many are kept; an object whose keys are data would make
// more of them than are of use.
const maxKeyPaths = 4096

// then is the path with one more key.
func (s *jsonScanner) then(p *keyPath, raw string, plain bool, name unistring.String) *keyPath {
	if q := p.next[raw]; q != nil {
		p.guess = q
		return q
	}
	q := &keyPath{before: p, raw: raw, plain: plain, name: name, length: p.length + 1}
	if s.paths < maxKeyPaths {
		s.paths++
		if p.next == nil {
			p.next = make(map[string]*keyPath)
		}
		p.next[raw], p.guess = q, q
	}
	return q
}

// keys are all keys of the path.
func (p *keyPath) keys() []unistring.String {
	if p.names == nil {
		p.names = make([]unistring.String, p.length)
		for q := p; q.before != nil; q = q.before {
			p.names[q.length-1] = q.name
		}
	}
	return p.names
}

// newObject is an object with the keys of p and these values.
func (s *jsonScanner) newObject(p *keyPath, values []goja.Value) (goja.Value, error) {
	o := s.vm.NewObject()
	keys := p.keys()
	at := objectFields()
	if at == nil {
		for i, key := range keys {
			if err := setOwn(o, key.String(), values[i]); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
	fields := at.fields(o)
	if len(keys) > 8 { // what a map holds without growing
		*fields.values = make(map[unistring.String]goja.Value, len(keys))
	}
	properties := *fields.values
	for i, key := range keys {
		properties[key] = values[i]
	}
	// Each object has its own list: goja takes names out of it in place.
	names := make([]unistring.String, 0, len(keys))
	if len(properties) == len(keys) {
		names = append(names, keys...)
	} else { // a key came twice: it stands where it came first
		seen := make(map[unistring.String]bool, len(keys))
		for _, key := range keys {
			if !seen[key] {
				seen[key] = true
				names = append(names, key)
			}
		}
	}
	*fields.names = names
	return o, nil
}

// goja's API defines properties one by one, each with a descriptor, at several
// times the cost of the property. fieldOffsets says where a new object keeps its
// properties, so that a whole object is filled in at once.
type fieldOffsets struct{ self, values, names uintptr }

// objectFields finds out by reflection; it is nil if goja's objects are not as
// they are known here, and the API is used.
var objectFields = sync.OnceValue(func() *fieldOffsets {
	o := goja.New().NewObject()
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return nil
	}
	base := reflect.ValueOf(o).Elem().FieldByIndex(self.Index).Elem()
	if base.Kind() != reflect.Pointer || base.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	values, ok := base.Type().Elem().FieldByName("values")
	if !ok || values.Type != reflect.TypeFor[map[unistring.String]goja.Value]() {
		return nil
	}
	names, ok := base.Type().Elem().FieldByName("propNames")
	if !ok || names.Type != reflect.TypeFor[[]unistring.String]() {
		return nil
	}
	if v := base.Elem().FieldByIndex(values.Index); v.IsNil() || v.Len() != 0 {
		return nil
	}
	return &fieldOffsets{self.Offset, values.Offset, names.Offset}
})

// An objectFieldsOf points to the properties of one object.
type objectFieldsOf struct {
	values *map[unistring.String]goja.Value
	names  *[]unistring.String
}

// fields are those of o, which NewObject has made.
func (f *fieldOffsets) fields(o *goja.Object) objectFieldsOf {
	// An interface is two words, of which the second points to what is in it.
	self := (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), f.self))
	return objectFieldsOf{
		values: (*map[unistring.String]goja.Value)(unsafe.Add(self[1], f.values)),
		names:  (*[]unistring.String)(unsafe.Add(self[1], f.names)),
	}
}
