package jsrun

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
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
		if lex, at, ok := r.spot(o); ok && slices.Contains([]string{lex.Text(at - 1), lex.Text(at), lex.Text(at + 1)}, class) {
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

// notFunction is about a value that was called, if it was.
func notFunction(r *runtime, o *goja.Object, _ string) string {
	lex, at, ok := r.spot(o)
	if !ok {
		return ""
	}
	callee, made := lex.callee(at)
	if callee == "" || r.callable(callee) || lex.operatorNear(at) {
		return "" // goja says the same of the operands of in and instanceof, and of arguments
	}
	if made {
		return callee + " is not a constructor"
	}
	return callee + " is not a function"
}

// A scanner looks for expressions among the tokens of a program.
type scanner struct{ *script.Tokens }

// operatorNear reports whether in or instanceof stands in the statement behind a token.
func (s scanner) operatorNear(i int) bool {
	for ; i < len(s.List); i++ {
		switch s.Text(i) {
		case "in", "instanceof":
			return true
		case ";":
			return false
		}
		if s.List[i].Newline {
			return false
		}
	}
	return false
}

// callable reports whether a name, with members, is that of a function among the
// globals.
func (r *runtime) callable(name string) bool {
	found := false
	err := r.guard(func() {
		var v goja.Value = r.vm.GlobalObject()
		for part := range strings.SplitSeq(name, ".") {
			o, ok := v.(*goja.Object)
			if !ok {
				return
			}
			v = o.Get(part)
		}
		o, ok := v.(*goja.Object)
		found = ok && callable(o)
	})
	return err == nil && found
}

// notThere is about undefined or null, or about a value that cannot be iterated over.
func notThere(r *runtime, o *goja.Object, message string) string {
	lex, at, ok := r.spot(o)
	if !ok {
		return ""
	}
	if lex.Text(at-1) == "." && lex.Text(at+1) == "=" && !strings.Contains(message, "iterable") {
		return "Cannot set properties of undefined or null (setting '" + lex.Text(at) + "')"
	}
	text, start := lex.member(lex.memberEnd(at))
	if start > 0 && lex.Text(start-1) == "await" {
		start--
	}
	if text != "" && slices.Contains([]string{"of", "...", "*"}, lex.Text(start-1)) { // for of, a spread, yield*
		return text + " is not iterable"
	}
	return ""
}

// memberEnd returns the last token of the names and members that go on at i.
func (s scanner) memberEnd(i int) int {
	for {
		switch next := s.Text(i + 1); {
		case (next == "." || next == "?.") && s.Kind(i+2) == script.Word:
			i += 2
		case next == "[" && s.Closing(i+1) > 0:
			i = s.Closing(i + 1)
		default:
			return i
		}
	}
}

// spot returns the token of the program that an error of the engine was thrown at.
func (r *runtime) spot(o *goja.Object) (scanner, int, bool) {
	p, ok := r.place(o)
	if !ok {
		return scanner{}, 0, false
	}
	src := r.script
	offset, ok := src.Lines.Offset(p.line, p.column)
	if !ok {
		return scanner{}, 0, false
	}
	lex := scanner{src.Tokens}
	return lex, lex.tokenAt(offset), true
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

// callee is the text of the function whose call at token i threw an error; made says
// that it was called with new. It is empty if that cannot be told.
func (s scanner) callee(i int) (text string, made bool) {
	if s.Text(i) == "new" {
		made = true
		i++
	}
	// The place is that of the parenthesis, or of some part of what stands in
	// front of it.
	switch {
	case s.Text(i) == "(" && !made:
		return s.memberText(i - 1), false
	case s.Text(i-1) == "[" && s.Text(i+1) == "]":
		i++
	}
	for s.Kind(i) == script.Word || s.Text(i) == "]" {
		switch next := s.Text(i + 1); {
		case next == "(":
			return s.memberText(i), made
		case (next == "." || next == "?.") && s.Kind(i+2) == script.Word:
			i += 2
		case next == "[" && s.Closing(i+1) > 0:
			i = s.Closing(i + 1)
		case made:
			return s.memberText(i), made
		default:
			return "", false
		}
	}
	return "", false
}

// tokenAt returns the token that an offset is in, or the next one behind it.
func (s scanner) tokenAt(offset int) int {
	for i, t := range s.List {
		if offset < t.End {
			return i
		}
	}
	return len(s.List)
}

// maxMember is how long the text of an expression in a message may be.
const maxMember = 60

// memberText writes the expression of names and members that ends with the
// token at i, with what calls in it are given left out, as in
// "list(...).first.name". It is empty for any other expression.
func (s scanner) memberText(i int) string {
	text, _ := s.member(i)
	return text
}

func (s scanner) member(i int) (text string, start int) {
	for i >= 0 {
		switch t := s.Text(i); {
		case s.Kind(i) == script.Word:
			text = t + text
		case t == ")" || t == "]":
			open := s.opening(i)
			if open <= 0 || s.Kind(open-1) != script.Word && s.Text(open-1) != ")" && s.Text(open-1) != "]" {
				return "", -1 // not a call and not a member
			}
			if t == ")" {
				text = "(...)" + text
			} else {
				text = s.Src[s.List[open].Start:s.List[i].End] + text
			}
			i = open - 1
			continue
		default:
			return "", -1
		}
		if before := s.Text(i - 1); before == "." || before == "?." {
			text = before + text
			i -= 2
			continue
		}
		break
	}
	text = strings.ReplaceAll(text, "?.", ".")
	if utf8.RuneCountInString(text) > maxMember || strings.ContainsAny(text, "\n\r") {
		return "", -1
	}
	return text, i
}

// opening returns the index of the bracket that the one at i closes, or -1.
func (s scanner) opening(i int) int {
	for j := i - 1; j >= 0; j-- {
		if s.List[j].Depth <= s.List[i].Depth && s.Kind(j) == script.Punct {
			switch s.Text(j) {
			case "(", "[", "{":
				return j
			}
			return -1
		}
	}
	return -1
}
