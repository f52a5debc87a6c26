package jsrun

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// How much of a value inspect shows.
const (
	maxInspectDepth = 4
	maxInspectItems = 100
	maxInspectLine  = 76 // an object that fits is written on one line
)

// inspect writes a value for people, much as console.log of Node does. Getters
// and proxies of the value run, and may throw.
func (r *runtime) inspect(v goja.Value) string {
	in := inspector{r: r}
	return in.value(v, 0)
}

// What goja says about the types that have no class name of their own.
var (
	promiseType = reflect.TypeFor[*goja.Promise]()
	proxyType   = reflect.TypeFor[goja.Proxy]()
)

type inspector struct {
	r    *runtime
	path []*goja.Object // the objects that enclose the one being written
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
			return "[Circular]"
		}
	}
	in.path = append(in.path, o)
	defer func() { in.path = in.path[:len(in.path)-1] }()
	return in.object(o, depth)
}

func (in *inspector) object(o *goja.Object, depth int) string {
	switch o.ExportType() {
	case promiseType:
		return in.promise(o.Export().(*goja.Promise), depth)
	case proxyType:
		if o.Export().(goja.Proxy).Target() == nil {
			return "[revoked Proxy]"
		}
	}
	class := o.ClassName()
	switch class {
	case "Function", "AsyncFunction", "GeneratorFunction":
		return in.function(o)
	case "Error":
		return in.failure(o, depth)
	case "RegExp":
		return o.String()
	case "Date":
		if date, ok := o.Export().(time.Time); ok {
			return date.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		return "Invalid Date"
	case "String", "Number", "Boolean":
		return "[" + class + ": " + in.value(in.r.vm.ToValue(o.String()), depth) + "]"
	}
	if depth >= maxInspectDepth {
		if class == "Array" {
			return "[Array]"
		}
		return "[" + in.constructor(o, class) + "]"
	}
	switch {
	case class == "Array":
		return in.array(o, depth, "")
	case in.r.vm.InstanceOf(o, in.r.mapClass):
		return in.entries(o, "Map", depth, true)
	case in.r.vm.InstanceOf(o, in.r.setClass):
		return in.entries(o, "Set", depth, false)
	}
	if name := in.constructor(o, class); strings.HasSuffix(name, "Array") && o.Get("BYTES_PER_ELEMENT") != nil {
		return in.array(o, depth, name)
	}
	return in.plain(o, in.constructor(o, class), depth)
}

// constructor is the name of o's class; "Object" for the usual and for none.
func (in *inspector) constructor(o *goja.Object, class string) string {
	if p := o.Prototype(); p != nil {
		if c, ok := p.Get("constructor").(*goja.Object); ok {
			return stringOr(c.Get("name"), class)
		}
	}
	return class
}

func (in *inspector) function(o *goja.Object) string {
	kind := "Function"
	if text := o.String(); strings.HasPrefix(text, "class") {
		kind = "class"
	}
	if name := stringOr(o.Get("name"), ""); name != "" {
		if kind == "class" {
			return "[class " + name + "]"
		}
		return "[" + kind + ": " + name + "]"
	}
	return "[" + kind + " (anonymous)]"
}

func (in *inspector) promise(p *goja.Promise, depth int) string {
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return "Promise { " + in.value(p.Result(), depth+1) + " }"
	case goja.PromiseStateRejected:
		return "Promise { <rejected> " + in.value(p.Result(), depth+1) + " }"
	}
	return "Promise { <pending> } (await is missing)"
}

// failure writes an error: on top with its frames, further in on one line.
func (in *inspector) failure(o *goja.Object, depth int) string {
	name, message := in.r.errorHead(o)
	text := name
	if message != "" {
		text += ": " + message
	}
	if depth > 0 {
		return "[" + text + "]"
	}
	if frames := in.r.cleanStack(o.Get("stack"), maxFrames, shortIndent); frames != "" {
		text += "\n" + frames
	}
	if fields := in.fields(o, depth); len(fields) > 0 {
		text += " " + wrap("{", fields, "}", depth)
	}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) {
		text += "\n  cause: " + in.value(cause, 1)
	}
	return text
}

