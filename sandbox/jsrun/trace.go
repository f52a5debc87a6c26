package jsrun

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// How many frames of an error are shown: in what the agent reads of its own
// accord, and in the stack property, where other engines have ten as well.
const (
	maxFrames = 8
	maxTrace  = 10
)

// What stands in front of a frame, in the same two places.
const (
	shortIndent = "  "
	traceIndent = "    "
)

// evalFile is what goja calls the text of eval and new Function.
const evalFile = "<eval>"

// frameLine is one line of a trace as goja writes it, with the program counter
// at its end, or as we do.
var frameLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s+at (?:(.*) \()?(.+?):(\d+):(\d+)(\(\d+\))?\)?$`)
})

// rawFrames is what stands between the head of a trace that goja wrote and its
// first frame. Ours are indented by spaces.
const rawFrames = "\n\tat "

// caught returns what a program has caught. An error gets the message and the trace
// that other engines have, as far as the program mentions them.
func (r *runtime) caught(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		r.rewordMessage(o)
		if r.errorReads.stack {
			r.cleanTrace(o)
		}
	}
	return v
}

// cleanTrace makes an error's stack property what it is elsewhere: the head, and
// the frames of the program in its own lines. goja writes the property when it
// is first read, so an error whose trace nobody reads costs nothing.
func (r *runtime) cleanTrace(o *goja.Object) {
	stack := o.Get("stack")
	if stack == nil || !goja.IsString(stack) {
		return
	}
	text := stack.String()
	head, _, raw := strings.Cut(text, rawFrames)
	if !raw { // clean, or of no place, or the program's own
		head = strings.TrimSuffix(text, "\n")
	} else if frames := r.cleanStack(stack, maxTrace, traceIndent); frames != "" {
		head += "\n" + frames
	}
	if head != text {
		r.redefine(o, "stack", head)
	}
}

// redefine gives an error's own property another text; one that is frozen
// keeps what it has.
func (r *runtime) redefine(o *goja.Object, name, text string) {
	_ = o.DefineDataProperty(name, r.vm.ToValue(text), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// defineErrors defines what of Error reads messages and traces.
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
		if o.ClassName() != "Error" { // an error has its trace
			frames := r.frames(r.vm.CaptureCallStack(maxCallFrames, nil), maxTrace, traceIndent)
			r.redefine(o, "stack", r.errorText(o)+"\n"+frames)
		}
		return goja.Undefined()
	}))
}

// errorText is what Error.prototype.toString makes of an object.
func (r *runtime) errorText(o *goja.Object) string {
	if o.ClassName() == "Error" {
		r.rewordMessage(o)
	}
	text := func(name, otherwise string) string {
		if v := o.Get(name); v != nil && !goja.IsUndefined(v) {
			return v.String()
		}
		return otherwise
	}
	name, message := text("name", "Error"), text("message", "")
	switch {
	case name == "":
		return message
	case message == "":
		return name
	}
	return name + ": " + message
}

// cleanStack keeps of a stack property the frames of the program, at most n.
func (r *runtime) cleanStack(stack goja.Value, n int, indent string) string {
	if stack == nil || !goja.IsString(stack) {
		return ""
	}
	var frames []string
	for line := range strings.Lines(stack.String()) {
		if len(frames) == n {
			break
		}
		p, ok := r.readFrame(strings.TrimRight(line, "\n"))
		if !ok {
			continue
		}
		if f := p.write(r.script.File, indent); f != "" {
			frames = append(frames, f)
		}
	}
	return strings.Join(frames, "\n")
}

// A framePlace is where a frame is, in the program's own lines and columns.
type framePlace struct {
	function, file string
	line, column   int
}

// readFrame reads one line of a trace.
func (r *runtime) readFrame(line string) (framePlace, bool) {
	m := frameLine().FindStringSubmatch(line)
	if m == nil {
		return framePlace{}, false
	}
	p := framePlace{function: m[1], file: m[2]}
	p.line, _ = strconv.Atoi(m[3])
	p.column, _ = strconv.Atoi(m[4])
	if p.file == "<anonymous>" { // as we write it
		p.file = evalFile
	}
	if m[5] != "" { // as goja wrote it
		p = r.shifted(p)
	}
	return p, true
}

// shifted makes the program's own place of one that goja gives.
func (r *runtime) shifted(p framePlace) framePlace {
	if p.file == r.script.File {
		p.column = r.script.Column(p.line, p.column)
	}
	return p
}

// frames writes the frames of the program among those of a stack, at most n.
func (r *runtime) frames(stack []goja.StackFrame, n int, indent string) string {
	var frames []string
	for _, f := range stack {
		if len(frames) == n {
			break
		}
		p := f.Position()
		place := r.shifted(framePlace{f.FuncName(), p.Filename, p.Line, p.Column})
		if s := place.write(r.script.File, indent); s != "" {
			frames = append(frames, s)
		}
	}
	return strings.Join(frames, "\n")
}

// write writes one frame; it is empty for one that is not of the program, which
// is called own, nor of what that made while it ran.
func (p framePlace) write(own, indent string) string {
	name := p.file
	switch p.file {
	case own:
	case evalFile:
		name = "<anonymous>"
		if p.function == "" {
			p.function = "eval"
		}
	default:
		return ""
	}
	if p.function == "" || p.function == "<anonymous>" {
		return fmt.Sprintf("%sat %s:%d:%d", indent, name, p.line, p.column)
	}
	return fmt.Sprintf("%sat %s (%s:%d:%d)", indent, p.function, name, p.line, p.column)
}
