package jsrun

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/words"
)

// Bounds of inspected values.
const (
	maxInspectDepth = 4
	maxInspectItems = 100
	maxInspectBytes = 50
	// maxInspectKeyed is the length up to which an array is searched for keys other than indices.
	maxInspectKeyed = 10000
)

// inspect formats a value for people, like console.log of Node. Getters do not run; proxies of the
// value do, and may throw.
func (r *runtime) inspect(v goja.Value) string { return r.inspectDeep(v, maxInspectDepth) }

// inspectDeep is like inspect, with the given number of levels.
func (r *runtime) inspectDeep(v goja.Value, levels int) string {
	in := inspector{r: r, levels: levels}
	return in.value(v, 0)
}

// The types in goja without a class name of their own.
var (
	promiseType     = reflect.TypeFor[*goja.Promise]()
	arrayBufferType = reflect.TypeFor[goja.ArrayBuffer]()
)

// plainKey matches keys that are written without quotes.
var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`) })

// An inspector formats one value.
type inspector struct {
	r       *runtime
	levels  int
	path    []*goja.Object       // the objects around the current one
	circles map[*goja.Object]int // the objects that contain themselves, by number
	indent  int                  // of the current object
	deepest int                  // the level of the object that was begun last
}

func (in *inspector) value(v goja.Value, depth int) string {
	switch {
	case v == nil || goja.IsUndefined(v):
		return "undefined"
	case goja.IsString(v):
		return quoteJS(v.String())
	}
	if s, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + s.String() + ")"
	}
	o, ok := v.(*goja.Object)
	if !ok {
		if f, ok := v.Export().(float64); ok && f == 0 && 1/f < 0 {
			return "-0"
		}
		return v.String()
	}
	for _, p := range in.path {
		if p.SameAs(o) {
			if in.circles == nil {
				in.circles = make(map[*goja.Object]int)
			}
			if in.circles[p] == 0 {
				in.circles[p] = len(in.circles) + 1
			}
			return fmt.Sprintf("[Circular *%d]", in.circles[p])
		}
	}
	in.path = append(in.path, o)
	defer func() { in.path = in.path[:len(in.path)-1] }()
	text := in.object(o, depth)
	if n := in.circles[o]; n > 0 {
		text = fmt.Sprintf("<ref *%d> %s", n, text)
	}
	return text
}

// inner formats a value in an object at depth.
func (in *inspector) inner(v goja.Value, depth int) string {
	in.indent += 2
	text := in.value(v, depth+1)
	in.indent -= 2
	return text
}

func (in *inspector) object(o *goja.Object, depth int) string {
	kind := o.ExportType()
	class := o.ClassName()
	if class == "Error" {
		return in.failure(o, depth)
	}
	name := in.name(o, class)
	if depth >= in.levels && !callable(o) && kind != nil && class != "RegExp" && class != "Date" {
		if class == "Array" {
			return "[Array]"
		}
		return "[" + strings.TrimSuffix(name, " ") + "]"
	}
	in.deepest = depth
	switch {
	case kind == promiseType:
		return in.promise(o.Export().(*goja.Promise), depth)
	case kind == arrayBufferType:
		return hexBytes("ArrayBuffer", o.Export().(goja.ArrayBuffer).Bytes())
	case callable(o):
		return in.keyed(o, shape{name: in.function(o)}, depth)
	case class == "Array":
		return in.array(o, depth, name)
	case class == "RegExp":
		return in.keyed(o, shape{name: o.String()}, depth)
	case class == "Date":
		return in.keyed(o, shape{name: in.date(o)}, depth)
	case class == "String" || class == "Number" || class == "Boolean": // new String('x')
		text := o.String()
		if class == "String" {
			text = quoteJS(text)
		}
		return "[" + class + ": " + text + "]"
	case in.r.vm.InstanceOf(o, in.r.mapClass):
		return in.entries(o, name, "Map", depth, true)
	case in.r.vm.InstanceOf(o, in.r.setClass):
		return in.entries(o, name, "Set", depth, false)
	case name == "Buffer":
		b, _ := o.Export().([]byte)
		return hexBytes(name, b)
	case strings.HasSuffix(name, "Array") && o.Get("BYTES_PER_ELEMENT") != nil:
		return in.array(o, depth, name)
	case name == "URL" && o.Get("href") != nil:
		return "URL { " + quoteJS(o.String()) + " }"
	case name == "URLSearchParams":
		return "URLSearchParams { " + quoteJS(o.String()) + " }"
	}
	return in.plain(o, name, depth)
}

func callable(o *goja.Object) bool {
	_, ok := goja.AssertFunction(o)
	return ok
}

// name returns the name of o's class, with its Symbol.toStringTag.
func (in *inspector) name(o *goja.Object, class string) string {
	p := o.Prototype()
	if p == nil {
		return "[" + class + ": null prototype]"
	}
	name := ""
	for ; p != nil && name == ""; p = p.Prototype() { // a class may have no name
		if c, ok := p.Get("constructor").(*goja.Object); ok {
			name = stringOr(c.Get("name"), "")
		}
	}
	if name == "" {
		name = class
	}
	if callable(o) {
		return name
	}
	tag := stringOr(o.GetSymbol(goja.SymToStringTag), "")
	if tag != "" && tag != name && !strings.HasSuffix(tag, "Array") && tag != "Map" && tag != "Set" {
		name += " [" + tag + "]"
	}
	return name
}

func (in *inspector) date(o *goja.Object) string {
	text, err := in.r.toJSON(o)
	if err != nil || string(text) == "null" {
		return "Invalid Date"
	}
	return strings.Trim(string(text), `"`)
}