func (in *inspector) array(o *goja.Object, depth int, name string) string {
	n := o.Get("length").ToInteger()
	if name != "" {
		name = fmt.Sprintf("%s(%d) ", name, n)
	}
	var items []string
	for i := range min(n, maxInspectItems) {
		item := o.Get(strconv.FormatInt(i, 10))
		if item == nil {
			items = append(items, "<empty>")
			continue
		}
		items = append(items, in.value(item, depth+1))
	}
	if n > maxInspectItems {
		items = append(items, fmt.Sprintf("... %d more items", n-maxInspectItems))
	}
	return name + wrap("[", items, "]", depth)
}

func (in *inspector) entries(o *goja.Object, name string, depth int, pairs bool) string {
	n := o.Get("size").ToInteger()
	var items []string
	in.r.vm.ForOf(o, func(item goja.Value) bool {
		if len(items) == maxInspectItems {
			items = append(items, fmt.Sprintf("... %d more items", n-maxInspectItems))
			return false
		}
		pair, ok := item.(*goja.Object)
		if pairs && ok {
			items = append(items, in.value(pair.Get("0"), depth+1)+" => "+in.value(pair.Get("1"), depth+1))
		} else {
			items = append(items, in.value(item, depth+1))
		}
		return true
	})
	return fmt.Sprintf("%s(%d) ", name, n) + wrap("{", items, "}", depth)
}

func (in *inspector) plain(o *goja.Object, class string, depth int) string {
	prefix := ""
	if class != "Object" {
		prefix = class + " "
	}
	return prefix + wrap("{", in.fields(o, depth), "}", depth)
}

func (in *inspector) fields(o *goja.Object, depth int) []string {
	keys := o.Keys()
	var fields []string
	for i, key := range keys {
		if i == maxInspectItems {
			fields = append(fields, fmt.Sprintf("... %d more keys", len(keys)-i))
			break
		}
		name := key
		if !tsname.IsIdentifier(key) {
			name = quoteJS(key)
		}
		fields = append(fields, name+": "+in.value(o.Get(key), depth+1))
	}
	return fields
}

// wrap puts the items on one line if they fit, else each on its own.
func wrap(open string, items []string, end string, depth int) string {
	if len(items) == 0 {
		return open + end
	}
	width, lines := 0, false
	for _, item := range items {
		width += utf8.RuneCountInString(item) + 2
		lines = lines || strings.Contains(item, "\n")
	}
	if !lines && width+2*depth <= maxInspectLine {
		return open + " " + strings.Join(items, ", ") + " " + end
	}
	indent := "\n" + strings.Repeat("  ", depth+1)
	return open + indent + strings.Join(items, ","+indent) + "\n" + strings.Repeat("  ", depth) + end
}

// quoteJS quotes a string with the quote that needs the fewest escapes.
func quoteJS(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote).Replace(s)
	return quote + escaped + quote
}

// table writes rows of objects, or of arrays, as columns.
func (r *runtime) table(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return r.inspect(v)
	}
	columns := []string{"(index)"}
	at := map[string]int{}
	var rows [][]string
	for _, key := range o.Keys() {
		if len(rows) == maxInspectItems {
			break
		}
		row := []string{key}
		set := func(column string, cell goja.Value) {
			if at[column] == 0 {
				at[column] = len(columns)
				columns = append(columns, column)
			}
			for len(row) <= at[column] {
				row = append(row, "")
			}
			in := inspector{r: r}
			row[at[column]] = in.value(cell, maxInspectDepth-1)
		}
		if item, ok := o.Get(key).(*goja.Object); ok {
			for _, k := range item.Keys() {
				set(k, item.Get(k))
			}
		} else {
			set("Values", o.Get(key))
		}
		rows = append(rows, row)
	}
	return columnsOf(append([][]string{columns}, rows...), len(columns))
}

func columnsOf(rows [][]string, n int) string {
	widths := make([]int, n)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = pad(cell, widths[j])
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return strings.Join(lines, "\n")
}
