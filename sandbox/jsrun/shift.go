package jsrun

import "github.com/dop251/goja"

// defineShift makes shift fast for arrays that are not only queues. goja's own miscounts and, from
// the second call on, moves every element as a property; splice moves them at once.
func (r *runtime) defineShift() {
	prototype := r.vm.Get("Array").(*goja.Object).Get("prototype").(*goja.Object)
	slow, _ := goja.AssertFunction(prototype.Get("shift"))
	splice, _ := goja.AssertFunction(prototype.Get("splice"))
	zero, one := r.vm.ToValue(0), r.vm.ToValue(1)
	r.defineMethod(prototype, "shift", 0, func(c goja.FunctionCall) goja.Value {
		o, ok := c.This.(*goja.Object)
		if ok && o.ClassName() == "Array" && o.Prototype() == prototype && o.Get("length").ToInteger() > 0 {
			return r.callMethod(o, splice, zero, one).(*goja.Object).Get("0")
		}
		return r.callMethod(c.This, slow)
	})
}