// function formats a function without its properties: [Function: name].
func (in *inspector) function(o *goja.Object) string {
	name := stringOr(o.Get("name"), "")
	if text := o.String(); strings.HasPrefix(text, "class") {
		if name == "" {
			name = "(anonymous)"
		}
		return "[class " + name + "]"
	}
	if name == "" {
		return "[Function (anonymous)]"
	}
	return "[Function: " + name + "]"
}

func (in *inspector) promise(p *goja.Promise, depth int) string {
	s := shape{name: "Promise", open: "{", close: "}"}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		s.items = []string{in.inner(p.Result(), depth)}
	case goja.PromiseStateRejected:
		s.items = []string{"<rejected> " + in.inner(p.Result(), depth)}
	default:
		return "Promise { <pending> } (await is missing)"
	}
	return in.lay(s, depth)
}

// failure formats an error: with its frames at the top level, as a cause or one of several errors;
// otherwise on one line.
func (in *inspector) failure(o *goja.Object, depth int) string {
	if depth > 0 {
		return "[" + in.r.errorLine(o) + "]"
	}
	return in.withFrames(o, depth)
}

// withFrames formats an error with its frames and its properties.
func (in *inspector) withFrames(o *goja.Object, depth int) string {
	in.deepest = depth
	head := in.r.errorLine(o) + in.r.cleanStack(stringOr(o.Get("stack"), ""), maxFrames, shortIndent)
	head = strings.ReplaceAll(head, "\n", "\n"+strings.Repeat(" ", in.indent))
	s := shape{name: head, open: "{", close: "}", items: in.fields(o, depth, func(key string) bool {
		return key == "name" || key == "cause" || key == "errors"
	})}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) {
		s.items = append(s.items, "[cause]: "+in.reason(cause, depth))
	}
	if list, ok := o.Get("errors").(*goja.Object); ok && list.ClassName() == "Array" {
		for i := range min(list.Get("length").ToInteger(), maxInspectItems) {
			s.items = append(s.items, fmt.Sprintf("[errors %d]: %s", i, in.reason(list.Get(strconv.FormatInt(i, 10)), depth)))
		}
	}
	if len(s.items) == 0 {
		return head
	}
	return in.lay(s, depth)
}

// reason formats the cause of an error.
func (in *inspector) reason(v goja.Value, depth int) string {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" || depth+1 >= in.levels {
		return in.inner(v, depth)
	}
	in.indent += 2
	defer func() { in.indent -= 2 }()
	return in.withFrames(o, depth+1)
}

