package jsrun

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// goja moves every element of an array one by one, as properties, in shift and
// unshift, and asks an iterator for each in [...list]. A queue or a list that
// grows takes seconds with it. arrayOffsets says where an array keeps its
// elements, so that they are moved at once.
type arrayOffsets struct {
	kind                      unsafe.Pointer // what tells arrays from other objects
	self                      uintptr
	values, length, count     uintptr
	special                   uintptr // how many elements are more than a value
	extensible, lengthMutable uintptr
}

// arrayFields finds out by reflection; it is nil if goja's arrays are not as
// they are known here, and goja's own ways are taken.
var arrayFields = sync.OnceValue(func() *arrayOffsets {
	o := goja.New().NewArray(1)
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return nil
	}
	array := reflect.ValueOf(o).Elem().FieldByIndex(self.Index).Elem().Type()
	if array.Kind() != reflect.Pointer || array.Elem().Kind() != reflect.Struct {
		return nil
	}
	f := &arrayOffsets{self: self.Offset}
	known := true
	find := func(in reflect.Type, name string, want reflect.Type, at *uintptr) {
		field, ok := in.FieldByName(name)
		known = known && ok && field.Type == want
		*at += field.Offset
	}
	find(array.Elem(), "values", reflect.TypeFor[[]goja.Value](), &f.values)
	find(array.Elem(), "length", reflect.TypeFor[uint32](), &f.length)
	find(array.Elem(), "objCount", reflect.TypeFor[int](), &f.count)
	find(array.Elem(), "propValueCount", reflect.TypeFor[int](), &f.special)
	base, hasBase := array.Elem().FieldByName("baseObject")
	property, hasLength := array.Elem().FieldByName("lengthProp")
	if !hasBase || !hasLength || base.Type.Kind() != reflect.Struct || property.Type.Kind() != reflect.Struct {
		return nil
	}
	f.extensible, f.lengthMutable = base.Offset, property.Offset
	find(base.Type, "extensible", reflect.TypeFor[bool](), &f.extensible)
	find(property.Type, "writable", reflect.TypeFor[bool](), &f.lengthMutable)
	f.kind = f.words(o)[0]
	if !known {
		return nil
	}
	if a, ok := f.plain(o); !ok || len(*a.values) != 1 {
		return nil
	}
	return f
})

// words are the two of the interface that holds what o is.
func (f *arrayOffsets) words(o *goja.Object) *[2]unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), f.self))
}

// A plainArray points to what an array consists of.
type plainArray struct {
	values *[]goja.Value
	length *uint32
	count  *int // of the values that are there
}

// plain are the elements of an array that has a value in every place and may be
// changed. No other object's.
func (f *arrayOffsets) plain(v goja.Value) (plainArray, bool) {
	o, ok := v.(*goja.Object)
	if f == nil || !ok {
		return plainArray{}, false
	}
	self := f.words(o)
	if self[0] != f.kind {
		return plainArray{}, false
	}
	a := plainArray{
		values: (*[]goja.Value)(unsafe.Add(self[1], f.values)),
		length: (*uint32)(unsafe.Add(self[1], f.length)),
		count:  (*int)(unsafe.Add(self[1], f.count)),
	}
	n := len(*a.values)
	if *(*int)(unsafe.Add(self[1], f.special)) != 0 || int(*a.length) != n ||
		!*(*bool)(unsafe.Add(self[1], f.extensible)) || !*(*bool)(unsafe.Add(self[1], f.lengthMutable)) {
		return plainArray{}, false
	}
	if *a.count != n { // goja forgets to count in pop and length = 0
		*a.count = 0
		for _, v := range *a.values {
			if v != nil {
				*a.count++
			}
		}
	}
	return a, *a.count == n
}

// set gives the array other elements.
func (a plainArray) set(values []goja.Value) {
	*a.values, *a.length, *a.count = values, uint32(len(values)), len(values)
}

