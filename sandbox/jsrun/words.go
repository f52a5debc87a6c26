package jsrun

import (
	"regexp"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// A wording is what goja says of a frequent mistake, and what models know of
// other engines. In say, $1 and so on are what the pattern has in parentheses.
type wording struct {
	class   string
	pattern *regexp.Regexp
	say     string
	// blame says it better where the text of the program tells more; it gets $1,
	// and returns "" if it cannot tell.
	blame func(r *runtime, o *goja.Object, value string) string
}

var wordings = sync.OnceValue(func() []wording {
	is := func(class, pattern, say string) wording {
		return wording{class, regexp.MustCompile("^(?:" + pattern + ")$"), say, nil}
	}
	at := func(w wording, blame func(*runtime, *goja.Object, string) string) wording {
		w.blame = blame
		return w
	}
	return []wording{
		// goja does not tell undefined from null.
		is("TypeError", `Cannot read property '(.*)' of undefined(?: or null)?`, "Cannot read properties of undefined or null (reading '$1')"),
		at(is("TypeError", `Object has no member '(.*)'`, "$1 is not a function"), notFunction),
		at(is("TypeError", `Value is not an object: (.*)`, "Value is not an object: $1"), notFunction),
		at(is("TypeError", `Value is not object coercible`, "Cannot destructure undefined or null"), nil),
		at(is("TypeError", `Cannot convert undefined or null to object`, "Cannot convert undefined or null to object"), notThere),
		at(is("TypeError", `(object) is not iterable`, "$1 is not iterable"), notThere),
		is("TypeError", `No initial value`, "Reduce of empty array with no initial value"),
		is("TypeError", `Cannot assign to read only property '(.*)'`, "Cannot assign to read only property '$1' of object '#<Object>'"),
		is("URIError", `Malformed URI`, "URI malformed"),
		is("AggregateError", ``, "All promises were rejected"), // of Promise.any
	}
})

// rewordMessage puts the message of an error of the engine's own into the words
// that other engines have for it.
func (r *runtime) rewordMessage(o *goja.Object) {
	class := stringOr(o.Get("name"), "")
	message := stringOr(o.Get("message"), "")
	for _, w := range wordings() {
		if w.class != class {
			continue
		}
		m := w.pattern.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		if s, ok := r.spot(o); ok && (s.text == class || strings.HasSuffix(s.before, class)) {
			return // the program made it, in words of its own
		}
		words := ""
		if w.blame != nil {
			words = w.blame(r, o, message)
		}
		if words == "" {
			words = string(w.pattern.ExpandString(nil, w.say, message, m))
		}
		if words != message {
			r.reword(o, message, words)
		}
		return
	}
}

// reword replaces the message, and what the trace has of it already.
func (r *runtime) reword(o *goja.Object, message, words string) {
	name := stringOr(o.Get("name"), "")
	before, after := message, words
	if message == "" { // Promise.any's, which is the one that has no place
		if _, ok := r.place(o); ok {
			return
		}
		before, after = name, name+": "+words
	}
	r.redefine(o, "message", words)
	if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
		if text := stack.String(); !strings.Contains(text, words) {
			r.redefine(o, "stack", strings.Replace(text, before, after, 1))
		}
	}
}

// notFunction is about a value that was called, if it was: goja says the same of the
// operands of in and instanceof, and of arguments.
func notFunction(r *runtime, o *goja.Object, message string) string {
	s, ok := r.spot(o)
	if !ok || !strings.HasPrefix(s.behind, "(") && !s.made || s.compares || r.callable(s.text) || nativeFrame(o) {
		return ""
	}
	if name, member := strings.CutPrefix(message, "Object has no member '"); member {
		object, own := strings.CutSuffix(strings.TrimRight(s.text, `'"]`), strings.TrimSuffix(name, "'"))
		if !own || !strings.ContainsAny(object[max(0, len(object)-1):], `.'"[`) {
			return ""
		}
	}
	if s.made {
		return s.text + " is not a constructor"
	}
	return s.text + " is not a function"
}