func (in *inspector) array(o *goja.Object, depth int, name string) string {
	n := o.Get("length").ToInteger()
	s := shape{open: "[", close: "]", array: true}
	if name != "Array" {
		s.name = fmt.Sprintf("%s(%d)", name, n)
	}
	i := int64(0)
	for ; i < n && len(s.items) < maxInspectItems; i++ {
		item := o.Get(strconv.FormatInt(i, 10))
		if item == nil {
			holes := i
			for i+1 < n && o.Get(strconv.FormatInt(i+1, 10)) == nil && i+1-holes < maxInspectKeyed {
				i++
			}
			s.items = append(s.items, "<"+words.Count(int(i+1-holes), "empty item")+">")
			continue
		}
		s.items = append(s.items, in.inner(item, depth))
	}
	if i < n {
		s.items = append(s.items, "... "+words.Count(int(n-i), "more item"))
	}
	return in.lay(s, depth)
}

// hexBytes formats bytes, and the number of omitted ones.
func hexBytes(name string, b []byte) string {
	text := fmt.Sprintf("<%s % x", name, b[:min(len(b), maxInspectBytes)])
	if len(b) > maxInspectBytes {
		text += " ... " + words.Count(len(b)-maxInspectBytes, "more byte")
	}
	return strings.TrimSuffix(text, " ") + ">"
}

func (in *inspector) entries(o *goja.Object, name, kind string, depth int, pairs bool) string {
	n := o.Get("size").ToInteger()
	s := shape{name: fmt.Sprintf("%s(%d)", name, n), open: "{", close: "}"}
	if name != kind {
		s.name += " [" + kind + "]"
	}
	in.r.vm.ForOf(o, func(item goja.Value) bool {
		if len(s.items) == maxInspectItems {
			s.items = append(s.items, "... "+words.Count(int(n-maxInspectItems), "more item"))
			return false
		}
		pair, ok := item.(*goja.Object)
		if pairs && ok {
			s.items = append(s.items, in.inner(pair.Get("0"), depth)+" => "+in.inner(pair.Get("1"), depth))
		} else {
			s.items = append(s.items, in.inner(item, depth))
		}
		return true
	})
	return in.lay(s, depth)
}

func (in *inspector) plain(o *goja.Object, name string, depth int) string {
	s := shape{name: name, open: "{", close: "}"}
	if name == "Object" {
		s.name = ""
	}
	s.items = in.fields(o, depth, nil)
	return in.lay(s, depth)
}

// keyed formats an object that has a text of its own, with its added properties.
func (in *inspector) keyed(o *goja.Object, s shape, depth int) string {
	s.items = in.fields(o, depth, nil)
	if len(s.items) == 0 {
		return s.name
	}
	s.open, s.close = "{", "}"
	return in.lay(s, depth)
}

// fields formats the own enumerable properties of o, except those that skip selects. It does not
// read accessors.
func (in *inspector) fields(o *goja.Object, depth int, skip func(string) bool) (fields []string) {
	list := in.r.callOrThrow(in.r.ownKeys, o).(*goja.Object)
	n := list.Get("length").ToInteger()
	for i := range n {
		if len(fields) == maxInspectItems {
			return append(fields, "... "+words.Count(int(n-i), "more key"))
		}
		key := list.Get(strconv.FormatInt(i, 10))
		pair, accessor := key.(*goja.Object)
		if accessor {
			key = pair.Get("0")
		}
		name := key.String()
		symbol, isSymbol := key.(*goja.Symbol)
		switch {
		case isSymbol:
			name = "[Symbol(" + name + ")]"
		case skip != nil && skip(name):
			continue
		case !plainKey().MatchString(name):
			name = quoteJS(name)
		}
		switch {
		case accessor:
			fields = append(fields, name+": ["+pair.Get("1").String()+"]")
		case isSymbol:
			fields = append(fields, name+": "+in.inner(o.GetSymbol(symbol), depth))
		default:
			fields = append(fields, name+": "+in.inner(o.Get(key.String()), depth))
		}
	}
	return fields
}
