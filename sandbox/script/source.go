package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A Source is a program prepared for parsing: its text becomes the body of an async function, so
// that await and return work at its top level. Every byte of body keeps its offset in the agent's
// text; removed text is blank.
type Source struct {
	Program
	File   string          // its name in positions
	Tokens *Tokens         // of the program, including its imports
	Names  map[string]bool // the identifiers that it uses; false for those bound by its imports
	Lines  Lines           // of Code

	head         string        // text before the program's function
	body         string        // of the same length as Code
	before       string        // text directly before body
	after        string        // text after body
	movedImports []movedImport // import declarations, which follow the function
	bundle       bool          // it imports modules, so it is more than one file
	plain        bool          // it needs no esbuild, if it can be parsed
	refused      []string      // messages about what cannot run
	built        sourceMap     // of the output of esbuild
	asked        bool          // after returns the default export, which is the result
}

// A movedImport import is a declaration in pieces, each with its offset in the text.
type movedImport struct {
	pieces []Token
}

// The head and the tail of every program; keep receives the function.
const (
	funcHead = "$keep(async function(){\"use strict\";"
	funcTail = "\n})"
)

// Read analyses p, and removes what cannot occur inside a function. The function around the whole
// script has the given parameters besides $keep, $call, $error, $broker_absent and $broker_float.
func Read(p Program, parameters ...string) (*Source, error) {
	if p.Language == "" {
		p.Language = sandbox.TypeScript
	}
	src := &Source{Program: p, File: "agent.ts", Lines: Lines{text: p.Code}, before: funcHead, after: funcTail + ";"}
	switch p.Language {
	case sandbox.TypeScript:
	case sandbox.JavaScript:
		src.File = "agent.js"
	default:
		return nil, fmt.Errorf("language %q does not run here; use typescript or javascript\n0 tools called", p.Language)
	}
	if name := sandbox.FileName(p.File); name != "" && name != builtFile {
		src.File = name
	}
	src.head = "(function(" + strings.Join(append([]string{"$keep", "$call", "$error", AbsentName, FloatName}, parameters...), ",") + `){"use strict";`
	text, err := programOf(p.Code)
	if err != nil {
		return nil, err
	}
	body := []byte(text)
	src.Tokens = Scan(text)
	if err := src.Tokens.tooDeep(); err != nil {
		return nil, err
	}
	src.plain = p.Language == sandbox.JavaScript
	w := rewriter{src: src, lex: src.Tokens, body: body}
	w.statements()
	w.commonJS()
	w.uses(p.Modules)
	src.Tokens.largeIntegers(func(offset int, message string) {
		src.refused = append(src.refused, src.Located(offset, message))
	})
	src.body = string(w.body)
	if len(src.refused) > 0 {
		return nil, &Refusal{Problems: src.refused}
	}
	return src, nil
}

// blank overwrites b[start:end] with spaces, except line ends.
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

// A rewriter blanks what a function cannot contain and records what it was.
type rewriter struct {
	src  *Source
	lex  *Tokens
	body []byte
}

// statements visits the imports and exports at the top level.
func (w *rewriter) statements() {
	for i := 0; i < len(w.lex.List); i++ {
		if t := w.lex.List[i]; t.Kind != Word || t.Depth != 0 || w.property(i) {
			continue
		}
		switch w.lex.Text(i) {
		case "import":
			i = w.importDeclaration(i)
		case "export":
			i = w.exportDeclaration(i)
		}
	}
}

// property reports whether the word at i is the name of a member.
func (w *rewriter) property(i int) bool {
	before := w.lex.Text(i - 1)
	return before == "." || before == "?." || before == "#"
}

// remove blanks the tokens from..to. A semicolon replaces them, so that the statements around them
// stay separate.
func (w *rewriter) remove(from, to int) {
	start := w.lex.List[from].Start
	blank(w.body, start, w.lex.List[to].End)
	w.body[start] = ';'
}

// importDeclaration moves the import at token i, and returns the last token that it
// read. An incomplete declaration stays, for esbuild to report.
func (w *rewriter) importDeclaration(i int) int {
	if next := w.lex.Text(i + 1); next == "(" || next == "." {
		return i
	}
	if w.lex.Text(i+2) == "=" && w.lex.Kind(i+1) == Word { // import x = require('…')
		copy(w.body[w.lex.List[i].Start:], "const ")
		return i + 2
	}
	for j := i + 1; j < len(w.lex.List); j++ {
		switch w.lex.Kind(j) {
		case Word:
			continue
		case String:
			if j > i+1 && w.lex.Text(j-1) != "from" {
				continue
			}
			w.src.movedImports = append(w.src.movedImports, movedImport{w.lex.List[i : j+1]})
			end := w.clauseEnd(j)
			w.remove(i, end)
			return end
		case Punct:
			if strings.Contains("{},*", w.lex.Text(j)) {
				continue
			}
		}
		return i
	}
	return i
}

