package jsrun

import (
	"reflect"
	"strings"
	"unicode/utf8"

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
		return r.called(r.add, left, right)
	}
	return r.append(s, x)
}

// isPrimitive reports whether v becomes the same text wherever it becomes text.
func isPrimitive(v goja.Value) bool {
	switch v.(type) {
	case *goja.Object, *goja.Symbol:
		return false
	}
	return true
}

// text is what a primitive value becomes as text.
func (r *runtime) text(v goja.Value) goja.String {
	if s, ok := v.(goja.String); ok {
		return s
	}
	return r.vm.ToValue(v.String()).(goja.String)
}

// append is the text s with x behind it.
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

// called calls a function of the engine.
func (r *runtime) called(f goja.Callable, args ...goja.Value) goja.Value {
	v, err := f(goja.Undefined(), args...)
	if err != nil {
		panic(err)
	}
	return v
}

// fill is the text of `${s}x`, where the second argument is the text x.
func (r *runtime) fill(c goja.FunctionCall) goja.Value {
	if s, ok := c.Argument(0).(goja.String); ok {
		return r.append(s, c.Argument(1).(goja.String))
	}
	return r.called(r.member.fill, c.Arguments...)
}

// concat is s.concat(x, …).
func (r *runtime) concat(c goja.FunctionCall) goja.Value {
	s, ok := c.Argument(0).(goja.String)
	for _, x := range c.Arguments[1:] {
		ok = ok && isPrimitive(x)
	}
	if !ok {
		return r.called(r.member.concat, c.Arguments...)
	}
	for _, x := range c.Arguments[1:] {
		s = r.append(s, r.text(x)).(goja.String)
	}
	return s
}

// A member is a property that is added to: it is asked for its object and its
// key once. Only $broker_put gets it.
type member struct {
	goja.Value
	object, key, was goja.Value

	own  *goja.Object // the object, if Go can reach the property by
	name string
}

// memberFuncs are the functions of "core" for what join.go does not do itself.
type memberFuncs struct{ fill, concat, key, get, set goja.Callable }

// at is the member of an object, with the value that it has.
func (r *runtime) at(c goja.FunctionCall) goja.Value {
	m := &member{Value: goja.Undefined(), object: c.Argument(0), key: c.Argument(1)}
	if o, ok := m.key.(*goja.Object); ok {
		m.key = r.called(r.member.key, m.object, o)
	}
	if o, ok := m.object.(*goja.Object); ok && isPrimitive(m.key) {
		if name := m.key.String(); !strings.ContainsRune(name, utf8.RuneError) {
			m.own, m.name = o, name
			if m.was = o.Get(name); m.was == nil {
				m.was = goja.Undefined()
			}
			return m
		}
	}
	m.was = r.called(r.member.get, m.object, m.key)
	return m
}

// put is the assignment of object[key] += x.
func (r *runtime) put(c goja.FunctionCall) goja.Value {
	m := c.Argument(0).(*member)
	v := r.sum(m.was, c.Argument(1))
	if m.own == nil {
		r.called(r.member.set, m.object, m.key, v)
	} else if err := m.own.Set(m.name, v); err != nil {
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
