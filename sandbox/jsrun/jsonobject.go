package jsrun

import "github.com/dop251/goja"

// newObject returns an object with the given properties. It sets the prototype last: assignment
// would call the accessor for "__proto__", and setters that a program defined on Object.prototype.
func newObject(vm *goja.Runtime, prototype *goja.Object, keys []string, values []goja.Value) *goja.Object {
	o := vm.CreateObject(nil)
	for i, key := range keys {
		_ = o.Set(key, values[i]) // a fresh object takes every property
	}
	_ = o.SetPrototype(prototype)
	return o
}
