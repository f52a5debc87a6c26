package jsrun

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// newObject is an object with these properties. Plain assignment would call the
// accessor for "__proto__", and setters that a program put on Object.prototype.
func newObject(vm *goja.Runtime, keys []unistring.String, values []goja.Value) *goja.Object {
	o := vm.NewObject()
	at := objectFields()
	if at == nil {
		for i, key := range keys {
			// A fresh object takes every property.
			_ = o.DefineDataProperty(key.String(), values[i], goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		}
		return o
	}
	properties, names := at.of(o)
	if len(keys) > 8 { // what a map holds without growing
		*properties = make(map[unistring.String]goja.Value, len(keys))
	}
	for i, key := range keys {
		(*properties)[key] = values[i]
	}
	*names = slices.Clone(keys)
	if len(*properties) < len(keys) { // a key came twice: it stands where it came first
		seen := make(map[unistring.String]bool, len(keys))
		*names = slices.DeleteFunc(*names, func(key unistring.String) bool {
			again := seen[key]
			seen[key] = true
			return again
		})
	}
	return o
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

// of are the properties of o, which NewObject has made, and their names in order.
func (f *fieldOffsets) of(o *goja.Object) (*map[unistring.String]goja.Value, *[]unistring.String) {
	// An interface is two words, of which the second points to what is in it.
	self := (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), f.self))[1]
	return (*map[unistring.String]goja.Value)(unsafe.Add(self, f.values)), (*[]unistring.String)(unsafe.Add(self, f.names))
}
