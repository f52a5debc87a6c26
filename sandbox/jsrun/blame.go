package jsrun

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

// What goja says of a value that is no object, or nothing to iterate over, does
// not name it. The place of the error does: a blame reads the program there. It
// returns "" if it cannot tell.
type blame func(r *runtime, o *goja.Object, value string) string

// spot returns the token of the program that an error of the engine was thrown at.
func (r *runtime) spot(o *goja.Object) (*scanner, int, bool) {
	p, ok := r.place(o)
	if !ok {
		return nil, 0, false
	}
	src := r.script.source
	offset, ok := src.lines.offset(p.line, p.column)
	if !ok {
		return nil, 0, false
	}
	return src.lexed, src.lexed.tokenAt(offset), true
}

// notObject is about a value that goja wanted an object of: one that was called,
// or stands right of in or instanceof, or was given to a built-in.
func notObject(r *runtime, o *goja.Object, value string) string {
	lex, at, ok := r.spot(o)
	if !ok {
		return ""
	}
	if i := lex.operator(at); i > 0 {
		return lex.wrongOperand(i, value)
	}
	// An operator between two literals has no place of its own: the place is that
	// of something before it.
	for i := at; i < len(lex.tokens); i++ {
		if lex.literal(i-1) && lex.literal(i+1) && unquoted(lex.text(i+1)) == value {
			if text := lex.wrongOperand(i, value); text != "" {
				return text
			}
		}
	}
	callee, made := r.callee(o)
	if callee == "" || !r.callable(callee) {
		return ""
	}
	if made {
		return fmt.Sprintf("Iterator value %s is not an entry object", value)
	}
	return callee + " called on non-object"
}

// operator returns where in or instanceof stands behind the operand that begins
// at i, or 0.
func (s *scanner) operator(i int) int {
	switch s.text(i) {
	case "(", "[", "{":
		if i = s.closing(i); i < 0 {
			return 0
		}
	}
	for i++; i < len(s.tokens); i++ {
		switch text := s.text(i); {
		case text == "in" || text == "instanceof":
			return i
		case text == "." || text == ")" || s.kind(i) == word && s.text(i-1) == ".":
		default:
			return 0
		}
	}
	return 0
}

func (s *scanner) literal(i int) bool {
	k := s.kind(i)
	return k == str || k == number || s.text(i) == "null"
}

func unquoted(text string) string {
	if len(text) > 1 && strings.ContainsRune("'\"`", rune(text[0])) {
		return text[1 : len(text)-1]
	}
	return text
}

// wrongOperand is what other engines say of a value right of the operator at i.
func (s *scanner) wrongOperand(i int, value string) string {
	switch s.text(i) {
	case "instanceof":
		return "Right-hand side of 'instanceof' is not an object"
	case "in":
		key := "a key"
		if s.literal(i - 1) {
			key = "'" + unquoted(s.text(i-1)) + "'"
		}
		return "Cannot use 'in' operator to search for " + key + " in " + value
	}
	return ""
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

// iterating are the built-ins that iterate over their first argument.
var iterating = map[string]bool{
	"Promise.all": true, "Promise.allSettled": true, "Promise.any": true, "Promise.race": true,
	"Object.fromEntries": true, "Object.groupBy": true, "Map.groupBy": true, "Array.from": true,
	"Map": true, "Set": true, "WeakMap": true, "WeakSet": true,
}

// notIterable is about undefined or null, or about a value that cannot be
// iterated over, which value says.
func notIterable(r *runtime, o *goja.Object, value string) string {
	lex, at, ok := r.spot(o)
	if !ok {
		return ""
	}
	if callee, _ := r.callee(o); callee != "" {
		return lex.notIterableCall(at, callee, value)
	}
	if lex.text(at-1) == "[" && lex.text(at+1) == "]" {
		at++
	}
	if before, next := lex.text(at-1), lex.text(at+1); before == "." && next == "=" && lex.text(at+2) != "=" && value == "" {
		return "Cannot set properties of undefined or null (setting '" + lex.text(at) + "')"
	}
	text, start := lex.member(lex.memberEnd(at))
	if text != "" && lex.iterates(start) {
		return text + " is not iterable"
	}
	return ""
}

// memberEnd returns the last token of the names and members that go on at i.
func (s *scanner) memberEnd(i int) int {
	for {
		switch next := s.text(i + 1); {
		case (next == "." || next == "?.") && s.kind(i+2) == word:
			i += 2
		case next == "[" && s.closing(i+1) > 0:
			i = s.closing(i + 1)
		default:
			return i
		}
	}
}

// notIterableCall is about a call, whose argument or result is to blame.
func (s *scanner) notIterableCall(at int, callee, value string) string {
	open := at
	for open < len(s.tokens) && s.text(open) != "(" {
		open++
	}
	if iterating[callee] {
		last := s.closing(open) - 1
		if s.text(last+1) == ")" && last > open {
			if text, start := s.member(last); text != "" && start == open+1 {
				return text + " is not iterable"
			}
		}
		if value == "" {
			value = "undefined or null"
		}
		return value + " is not iterable (cannot read property Symbol(Symbol.iterator))"
	}
	if _, start := s.member(open - 1); start >= 0 && s.iterates(start) && !strings.HasPrefix(callee, "Object.") {
		return callee + " is not a function or its return value is not iterable"
	}
	return ""
}

// iterates reports whether the expression that begins at i is iterated over.
func (s *scanner) iterates(i int) bool {
	if s.text(i-1) == "await" {
		i--
	}
	switch s.text(i - 1) {
	case "of", "...", "*": // for of, a spread, yield*
		return true
	case "=":
		return s.text(i-2) == "]"
	}
	return false
}

// notDestructured is about undefined or null that a pattern takes apart.
func notDestructured(r *runtime, o *goja.Object, _ string) string {
	if text := notIterable(r, o, ""); text != "" {
		return text // Object.fromEntries
	}
	lex, at, ok := r.spot(o)
	if !ok {
		return ""
	}
	text, start := lex.member(lex.memberEnd(at))
	if start < 0 {
		return ""
	}
	if lex.text(start-1) == "await" {
		start--
	}
	if text == "" || lex.text(start-1) != "=" || lex.text(start-2) != "}" {
		return ""
	}
	for i := lex.opening(start-2) + 1; i < start-2; i++ {
		switch lex.text(i) {
		case "{", "[", "": // it may be something within
			return ""
		}
	}
	return "Cannot destructure '" + text + "' as it is undefined or null."
}