// clauseEnd returns the last token of a declaration with the module name at token j:
// after import attributes and a semicolon.
func (w *rewriter) clauseEnd(j int) int {
	if next := w.lex.Text(j + 1); next == "with" || next == "assert" {
		if close := w.lex.Closing(j + 2); w.lex.Text(j+2) == "{" && close > 0 {
			j = close
		}
	}
	if w.lex.Text(j+1) == ";" {
		j++
	}
	return j
}

// exportDeclaration removes the "export" at token i from its declaration.
func (w *rewriter) exportDeclaration(i int) int {
	blankWord := func(i int) { blank(w.body, w.lex.List[i].Start, w.lex.List[i].End) }
	switch next := w.lex.Text(i + 1); next {
	case "default":
		return w.exportDefault(i)
	case "*", "{":
		return w.exportClause(i, i+1)
	case "type":
		if after := w.lex.Text(i + 2); after == "*" || after == "{" {
			return w.exportClause(i, i+2)
		}
	}
	blankWord(i)
	return i
}

// exportClause removes an export of names, or of another module, with its "{" or "*" at
// token j. "main as default" makes main the default export.
func (w *rewriter) exportClause(i, j int) int {
	end := j
	if w.lex.Text(j) == "{" {
		if end = w.lex.Closing(j); end < 0 {
			return i
		}
		for k := j + 2; k+1 < end; k++ {
			if w.lex.Text(k) == "as" && w.lex.Text(k+1) == "default" && w.lex.Kind(k-1) == Word {
				w.returnDefault(w.lex.Text(k - 1))
			}
		}
	}
	for k := end + 1; k < min(end+4, len(w.lex.List)); k++ {
		if w.lex.Kind(k) == String && w.lex.Text(k-1) == "from" {
			end = k
			break
		}
	}
	end = w.clauseEnd(end)
	w.remove(i, end)
	return end
}

// defaultName is the variable for a default export without a name. The two halves of "var $dflt ="
// have the lengths of "export" and "default".
const defaultName = "$dflt"

func (w *rewriter) exportDefault(i int) int {
	j := i + 2
	if w.lex.Text(j) == "async" && w.lex.Text(j+1) == "function" {
		j++
	}
	named := j + 1
	if w.lex.Text(named) == "*" {
		named++
	}
	exported, dflt := w.lex.List[i], w.lex.List[i+1]
	switch kind := w.lex.Text(j); {
	case (kind == "function" || kind == "class") && w.lex.Kind(named) == Word && w.lex.Text(named) != "extends":
		blank(w.body, exported.Start, dflt.End)
		if name := w.lex.Text(named); kind == "function" && !w.calledAtTop(name) {
			w.returnDefault(name)
		}
	case kind == "interface" || kind == "abstract":
		blank(w.body, exported.Start, dflt.End)
	default:
		copy(w.body[exported.Start:], "var   ")
		copy(w.body[dflt.Start:], defaultName+" =")
		w.returnAssigned(i + 2)
	}
	return i + 1
}

// returnDefault makes the default export the program's result; a function is called.
func (w *rewriter) returnDefault(name string) {
	w.src.after = "\n;return typeof " + name + "===\"function\"?" + name + "():" + name + funcTail + ";"
	w.src.asked = true
}

// uses records the identifiers of the program, and what they require.
func (w *rewriter) uses(modules []sandbox.Module) {
	w.src.Names = make(map[string]bool)
	for i, t := range w.lex.List {
		if t.Kind != Word || w.property(i) {
			continue
		}
		name, next := w.lex.Text(i), w.lex.Text(i+1)
		if before := w.lex.Text(i - 1); next == ":" && (before == "{" || before == ",") {
			continue // a key
		}
		w.src.Names[name] = true
		switch {
		case name == "import" && next == "(" && w.lex.Kind(i+2) != String && w.lex.Kind(i+2) != Template:
			w.src.refused = append(w.src.refused, w.src.Located(t.Start, computedImport))
		case name == "import" && next == "(" || name == "require" && next == "(" && w.lex.Kind(i+2) == String:
			w.src.bundle = true
		case name == "import":
			w.src.plain = false
		}
	}
	imported := w.imported()
	globals := slices.ContainsFunc(modules, func(m sandbox.Module) bool {
		return m.Global != "" && w.src.Names[m.Global] && !imported[m.Global]
	})
	for _, name := range slices.Sorted(maps.Keys(imported)) {
		w.src.Names[name] = false // bound by the program's own import
	}
	w.src.bundle = w.src.bundle || globals || len(w.src.movedImports) > 0
	w.src.plain = w.src.plain && !w.src.bundle
}

// imported returns the names that the program's imports bind.
func (w *rewriter) imported() map[string]bool {
	names := make(map[string]bool)
	for _, m := range w.src.movedImports {
		for i, t := range m.pieces {
			text := w.lex.Src[t.Start:t.End]
			renamed := i+1 < len(m.pieces) && w.lex.Src[m.pieces[i+1].Start:m.pieces[i+1].End] == "as"
			if t.Kind == Word && !renamed {
				names[text] = true
			}
		}
	}
	return names
}
