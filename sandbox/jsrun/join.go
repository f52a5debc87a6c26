package jsrun

import (
	"reflect"

	"github.com/dop251/goja"
)

const (
	// minJoin is the length from which a text that grows is given a builder.
	minJoin = 256
	// maxJoins is how many texts may grow at the same time.
	maxJoins = 8
)

// A joined text was made by appending to the one that the builder held before.
// Strings do not change: what a program keeps of an earlier text is the
// beginning of the same memory.
type joined struct {
	builder *goja.StringBuilder
	text    goja.String
}

// join is the + of the language. goja copies both sides, which makes a loop of
// s += x quadratic; here s is appended to if it is the last text of a builder.
func (r *runtime) join(c goja.FunctionCall) goja.Value {
	left, right := c.Argument(0), c.Argument(1)
	s, ok := left.(goja.String)
	if !ok {
		return r.plus(left, right)
	}
	x, ok := right.(goja.String)
	if !ok {
		switch right.(type) {
		case *goja.Object, *goja.Symbol:
			return r.plus(left, right)
		}
		x = r.vm.ToValue(right.String()).(goja.String)
	}
	if s.Length()+x.Length() < minJoin {
		return s.Concat(x)
	}
	for i := range r.joins {
		if j := &r.joins[i]; j.builder != nil && sameText(j.text, s) {
			j.builder.WriteString(x)
			j.text = j.builder.String()
			return j.text
		}
	}
	r.nextJoin = (r.nextJoin + 1) % maxJoins
	b := new(goja.StringBuilder)
	b.Grow(s.Length() + x.Length() + s.Length()/4)
	b.WriteString(s)
	b.WriteString(x)
	r.joins[r.nextJoin] = joined{b, b.String()}
	return r.joins[r.nextJoin].text
}

// plus is the engine's own +.
func (r *runtime) plus(left, right goja.Value) goja.Value {
	v, err := r.add(goja.Undefined(), left, right)
	if err != nil {
		panic(err)
	}
	return v
}

// sameText reports whether two texts are one, without reading them unless both
// are ASCII and of the same length.
func sameText(a, b goja.String) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Type() != y.Type() {
		return false
	}
	if x.Kind() == reflect.Slice { // UTF-16
		return x.Pointer() == y.Pointer() && x.Len() == y.Len()
	}
	return x.Comparable() && a == b
}
