package jsrun

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"
)

const (
	stdout = 1
	stderr = 2
)

// defineConsole defines console. Methods without a meaning here, such as console.clear, do
// nothing.
func (r *runtime) defineConsole() {
	console := r.vm.NewObject()
	method := func(name string, f func(args []goja.Value)) {
		r.defineValue(console, name, r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			f(c.Arguments)
			return goja.Undefined()
		}))
	}
	for _, name := range []string{"log", "info", "debug"} {
		method(name, func(args []goja.Value) { r.print(stdout, r.format(args)) })
	}
	for _, name := range []string{"warn", "error"} {
		method(name, func(args []goja.Value) { r.print(stderr, r.format(args)) })
	}
	method("trace", func(args []goja.Value) {
		frames := r.frames(r.vm.CaptureCallStack(maxCallFrames, nil), maxFrames, shortIndent)
		r.print(stderr, strings.TrimRight("Trace: "+r.format(args), " ")+frames)
	})
	method("dir", func(args []goja.Value) { r.print(stdout, r.inspect(argument(args, 0))) })
	method("table", func(args []goja.Value) { r.print(stdout, r.table(argument(args, 0), argument(args, 1))) })
	method("assert", func(args []goja.Value) {
		if argument(args, 0).ToBoolean() {
			return
		}
		text := "Assertion failed"
		if len(args) > 1 {
			text += ": " + r.format(args[1:])
		}
		r.print(stderr, text)
	})
	method("group", func(args []goja.Value) {
		if len(args) > 0 {
			r.print(stdout, r.format(args))
		}
		r.groups++
	})
	method("groupEnd", func([]goja.Value) { r.groups = max(0, r.groups-1) })
	method("count", func(args []goja.Value) {
		name := label(args)
		r.counts[name]++
		r.print(stdout, fmt.Sprintf("%s: %d", name, r.counts[name]))
	})
	method("countReset", func(args []goja.Value) { delete(r.counts, label(args)) })
	r.defineClocks(method)
	method("clear", func([]goja.Value) {})
	_ = console.Set("groupCollapsed", console.Get("group"))
	r.defineValue(r.vm.GlobalObject(), "console", console)
}

func (r *runtime) defineClocks(method func(string, func([]goja.Value))) {
	method("time", func(args []goja.Value) { r.clocks[label(args)] = time.Now() })
	elapsed := func(args []goja.Value) {
		name := label(args)
		start, ok := r.clocks[name]
		if !ok {
			r.print(stderr, fmt.Sprintf("console.time has not been called for %q", name))
			return
		}
		text := fmt.Sprintf("%s: %.3fms", name, float64(time.Since(start).Microseconds())/1000)
		if len(args) > 1 {
			text += " " + r.format(args[1:])
		}
		r.print(stdout, text)
	}
	method("timeLog", elapsed)
	method("timeEnd", func(args []goja.Value) {
		elapsed(args)
		delete(r.clocks, label(args))
	})
	performance := r.vm.NewObject()
	r.defineValue(performance, "now", r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		return r.vm.ToValue(float64(r.tape.since(r.start).Microseconds()) / 1000)
	}))
	// It is computed on each read: a runtime may be set up before its run starts.
	origin := r.vm.ToValue(func(goja.FunctionCall) goja.Value {
		return r.vm.ToValue(float64(r.tape.origin(r.start).UnixMicro()) / 1000)
	})
	_ = performance.DefineAccessorProperty("timeOrigin", origin, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
	r.defineValue(r.vm.GlobalObject(), "performance", performance)
}

func argument(args []goja.Value, i int) goja.Value {
	if i < len(args) {
		return args[i]
	}
	return goja.Undefined()
}

func label(args []goja.Value) string {
	if v := argument(args, 0); !goja.IsUndefined(v) {
		return v.String()
	}
	return "default"
}

// print writes one or more lines with the indentation of the open groups.
func (r *runtime) print(stream int, text string) {
	if stream == stdout {
		r.printed = true
		if text == "undefined" && r.reads.last != nil {
			r.notePrinted()
		}
	}
	if r.groups > 0 {
		indent := strings.Repeat("  ", min(r.groups, 20))
		text = indent + strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	r.host.Output(stream, append([]byte(text), '\n'))
}

// format joins the arguments of console.log: strings as they are, other values inspected. A first
// string may contain the format verbs of Node.
func (r *runtime) format(args []goja.Value) string {
	var texts []string
	if len(args) > 1 && goja.IsString(args[0]) {
		var text string
		text, args = r.expand(args[0].String(), args[1:])
		texts = append(texts, text)
	}
	for _, a := range args {
		if goja.IsString(a) {
			texts = append(texts, a.String())
		} else {
			texts = append(texts, r.inspect(a))
		}
	}
	return strings.Join(texts, " ")
}

var verbs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[sdifjoOc%]`) })

// expand replaces the verbs of a format and returns the remaining arguments.
func (r *runtime) expand(format string, args []goja.Value) (string, []goja.Value) {
	text := verbs().ReplaceAllStringFunc(format, func(verb string) string {
		switch {
		case verb == "%%":
			return "%"
		case len(args) == 0:
			return verb
		}
		v := args[0]
		args = args[1:]
		return r.verb(verb[1], v)
	})
	return text, args
}

func (r *runtime) verb(verb byte, v goja.Value) string {
	switch verb {
	case 'c': // CSS, for browsers
		return ""
	case 'd', 'i', 'f':
		if goja.IsBigInt(v) || goja.IsString(v) && v.String() == "" {
			return v.String()
		}
		if _, symbol := v.(*goja.Symbol); symbol {
			return "NaN"
		}
		if verb == 'i' {
			if f := v.ToFloat(); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return strconv.FormatFloat(math.Trunc(f), 'f', -1, 64)
			}
			return "NaN"
		}
		return v.ToNumber().String()
	case 'j':
		text, err := r.toJSON(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	case 's':
		if _, object := v.(*goja.Object); !object {
			return v.String()
		}
	}
	return r.inspect(v)
}

// pad pads s to n characters.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