// nativeFrame reports whether a function of the engine has thrown an error, such as
// that of list.map(5).
func nativeFrame(o *goja.Object) bool {
	_, frames, _ := strings.Cut(o.Get("stack").String(), rawFrames)
	first, _, _ := strings.Cut(frames, "\n")
	return strings.HasSuffix(first, "(native)")
}

// notThere is about undefined or null, or about a value that cannot be iterated over.
func notThere(r *runtime, o *goja.Object, message string) string {
	s, ok := r.spot(o)
	switch dot := strings.LastIndexByte(s.text, '.'); {
	case !ok || strings.HasPrefix(s.behind, "("):
	case strings.HasSuffix(s.before, "of") || strings.HasSuffix(s.before, "...") || strings.HasSuffix(s.before, "yield*"):
		return s.text + " is not iterable"
	case dot > 0 && assigned().MatchString(s.behind) && !strings.Contains(message, "iterable"):
		return "Cannot set properties of undefined or null (setting '" + s.text[dot+1:] + "')"
	}
	return ""
}

var assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^=[^=>]`) })

// A spot is a name, with its members, that an error of the engine was thrown at,
// and the rest of its line.
type spot struct {
	text, before, behind string
	made                 bool // it is called with new
	compares             bool // in or instanceof stands on the line
}

// What is looked for on the line of an error.
var (
	memberPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[\pL_$][\pL\d_$]*(?:(?:\?\.|\.#?)[\pL_$][\pL\d_$]*|\[[^\[\]]*\])*`)
	})
	comparePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:in|instanceof)\b`) })
)

// maxMember is how long the text of an expression in a message may be.
const maxMember = 60

// spot finds the name that an error of the engine was thrown at. One that stands
// behind a call, or on a line before, is not known.
func (r *runtime) spot(o *goja.Object) (spot, bool) {
	p, ok := r.place(o)
	if !ok {
		return spot{}, false
	}
	line, at, ok := r.script.Lines.At(p.line, p.column)
	if !ok {
		return spot{}, false
	}
	for _, m := range memberPattern().FindAllStringIndex(line, -1) {
		start, end := m[0], m[1]
		text := line[start:end]
		if at > end || text == "new" || text == "await" {
			continue
		}
		if between := strings.TrimSpace(line[min(at, start):start]); between != "" && between != "new" && between != "await" {
			return spot{}, false
		}
		before := strings.TrimRight(line[:start], " ")
		before, made := strings.CutSuffix(before, "new")
		return spot{
			text: strings.ReplaceAll(text, "?.", "."), before: strings.TrimRight(before, " "), behind: strings.TrimLeft(line[end:], " "),
			made: made, compares: comparePattern().MatchString(line[end:]),
		}, !strings.HasSuffix(before, ".") && len(text) <= maxMember
	}
	return spot{}, false
}

// callable reports whether a name, with members, is that of a function among the
// globals.
func (r *runtime) callable(name string) bool {
	var v goja.Value = r.vm.GlobalObject()
	err := r.guard(func() {
		for part := range strings.SplitSeq(name, ".") {
			o, ok := v.(*goja.Object)
			if !ok {
				v = nil
				return
			}
			v = o.Get(part)
		}
	})
	o, ok := v.(*goja.Object)
	return err == nil && ok && callable(o)
}

// place is where in the program an error was thrown.
func (r *runtime) place(o *goja.Object) (framePlace, bool) {
	stack := o.Get("stack")
	if stack == nil || !goja.IsString(stack) {
		return framePlace{}, false
	}
	for line := range strings.Lines(stack.String()) {
		if p, ok := r.readFrame(strings.TrimRight(line, "\n")); ok && (p.file == r.script.File || p.file == evalFile) {
			return p, p.file == r.script.File
		}
	}
	return framePlace{}, false
}
