package jsrun

import (
	"reflect"

	"github.com/dop251/goja"
)

const (
	// minJoin is the length from which a growing text gets a builder.
	minJoin = 256
	// maxJoins bounds the texts that grow at the same time.
	maxJoins = 8
)

// A joined text was made by appending to the earlier text of the builder. Strings are immutable:
// an earlier text that a program keeps is a prefix of the same memory.
type joined struct {
	builder *goja.StringBuilder
	text    goja.String
}

// join implements +. goja copies both operands, which makes a loop of s += x quadratic; join
// appends to s if it is the last text of a builder.
func (r *runtime) join(c goja.FunctionCall) goja.Value { return r.sum(c.Argument(0), c.Argument(1)) }

func (r *runtime) sum(left, right goja.Value) goja.Value {
	s, isText := left.(goja.String)
	x, ok := right.(goja.String)
	switch {
	case isText && ok:
	case isText && isPrimitive(right):
		x = r.text(right)
	case ok && isPrimitive(left):
		s = r.text(left)
	case goja.IsNumber(left) && goja.IsNumber(right):
		return r.vm.ToValue(left.ToFloat() + right.ToFloat())
	default:
		return r.callOrThrow(r.add, left, right)
	}
	return r.append(s, x)
}

// isPrimitive reports whether v always converts to the same text.
func isPrimitive(v goja.Value) bool {
	switch v.(type) {
	case *goja.Object, *goja.Symbol:
		return false
	}
	return true
}

// text returns the text of a primitive value.
func (r *runtime) text(v goja.Value) goja.String {
	if s, ok := v.(goja.String); ok {
		return s
	}
	return r.vm.ToValue(v.String()).(goja.String)
}

// append returns s followed by x.
func (r *runtime) append(s, x goja.String) goja.Value {
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

// sameText reports whether two texts are the same string. It reads them only if both are ASCII and
// of equal length.
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
