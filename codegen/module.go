package codegen

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Module is what a script runs when it imports a server: one thin function
// per tool, without types. Its shape is that of sandbox.Module.
type Module struct {
	// Path is the import path without "./": "servers/github".
	Path string
	// Source is JavaScript that is also TypeScript.
	Source string
	// Exports are the function names, in the order of the tools.
	Exports []string
	// Global is the namespace that is in scope without import.
	Global string
}

// RunModule returns the module that runs server s, with only those functions that
// are in only unless that is nil. It has the tool ids verbatim, so a call
// needs no lookup in the sandbox.
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

// ModulePath is the path under which scripts import server s.
func ModulePath(s *discovery.Server) string { return "servers/" + s.Folder }
