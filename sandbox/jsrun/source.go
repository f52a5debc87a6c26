package jsrun

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A source is a program made ready to be compiled: the text goes into one
// async function, so that await and return work at its top level. Every byte
// of body stands where it stood in the agent's text; what had to go is blank.
type source struct {
	file    string    // what positions call it
	text    string    // the agent's own
	lines   textLines // of text
	body    string    // as long as text
	head    string    // goes in front of body
	tail    string    // goes behind it
	lexed   *scanner
	moved   []moved         // import declarations, which go behind the function
	names   map[string]bool // the identifiers that it uses; false for those that its imports bind
	bundle  bool            // it reaches modules, so it takes more than one file
	plain   bool            // nothing in it needs esbuild, if goja can parse it
	refused []string        // what cannot run, worded
	check   bool            // what it says of its calls is wanted
	built   sourceMap       // of what esbuild made of it
	asked   bool            // tail returns what "export default" named: that is a result
}

// A moved import is a declaration in pieces, each with its place in the text.
type moved struct {
	pieces []token
}

// The head and the tail of every program; keep takes the function.
const (
	funcHead = "$keep(async function(){\"use strict\";"
	funcTail = "\n})"
)

// readSource finds out what kind of program the text is, and takes out of it
// what cannot stand inside a function.
func readSource(p Program) (*source, error) {
	src := &source{file: "agent.ts", text: p.Code, lines: textLines{text: p.Code}, head: funcHead, tail: funcTail + ";"}
	if p.Language == sandbox.JavaScript {
		src.file = "agent.js"
	}
	body := []byte(withoutFence(p.Code))
	src.lexed = scan(string(body))
	if err := src.lexed.tooDeep(); err != nil {
		return nil, err
	}
	src.plain = p.Language == sandbox.JavaScript
	w := rewriter{src: src, lex: src.lexed, body: body}
	w.statements()
	w.anonymousFunction()
	w.uses(p.Modules)
	src.body = string(w.body)
	if len(src.refused) > 0 {
		return nil, &refusal{src.refused}
	}
	return src, nil
}

// withoutFence blanks the lines of a Markdown fence around the whole program,
// and a byte order mark.
func withoutFence(code string) string {
	if strings.HasPrefix(code, "\ufeff") {
		code = "   " + code[len("\ufeff"):]
	}
	trimmed := strings.TrimSpace(code)
	if !strings.HasPrefix(trimmed, "```") {
		return code
	}
	start := strings.Index(code, "```")
	firstEnd := start + strings.IndexAny(code[start:]+"\n", "\n\r\u2028\u2029")
	if strings.ContainsAny(code[start+3:min(firstEnd, len(code))], "`;(){}") {
		return code // not a line that opens a fence
	}
	b := []byte(code)
	blank(b, start, min(firstEnd, len(code)))
	if last := strings.LastIndex(code, "```"); last > start && strings.HasSuffix(trimmed, "```") {
		blank(b, last, last+3)
	}
	return string(b)
}

// blank overwrites b[start:end] with spaces; lines stay.
func blank(b []byte, start, end int) {
	text := string(b[:end])
	for i := start; i < end; {
		n := lineBreak(text, i)
		if n == 0 {
			b[i] = ' '
		}
		i += max(n, 1)
	}
}

// A rewriter blanks what a function cannot hold and notes what it was.
type rewriter struct {
	src  *source
	lex  *scanner
	body []byte
	lead int // the first token behind what was removed at the start
}

// statements visits the imports and exports at the top level.
func (w *rewriter) statements() {
	for i := 0; i < len(w.lex.tokens); i++ {
		if t := w.lex.tokens[i]; t.kind != word || t.depth != 0 || w.property(i) {
			continue
		}
		switch w.lex.text(i) {
		case "import":
			i = w.importDeclaration(i)
		case "export":
			i = w.exportDeclaration(i)
		case "declare", "namespace", "module":
			i = w.namespace(i)
		}
	}
}

// property reports whether the word at i is the name of a member.
func (w *rewriter) property(i int) bool {
	before := w.lex.text(i - 1)
	return before == "." || before == "?." || before == "#"
}

