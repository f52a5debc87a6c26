package codegen

import (
	"fmt"
	"iter"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A Module is the code that a script runs when it imports a server: one thin function per tool,
// without types. Its fields are those of sandbox.Module.
type Module struct {
	// Path is the import path without "./": "servers/github".
	Path string
	// Source is both JavaScript and TypeScript.
	Source string
	// Exports are the function names, in the order of the tools.
	Exports []string
	// Global is the namespace in scope without an import.
	Global string
}

// RunModule returns the module for server s, with only the functions in only unless that is nil.
// It contains the tool ids verbatim, so a call needs no lookup in the sandbox.
func RunModule(s *discovery.Server, only map[string]bool) Module {
	m := Module{Path: ModulePath(s), Global: s.Namespace}
	var b strings.Builder
	b.WriteString("import { callMCPTool } from './helpers/callMCPTool';\n")
	for _, t := range s.Tools {
		if only != nil && !only[t.Func] {
			continue
		}
		b.WriteString("export const " + t.Func + " = (input) => callMCPTool(" + quote(t.ID) + ", input);\n")
		m.Exports = append(m.Exports, t.Func)
	}
	m.Source = b.String()
	return m
}

// UnlistedModule returns the module of a server whose tools are unknown, for example
// because it is unreachable. It has a function for each word that a script may use as a
// tool; calling one fails with the server's problem.
func UnlistedModule(s *discovery.Server, words iter.Seq[string]) Module {
	m := Module{Path: ModulePath(s), Global: s.Namespace}
	var b strings.Builder
	b.WriteString("import { callMCPTool } from './helpers/callMCPTool';\n")
	for word := range words {
		if len(m.Exports) == maxGuessed || !tsname.IsIdentifier(word) || unguessed[word] {
			continue
		}
		// A reserved word cannot be the name of a constant, but it can be exported.
		fmt.Fprintf(&b, "const tool_%s = (input) => callMCPTool(%s, %s, input);\nexport { tool_%[1]s as %[1]s };\n", word, quote(s.Prefix), quote(word))
		m.Exports = append(m.Exports, word)
	}
	m.Source = b.String()
	return m
}

// unguessed are members that the language itself reads from objects.
var unguessed = map[string]bool{"default": true, "then": true, "toJSON": true, "toString": true, "valueOf": true, "constructor": true, "__proto__": true}

// maxGuessed bounds the functions of a module of unknown tools.
const maxGuessed = 2000

// ModulePath returns the path under which scripts import server s.
func ModulePath(s *discovery.Server) string { return "servers/" + s.Folder }
