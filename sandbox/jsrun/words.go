package jsrun

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// A wording is what goja says of a mistake, and what models know of other
// engines. In say, $1 and so on are what the pattern has in parentheses, and
// {callee} is the function that was called, as the program writes it; where that
// cannot be told, otherwise is said, or what goja says if that is empty. What blame
// says, given $1, comes before all that.
type wording struct {
	pattern        *regexp.Regexp
	say, otherwise string
	blame          blame
}

// wordings are by the class of the error.
var wordings = sync.OnceValue(func() map[string][]wording {
	is := func(pattern, say, otherwise string) wording {
		return wording{regexp.MustCompile("^(?:" + pattern + ")$"), say, otherwise, nil}
	}
	at := func(blame blame, pattern, say string) wording {
		w := is(pattern, say, "")
		w.blame = blame
		return w
	}
	return map[string][]wording{
		"TypeError": {
			is(`Cannot read property 'Symbol\.asyncIterator' of undefined(?: or null)?`, "undefined or null is not async iterable", ""),
			// goja does not tell the two apart.
			is(`Cannot read property '(.*)' of undefined(?: or null)?`, "Cannot read properties of undefined or null (reading '$1')", ""),
			is(`Object has no member '(.*)'`, "{callee} is not a function", "$1 is not a function"),
			at(notObject, `Value is not an object: (.*)`, "{callee} is not a function"),
			at(notDestructured, `Value is not object coercible`, "Cannot destructure undefined or null"),
			at(notIterable, `Cannot convert undefined or null to object`, "Cannot convert undefined or null to object"),
			at(notIterable, `(object) is not iterable`, "$1 is not iterable"),
			is(`Class constructor cannot be invoked without 'new'`, "Class constructor {callee} cannot be invoked without 'new'", ""),
			is(`No initial value`, "Reduce of empty array with no initial value", ""),
			is(`Cannot assign to read only property '(.*)'`, "Cannot assign to read only property '$1' of object '#<Object>'", ""),
			is(`Constructor Promise requires 'new'`, "Promise constructor cannot be invoked without 'new'", ""),
			is(`RegExp doesn't have global flag set`, "String.prototype.matchAll called with a non-global RegExp argument", ""),
		},
		"RangeError": {
			is(`toFixed\(\) precision (.*)`, "toFixed() digits argument $1", ""),
			is(`to(Exponential|Precision)\(\) precision (.*)`, "to$1() argument $2", ""),
			is(`Cannot convert (\S+) to a BigInt`, "The number $1 cannot be converted to a BigInt because it is not an integer", ""),
		},
		"ReferenceError": {
			is(`Must call super constructor in derived class before accessing 'this'`, "Must call super constructor in derived class before accessing 'this' or returning from derived constructor", ""),
		},
		"URIError":       {is(`Malformed URI`, "URI malformed", "")},
		"AggregateError": {is(``, "All promises were rejected", "")}, // of Promise.any
	}
})

// mendMessage puts the message of an error of the engine's own into the words
// that other engines have for it.
func (r *runtime) mendMessage(o *goja.Object) {
	list := wordings()[stringOr(o.Get("name"), "")]
	if len(list) == 0 {
		return
	}
	message := stringOr(o.Get("message"), "")
	for _, w := range list {
		if m := w.pattern.FindStringSubmatchIndex(message); m != nil {
			if r.ownError(o) {
				return
			}
			if words := r.words(o, w, message, m); words != message {
				r.reword(o, message, words)
			}
			return
		}
	}
}

// ownError reports whether the program made the error itself, with new or
// without: its words are the program's.
func (r *runtime) ownError(o *goja.Object) bool {
	p, ok := r.place(o)
	if !ok {
		return false
	}
	offset, ok := r.script.source.lines.offset(p.line, p.column)
	if !ok {
		return false
	}
	lex := r.script.source.lexed
	i := lex.tokenAt(offset)
	switch lex.text(i) {
	case "new":
		i++
	case "(":
		i--
	}
	return lex.text(i) == stringOr(o.Get("name"), "") && lex.text(i+1) == "("
}