// remove blanks the tokens from..to. A semicolon takes their place, so that
// the statements around them stay apart.
func (w *rewriter) remove(from, to int) {
	if from == w.lead {
		w.lead = to + 1
	}
	start := w.lex.tokens[from].start
	blank(w.body, start, w.lex.tokens[to].end)
	w.body[start] = ';'
}

// importDeclaration moves the import at token i, and returns the last token
// that it read. What is no complete declaration stays, for esbuild to report.
func (w *rewriter) importDeclaration(i int) int {
	if next := w.lex.text(i + 1); next == "(" || next == "." {
		return i
	}
	if w.lex.text(i+2) == "=" && w.lex.kind(i+1) == word { // import x = require('…')
		copy(w.body[w.lex.tokens[i].start:], "const ")
		return i + 2
	}
	for j := i + 1; j < len(w.lex.tokens); j++ {
		switch w.lex.kind(j) {
		case word:
			continue
		case str:
			if j > i+1 && w.lex.text(j-1) != "from" {
				continue
			}
			w.src.moved = append(w.src.moved, moved{w.lex.tokens[i : j+1]})
			end := w.clauseEnd(j)
			w.remove(i, end)
			return end
		case punct:
			if strings.Contains("{},*", w.lex.text(j)) {
				continue
			}
		}
		return i
	}
	return i
}

// clauseEnd returns the last token of a declaration whose module name is at
// token j: after import attributes and a semicolon.
func (w *rewriter) clauseEnd(j int) int {
	if next := w.lex.text(j + 1); next == "with" || next == "assert" {
		if close := w.lex.closing(j + 2); w.lex.text(j+2) == "{" && close > 0 {
			j = close
		}
	}
	if w.lex.text(j+1) == ";" {
		j++
	}
	return j
}

// exportDeclaration takes the "export" at token i away from what it exports.
func (w *rewriter) exportDeclaration(i int) int {
	blankWord := func(i int) { blank(w.body, w.lex.tokens[i].start, w.lex.tokens[i].end) }
	switch next := w.lex.text(i + 1); next {
	case "default":
		return w.exportDefault(i)
	case "*", "{":
		return w.exportClause(i, i+1)
	case "type":
		if after := w.lex.text(i + 2); after == "*" || after == "{" {
			return w.exportClause(i, i+2)
		}
	}
	blankWord(i)
	return i
}

// exportClause removes an export of names, or of another module, whose "{" or
// "*" is at token j. "main as default" makes main the default export.
func (w *rewriter) exportClause(i, j int) int {
	end := j
	if w.lex.text(j) == "{" {
		if end = w.lex.closing(j); end < 0 {
			return i
		}
		for k := j + 2; k+1 < end; k++ {
			if w.lex.text(k) == "as" && w.lex.text(k+1) == "default" && w.lex.kind(k-1) == word {
				w.returnDefault(w.lex.text(k - 1))
			}
		}
	}
	for k := end + 1; k < min(end+4, len(w.lex.tokens)); k++ {
		if w.lex.kind(k) == str && w.lex.text(k-1) == "from" {
			end = k
			break
		}
	}
	end = w.clauseEnd(end)
	w.remove(i, end)
	return end
}

// defaultName is the variable that holds what "export default" had no name
// for. The two halves of "var $dflt =" are as long as "export" and "default".
const defaultName = "$dflt"

func (w *rewriter) exportDefault(i int) int {
	j := i + 2
	if w.lex.text(j) == "async" && w.lex.text(j+1) == "function" {
		j++
	}
	named := j + 1
	if w.lex.text(named) == "*" {
		named++
	}
	exported, dflt := w.lex.tokens[i], w.lex.tokens[i+1]
	switch kind := w.lex.text(j); {
	case (kind == "function" || kind == "class") && w.lex.kind(named) == word && w.lex.text(named) != "extends":
		blank(w.body, exported.start, dflt.end)
		if kind == "function" {
			w.returnDefault(w.lex.text(named))
		}
	case kind == "interface" || kind == "abstract":
		blank(w.body, exported.start, dflt.end)
	default:
		copy(w.body[exported.start:], "var   ")
		copy(w.body[dflt.start:], defaultName+" =")
		w.returnDefault(defaultName)
	}
	return i + 1
}

