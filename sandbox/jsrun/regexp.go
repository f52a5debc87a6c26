package jsrun

import (
	"iter"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// regexps is what a runtime knows of the regular expressions of its program.
type regexps struct {
	// By what is handed to the engine; nil until it is asked for.
	written map[string]writtenRegExp
	spelled map[writtenRegExp]string
}

// A writtenRegExp is a pattern as the program has it.
type writtenRegExp struct {
	pattern, flags string
}

// defineRegExp makes the constructor know the classes, too, and the methods what
// goja's do not. It is called for programs that need that.
func (r *runtime) defineRegExp() {
	r.defineValue(r.vm.GlobalObject(), "RegExp", r.load("regexp").Get("RegExp"))
}

// spellOut is the function spellOut for lib.
func (r *runtime) spellOut(c goja.FunctionCall) goja.Value {
	w := writtenRegExp{c.Argument(0).String(), c.Argument(1).String()}
	if !hasClass(w.pattern) && !strings.ContainsAny(w.flags, "vd") {
		return r.vm.ToValue(w.pattern)
	}
	r.readWritten()
	if spelled, ok := r.regexps.spelled[w]; ok {
		return r.vm.ToValue(spelled)
	}
	spelled, err := spellOut(w.pattern, w.flags)
	if err != nil {
		panic(r.failure("SyntaxError", "Invalid regular expression: /"+w.pattern+"/"+w.flags+": "+err.Error()))
	}
	r.noteWritten(w, spelled)
	return r.vm.ToValue(spelled)
}

// written is the function of lib that tells what the program wrote of a pattern
// that is spelled out.
func (r *runtime) written(c goja.FunctionCall) goja.Value {
	r.readWritten()
	w, ok := r.regexps.written[c.Argument(0).String()]
	if !ok {
		return goja.Undefined()
	}
	return r.vm.ToValue(w.pattern)
}

func (r *runtime) noteWritten(w writtenRegExp, spelled string) {
	r.regexps.spelled[w] = spelled
	r.regexps.written[spelled] = w
}

// readWritten notes the literals of the program, once.
func (r *runtime) readWritten() {
	if r.regexps.written != nil {
		return
	}
	r.regexps.written, r.regexps.spelled = make(map[string]writtenRegExp), make(map[writtenRegExp]string)
	for w := range r.script.regexps() {
		if spelled, err := spellOut(w.pattern, w.flags); err == nil && spelled != w.pattern {
			r.noteWritten(w, spelled)
		}
	}
}

// regexps are the regular expressions that stand in the program.
func (src *source) regexps() iter.Seq[writtenRegExp] {
	return func(yield func(writtenRegExp) bool) {
		for i, t := range src.Tokens.List {
			if t.Kind != script.Regexp {
				continue
			}
			text := src.Tokens.Text(i)
			end := strings.LastIndexByte(text, '/')
			if end > 0 && !yield(writtenRegExp{text[1:end], text[end+1:]}) {
				return
			}
		}
	}
}

// searchesEmpty reports whether the program may have a regular expression of which
// all matches are asked for, and which can match nothing.
func (src *source) searchesEmpty() bool {
	split := false
	for i := range src.Tokens.List {
		split = split || src.Tokens.Text(i) == "split"
	}
	for w := range src.regexps() {
		if (split || strings.ContainsAny(w.flags, "gy")) && canBeEmpty(w.pattern, w.flags) {
			return true
		}
	}
	return src.Names["eval"] || src.Names["Function"]
}

// canBeEmpty is the function canBeEmpty for lib, which asks for any flags.
func (r *runtime) canBeEmpty(c goja.FunctionCall) goja.Value {
	pattern := c.Argument(0).String()
	return r.vm.ToValue(canBeEmpty(pattern, "") || canBeEmpty(pattern, "u"))
}

// canBeEmpty reports whether a regular expression may match an empty text; true
// for one that only the engine can read.
func canBeEmpty(pattern, flags string) bool {
	plain, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return true
	}
	tree, err := syntax.Parse(plain, syntax.Perl)
	return err != nil || emptyMatches(tree)
}

func emptyMatches(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return tree.Min == 0 || emptyMatches(tree.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(tree.Sub, emptyMatches)
	}
	// A group, a sequence, what is repeated once at least; ^ and $ have nothing
	// below them.
	for _, sub := range tree.Sub {
		if !emptyMatches(sub) {
			return false
		}
	}
	return true
}