// words is what w makes of the message that it matched at m.
func (r *runtime) words(o *goja.Object, w wording, message string, m []int) string {
	if w.blame != nil {
		value := ""
		if len(m) > 2 {
			value = message[m[2]:m[3]]
		}
		if text := w.blame(r, o, value); text != "" {
			return text
		}
	}
	say := w.say
	if strings.Contains(say, "{callee}") {
		callee, made := r.callee(o)
		switch {
		case callee == "" && w.otherwise == "":
			return message
		case callee == "":
			say = w.otherwise
		case made:
			say = strings.Replace(say, "is not a function", "is not a constructor", 1)
		}
		callee = strings.ReplaceAll(callee, "$", "$$")
		say = strings.Replace(say, "{callee}", callee, 1)
	}
	return string(w.pattern.ExpandString(nil, say, message, m))
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

// place is where in the program an error was thrown.
func (r *runtime) place(o *goja.Object) (framePlace, bool) {
	stack := o.Get("stack")
	if stack == nil || !goja.IsString(stack) {
		return framePlace{}, false
	}
	for line := range strings.Lines(stack.String()) {
		if p, ok := r.readFrame(strings.TrimRight(line, "\n")); ok && (p.file == r.script.file || p.file == evalFile) {
			return p, p.file == r.script.file
		}
	}
	return framePlace{}, false
}

// callee is the text of the function whose call threw an error; made says that
// it was called with new. It is empty if that cannot be told.
func (r *runtime) callee(o *goja.Object) (text string, made bool) {
	p, ok := r.place(o)
	if !ok {
		return "", false
	}
	src := r.script.source
	offset, ok := src.lines.offset(p.line, p.column)
	if !ok {
		return "", false
	}
	lex := src.lexed
	i := lex.tokenAt(offset)
	if lex.text(i) == "new" {
		made = true
		i++
	}
	// The place is that of the parenthesis, or of some part of what stands in
	// front of it.
	switch {
	case lex.text(i) == "(" && !made:
		return lex.memberText(i - 1), false
	case lex.text(i-1) == "[" && lex.text(i+1) == "]":
		i++
	}
	for lex.kind(i) == word || lex.text(i) == "]" {
		switch next := lex.text(i + 1); {
		case next == "(":
			return lex.memberText(i), made
		case (next == "." || next == "?.") && lex.kind(i+2) == word:
			i += 2
		case next == "[" && lex.closing(i+1) > 0:
			i = lex.closing(i + 1)
		case made:
			return lex.memberText(i), made
		default:
			return "", false
		}
	}
	return "", false
}

// tokenAt returns the token that an offset is in, or the next one behind it.
func (s *scanner) tokenAt(offset int) int {
	for i, t := range s.tokens {
		if offset < t.end {
			return i
		}
	}
	return len(s.tokens)
}

// maxMember is how long the text of an expression in a message may be.
const maxMember = 60

// memberText writes the expression of names and members that ends with the
// token at i, with what calls in it are given left out, as in
// "list(...).first.name". It is empty for any other expression.
func (s *scanner) memberText(i int) string {
	text, _ := s.member(i)
	return text
}

func (s *scanner) member(i int) (text string, start int) {
	for i >= 0 {
		switch t := s.text(i); {
		case s.kind(i) == word:
			text = t + text
		case t == ")" || t == "]":
			open := s.opening(i)
			if open <= 0 || s.kind(open-1) != word && s.text(open-1) != ")" && s.text(open-1) != "]" {
				return "", -1 // not a call and not a member
			}
			if t == ")" {
				text = "(...)" + text
			} else {
				text = s.src[s.tokens[open].start:s.tokens[i].end] + text
			}
			i = open - 1
			continue
		default:
			return "", -1
		}
		if before := s.text(i - 1); before == "." || before == "?." {
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
func (s *scanner) opening(i int) int {
	for j := i - 1; j >= 0; j-- {
		if s.tokens[j].depth <= s.tokens[i].depth && s.kind(j) == punct {
			switch s.text(j) {
			case "(", "[", "{":
				return j
			}
			return -1
		}
	}
	return -1
}
