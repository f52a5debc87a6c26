package find

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// withMore adds the advice how to get the omitted parameters to their count.
func withMore(signature string) string {
	at := strings.Index(signature, "/*+")
	if at < 0 {
		return signature
	}
	end := at + strings.Index(signature[at:], "*/")
	return signature[:end] + ": detail full" + signature[end:]
}

const (
	// anyResult is the result of a tool of which nothing is known.
	anyResult = ": any"
	// untypedLine is codegen.UntypedNote in few bytes.
	untypedLine = " // JSON or text"
)

// explainResult adds what a script gets from a tool of which nothing is known, and
// reports whether it did.
func (w renderer) explainResult(h *SearchHit, t *discovery.Tool) bool {
	if w.callsOnly || !w.types.Untyped(t) {
		return false
	}
	switch {
	case h.Declaration != "":
		h.Declaration += " // " + codegen.UntypedNote
	case h.Signature != "":
		call, marks := cutMarks(h.Signature)
		h.Signature = strings.TrimSuffix(call, anyResult) + anyResult + untypedLine + marks
	}
	return h.Declaration != "" || h.Signature != ""
}

// cutMarks splits a signature or a description before its marks.
func cutMarks(text string) (rest, marks string) {
	rest = strings.TrimSuffix(text, askMark)
	rest = strings.TrimSuffix(rest, writeMark)
	return rest, text[len(rest):]
}

// signature returns the call of the tool, on one line:
//
//	({owner;repo;number:number;page?}): Promise<{id:number}[]>
//
// It is part of every hit, so it omits what the name of the hit already contains: the
// namespace and the function, unless one of them differs from the name of the server or
// of the tool.
func (w renderer) signature(s *discovery.Server, t *discovery.Tool) string {
	line := w.line(s, t)
	call := "(" + line.Input + ")"
	if !w.callsOnly && (s.Namespace != tsname.Func(t.Server) || t.Func != tsname.Func(t.Name)) {
		call = s.Namespace + "." + t.Func + call
	}
	switch {
	case w.callsOnly:
	case line.Output != "":
		call += ": Promise<" + line.Output + ">"
	case line.Input == "":
		call += anyResult // "()" alone looks like a tool that gives nothing
	}
	if line.Note != "" && !w.callsOnly {
		call += " // " + line.Note
	}
	return clipBytes(call, maxSignatureBytes)
}