// defineArrays defines what of Array.prototype is too slow in goja.
func (r *runtime) defineArrays() {
	f := arrayFields()
	if f == nil {
		return
	}
	prototype := r.vm.Get("Array").(*goja.Object).Get("prototype").(*goja.Object)
	r.arrayIterator = prototype.GetSymbol(goja.SymIterator)
	r.arrayNext = r.arraySteps.Get("next")
	define := func(name string, length int, fast func(plainArray, []goja.Value) goja.Value) {
		slow, _ := goja.AssertFunction(prototype.Get(name))
		r.defineMethod(prototype, name, length, func(c goja.FunctionCall) goja.Value {
			if a, ok := f.plain(c.This); ok {
				return fast(a, c.Arguments)
			}
			v, err := slow(c.This, c.Arguments...)
			if err != nil {
				panic(err)
			}
			return v
		})
	}
	define("shift", 0, func(a plainArray, _ []goja.Value) goja.Value {
		list := *a.values
		if len(list) == 0 {
			return goja.Undefined()
		}
		first := list[0]
		list[0] = nil // what it was may go before the memory does
		a.set(list[1:])
		return first
	})
	define("pop", 0, func(a plainArray, _ []goja.Value) goja.Value {
		list := *a.values
		if len(list) == 0 {
			return goja.Undefined()
		}
		last := list[len(list)-1]
		list[len(list)-1] = nil
		a.set(list[:len(list)-1])
		return last
	})
	define("unshift", 1, func(a plainArray, items []goja.Value) goja.Value {
		a.set(r.inFront.add(items, *a.values))
		return r.vm.ToValue(len(*a.values))
	})
}

// A roomInFront is where the elements of an array begin, the last that got some
// in front of the others, and the room that it was given there for more.
type roomInFront struct {
	all   []goja.Value
	first int
}

// add is list with items in front of it.
func (f *roomInFront) add(items, list []goja.Value) []goja.Value {
	n := len(items) + len(list)
	own := len(list) > 0 && f.first < len(f.all) && &f.all[f.first] == &list[0]
	switch {
	case own && f.first >= len(items):
		f.first -= len(items)
		list = f.all[f.first : f.first+n]
	case !own && cap(list) >= n:
		rest := list
		list = list[:n]
		copy(list[len(items):], rest)
	default:
		room := n/4 + 4
		*f = roomInFront{make([]goja.Value, room+n+room), room}
		copy(f.all[room+len(items):], list)
		list = f.all[room : room+n]
	}
	copy(list, items)
	return list
}

// changeList makes $broker_list([x], $broker_spread(list)) of [x, ...list].
func changeList(slot *ast.Expression, e *ast.ArrayLiteral) {
	var parts []ast.Expression
	var run *ast.ArrayLiteral
	spread := false
	for _, v := range e.Value {
		if v == nil || arrayFields() == nil {
			return // a hole
		}
		if s, ok := v.(*ast.SpreadElement); ok {
			parts = append(parts, callOf(spreadName, s.Expression, s.Expression))
			spread, run = true, nil
			continue
		}
		if run == nil {
			run = &ast.ArrayLiteral{LeftBracket: e.LeftBracket, RightBracket: e.RightBracket}
			parts = append(parts, run)
		}
		run.Value = append(run.Value, v)
	}
	switch {
	case !spread:
	case len(parts) == 1:
		*slot = parts[0]
	default:
		*slot = callOf(listName, e, parts...)
	}
}

// spread is [...v] for one value.
func (r *runtime) spread(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	a, ok := arrayFields().plain(v)
	if !ok || !r.iteratesAsArray(v.(*goja.Object)) {
		return r.called(r.toList, v)
	}
	return r.newList(append(make([]goja.Value, 0, len(*a.values)+1), *a.values...))
}

// iteratesAsArray reports whether an array gives its elements one after the
// other when it is asked for them, as it does if the program changes nothing.
func (r *runtime) iteratesAsArray(o *goja.Object) bool {
	return o.GetSymbol(goja.SymIterator) == r.arrayIterator && r.arraySteps.Get("next") == r.arrayNext
}

// list is one array of the elements of several.
func (r *runtime) list(c goja.FunctionCall) goja.Value {
	first, _ := arrayFields().plain(c.Argument(0)) // all of them are of our own making
	values := *first.values
	for _, v := range c.Arguments[1:] {
		a, _ := arrayFields().plain(v)
		values = append(values, *a.values...)
	}
	return r.newList(values)
}

func (r *runtime) newList(values []goja.Value) goja.Value {
	o := r.vm.NewArray()
	a, _ := arrayFields().plain(o)
	a.set(values)
	return o
}
