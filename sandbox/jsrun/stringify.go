package jsrun

import "github.com/dop251/goja"

// defineStringify makes JSON.stringify write a bigint as a plain integer. A replacer gets the
// bigint itself.
func (r *runtime) defineStringify() {
	object := r.vm.Get("JSON").(*goja.Object)
	rawJSON, _ := goja.AssertFunction(object.Get("rawJSON"))
	r.stringify, _ = goja.AssertFunction(object.Get("stringify"))
	prototype := r.vm.Get("BigInt").(*goja.Object).Get("prototype").(*goja.Object)
	text, _ := goja.AssertFunction(prototype.Get("toString"))
	integer := func(v goja.Value) goja.Value {
		return r.callOrThrow(rawJSON, r.callMethod(v, text))
	}
	replacing := false
	r.defineMethod(prototype, "toJSON", 0, func(c goja.FunctionCall) goja.Value {
		if replacing {
			return c.This
		}
		return integer(c.This)
	})
	r.defineMethod(object, "stringify", 3, func(c goja.FunctionCall) goja.Value {
		value, replacer := c.Argument(0), c.Argument(1)
		replace, ok := goja.AssertFunction(replacer)
		if !ok {
			return r.callOrThrow(r.stringify, c.Arguments...)
		}
		before := replacing
		replacing = true
		defer func() { replacing = before }()
		return r.callOrThrow(r.stringify, value, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			v := r.callMethod(c.This, replace, c.Arguments...)
			if goja.IsBigInt(v) {
				return integer(v)
			}
			return v
		}), c.Argument(2))
	})
}
