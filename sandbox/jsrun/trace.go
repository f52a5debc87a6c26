package jsrun

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// The frames of an error that are shown: to the agent, and in the stack property, where other
// engines also have ten.
const (
	maxFrames = 8
	maxTrace  = 10
)

// The indentation of a frame in these two texts.
const (
	shortIndent = "  "
	traceIndent = "    "
)

// frameLine matches a line of a trace as goja writes it, with the program counter at its end, or
// as this package does.
var frameLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s+at (?:(.*) \()?(.+?):(\d+):(\d+)(\(\d+\))?\)?$`)
})

// rawFrames separates the head of a trace by goja from its first frame. This package indents
// frames with spaces.
const rawFrames = "\n\tat "

// caught returns the value that a program has caught. An error gets the message and the trace of
// other engines, as far as the program mentions them.
func (r *runtime) caught(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		r.rewordMessage(o)
		if r.script.needs.Stack {
			r.cleanTrace(o)
		}
	}
	return v
}

// cleanTrace makes an error's stack property similar to other engines: the head, and the frames of
// the program with its own lines. goja creates the property on its first read, so an unread trace
// costs nothing.
func (r *runtime) cleanTrace(o *goja.Object) {
	stack := o.Get("stack")
	if stack == nil || !goja.IsString(stack) {
		return
	}
	text := stack.String()
	head, _, raw := strings.Cut(text, rawFrames)
	if !raw { // clean already, without a position, or set by the program
		head = strings.TrimSuffix(text, "\n")
	} else {
		head += r.cleanStack(text, maxTrace, traceIndent)
	}
	if head != text {
		r.redefine(o, "stack", head)
	}
}

// redefine changes the text of an error's own property, unless the error is frozen.
func (r *runtime) redefine(o *goja.Object, name, text string) {
	_ = o.DefineDataProperty(name, r.vm.ToValue(text), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// defineErrors defines the methods of Error that read messages and traces.
func (r *runtime) defineErrors() {
	class := r.classes["Error"]
	prototype := class.Get("prototype").(*goja.Object)
	r.defineValue(prototype, "toString", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		o, ok := c.This.(*goja.Object)
		if !ok {
			panic(r.failure("TypeError", "Error.prototype.toString requires that 'this' be a JSReceiver"))
		}
		return r.vm.ToValue(r.errorText(o))
	}))
	r.defineValue(class, "captureStackTrace", r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		o, ok := c.Argument(0).(*goja.Object)
		if !ok {
			panic(r.failure("TypeError", "Invalid argument"))
		}
		if o.ClassName() != "Error" { // an error has its own trace
			r.redefine(o, "stack", r.errorText(o)+r.frames(r.vm.CaptureCallStack(maxCallFrames, nil), maxTrace, traceIndent))
		}
		return goja.Undefined()
	}))
}

// errorText implements Error.prototype.toString.
func (r *runtime) errorText(o *goja.Object) string {
	if o.ClassName() == "Error" {
		r.rewordMessage(o)
	}
	return headline(stringOr(o.Get("name"), "Error"), stringOr(o.Get("message"), ""))
}

func headline(name, message string) string {
	if message == "" {
		return name
	}
	return name + ": " + message
}

// cleanStack returns the frames of the program in a trace, at most n, one per line.
func (r *runtime) cleanStack(stack string, n int, indent string) string {
	var frames strings.Builder
	for line := range strings.Lines(stack) {
		if frame := r.frame(strings.TrimRight(line, "\n")); frame != "" && n > 0 {
			frames.WriteString("\n" + indent + frame)
			n--
		}
	}
	return frames.String()
}

// frames returns the frames of a stack in the same form.
func (r *runtime) frames(stack []goja.StackFrame, n int, indent string) string {
	var text bytes.Buffer
	for i := range stack {
		text.WriteString("\tat ")
		stack[i].Write(&text)
		text.WriteByte('\n')
	}
	return r.cleanStack(text.String(), n, indent)
}

// frame returns one line of a trace in the program's own lines and columns, or "" for a frame
// outside the program and the code that it evaluates.
func (r *runtime) frame(text string) string {
	m := frameLine().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	function, file := m[1], m[2]
	line, _ := strconv.Atoi(m[3])
	column, _ := strconv.Atoi(m[4])
	switch {
	case file == r.script.File && m[5] != "": // as goja writes it
		column = r.script.Column(line, column)
	case file == r.script.File:
	case file == "<eval>" || file == "<anonymous>": // the names of the text of eval and new Function
		file = "<anonymous>"
		if function == "" {
			function = "eval"
		}
	default:
		return ""
	}
	if function == "" || function == "<anonymous>" {
		return fmt.Sprintf("at %s:%d:%d", file, line, column)
	}
	return fmt.Sprintf("at %s (%s:%d:%d)", function, file, line, column)
}
