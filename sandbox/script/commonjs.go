package script

import "strings"

// Programs for Node may export a function in its older module format, and check whether
// they are the main module.

// entryNames are the exports that represent the whole program.
var entryNames = set("default main run")

const noExports = "Node's module and exports do not exist here; end with return, or export default a function"

// commonJS rewrites module.exports = f to an export default, and require.main ===
// module to true.
func (w *rewriter) commonJS() {
	for i, t := range w.lex.List {
		switch {
		case t.Kind != Word || w.property(i):
		case t.Depth == 0 && w.startsStatement(i) && (w.lex.Text(i) == "exports" || w.lex.Text(i) == "module" && w.lex.Text(i+1) == "."):
			w.nodeExport(i)
		case w.lex.Text(i) == "require" || w.lex.Text(i) == "module":
			w.isMain(i)
		case t.Depth == 0 && w.lex.Text(i) == "Object" && w.startsStatement(i) && w.lex.Text(i+2) == "defineProperty" && w.lex.Text(i+4) == "exports":
			if end := w.lex.Closing(i + 3); end > 0 { // as compilers write it
				w.remove(i, end)
			}
		}
	}
}

// startsStatement reports whether a statement begins at token i, outside a condition.
func (w *rewriter) startsStatement(i int) bool {
	before := w.lex.Text(i - 1)
	if i == 0 || before == ";" || before == "}" {
		return true
	}
	between := w.lex.Src[w.lex.List[i-1].End:w.lex.List[i].Start]
	return strings.ContainsAny(between, "\n\r") && !w.lex.List[i-1].condition && w.lex.Kind(i-1) != Punct || before == ")" && strings.Contains(between, "\n") && !w.lex.List[i-1].condition
}

// nodeExport rewrites an assignment to module.exports, or to a part of it, at token i.
func (w *rewriter) nodeExport(i int) {
	at, part := i, ""
	for {
		if w.lex.Text(at) == "module" && w.lex.Text(at+1) == "." && w.lex.Text(at+2) == "exports" {
			at += 3
		} else if w.lex.Text(at) == "exports" {
			at++
		} else {
			return
		}
		if w.lex.Text(at) == "." && w.lex.Kind(at+1) == Word {
			part, at = w.lex.Text(at+1), at+2
		}
		if w.lex.Text(at) != "=" || w.lex.Text(at+1) == "=" {
			return
		}
		if next := w.lex.Text(at + 1); next != "module" && next != "exports" { // but not exports = module.exports = f
			break
		}
		at++
	}
	start, equals := w.lex.List[i].Start, w.lex.List[at].Start
	switch {
	case part == "__esModule":
		w.remove(i, at+1)
	case part != "" && !entryNames[part] || equals-start < len("var "+defaultName):
		w.src.refused = append(w.src.refused, w.src.Located(start, noExports))
	default:
		blank(w.body, start, equals)
		copy(w.body[start:], "var "+defaultName)
		w.returnAssigned(at + 1)
	}
}

// isMain rewrites require.main === module, and module === require.main.
func (w *rewriter) isMain(i int) {
	text := w.lex.Text
	at := i + 1
	if text(i) == "require" {
		if text(i+1) != "." || text(i+2) != "main" {
			return
		}
		at = i + 3
	}
	equals := 0
	for ; text(at) == "="; at++ {
		equals++
	}
	end := at
	if text(i) == "module" {
		if text(at) != "require" || text(at+1) != "." || text(at+2) != "main" {
			return
		}
		end = at + 2
	} else if text(at) != "module" {
		return
	}
	if equals == 2 || equals == 3 {
		start := w.lex.List[i].Start
		blank(w.body, start, w.lex.List[end].End)
		copy(w.body[start:], "true")
	}
}

// returnAssigned makes the value assigned to defaultName from token i on the program's
// result.
func (w *rewriter) returnAssigned(i int) {
	alone := i+1 == len(w.lex.List) || w.lex.Text(i+1) == ";" || i+1 < len(w.lex.List) && strings.ContainsAny(w.lex.Src[w.lex.List[i].End:w.lex.List[i+1].Start], "\n\r")
	if alone && w.lex.Kind(i) == Word && w.calledAtTop(w.lex.Text(i)) {
		return // it runs unchanged
	}
	w.returnDefault(defaultName)
	if w.lex.Text(i) == "{" {
		entry := strings.ReplaceAll("($.default??$.main??$.run)", "$.", defaultName+".")
		w.src.after = "\n;return typeof " + entry + "===\"function\"?" + entry + ".call(" + defaultName + "):" + defaultName + funcTail + ";"
	}
}

// calledAtTop reports whether the program itself calls a function, so that it must not
// be called again.
func (w *rewriter) calledAtTop(name string) bool {
	for i, t := range w.lex.List {
		if t.Depth == 0 && w.lex.Text(i) == name && w.lex.Text(i+1) == "(" && !w.property(i) && w.lex.Text(i-1) != "function" && w.lex.Text(i-1) != "*" {
			return true
		}
	}
	return false
}