// returnDefault makes the default export the program's result; a function is
// called for it.
func (w *rewriter) returnDefault(name string) {
	w.src.tail = "\n;return typeof " + name + "===\"function\"?" + name + "():" + name + funcTail + ";"
	w.src.asked = true
}

// anonymousFunction calls a program that is one function without a name, which
// could not stand as a statement.
func (w *rewriter) anonymousFunction() {
	tokens := w.lex.tokens
	i := w.lead
	for w.lex.text(i) == ";" {
		i++
	}
	start := i
	if w.lex.text(i) == "async" {
		i++
	}
	next := i + 1
	if w.lex.text(next) == "*" {
		next++
	}
	if w.lex.text(i) != "function" || w.lex.text(next) != "(" {
		return
	}
	last := len(tokens) - 1
	for last > i && w.lex.text(last) == ";" {
		w.body[tokens[last].start] = ' '
		last--
	}
	if w.lex.text(last) != "}" {
		return
	}
	for _, t := range tokens[:start] { // nothing may end the statement
		w.body[t.start] = ' '
	}
	w.src.head += "return ("
	w.src.tail = "\n)()" + w.src.tail
}

// uses notes the identifiers of the program, and from them what it needs.
func (w *rewriter) uses(modules []sandbox.Module) {
	w.src.names = make(map[string]bool)
	for i, t := range w.lex.tokens {
		if t.kind != word || w.property(i) {
			continue
		}
		name, next := w.lex.text(i), w.lex.text(i+1)
		if before := w.lex.text(i - 1); next == ":" && (before == "{" || before == ",") {
			continue // a key
		}
		w.src.names[name] = true
		switch {
		case name == "import" && next == "(" && w.lex.kind(i+2) != str && w.lex.kind(i+2) != template:
			w.src.refused = append(w.src.refused, w.src.located(t.start, computedImport))
		case name == "import" && next == "(" || name == "require" && next == "(" && w.lex.kind(i+2) == str:
			w.src.bundle = true
		case name == "import":
			w.src.plain = false
		}
	}
	imported := w.imported()
	globals := slices.ContainsFunc(modules, func(m sandbox.Module) bool {
		return m.Global != "" && w.src.names[m.Global] && !imported[m.Global]
	})
	for _, name := range sorted(imported) {
		w.src.names[name] = false // bound by the program's own import
	}
	w.src.bundle = w.src.bundle || globals || len(w.src.moved) > 0
	w.src.plain = w.src.plain && !w.src.bundle
}

// namespace refuses a namespace of TypeScript, which stands at the top level of a
// file only, and takes out what is declared to be elsewhere. It returns the last
// token that it read.
func (w *rewriter) namespace(i int) int {
	at, declared := i, w.lex.text(i) == "declare"
	if declared {
		at++
	}
	switch w.lex.text(at) {
	case "namespace", "module", "global":
	default:
		return i
	}
	open := at + 1
	for w.lex.kind(open) == word && !w.lex.tokens[open].newline || w.lex.text(open) == "." || w.lex.kind(open) == str && declared {
		open++
	}
	named := open > at+1 || declared && w.lex.text(at) == "global"
	if w.lex.text(open) != "{" || !named || w.lex.tokens[open].newline {
		return i
	}
	end := w.lex.closing(open)
	if end < 0 {
		return i
	}
	if !declared {
		w.src.refused = append(w.src.refused, w.src.located(w.lex.tokens[i].start, "namespaces are not supported here: use an object, or functions and constants of their own"))
	}
	w.remove(i, end)
	return end
}

// imported are the names that the program's imports bind.
func (w *rewriter) imported() map[string]bool {
	names := make(map[string]bool)
	for _, m := range w.src.moved {
		for i, t := range m.pieces {
			text := w.lex.src[t.start:t.end]
			renamed := i+1 < len(m.pieces) && w.lex.src[m.pieces[i+1].start:m.pieces[i+1].end] == "as"
			if t.kind == word && !renamed {
				names[text] = true
			}
		}
	}
	return names
}
