// Package script reads, checks and bundles programs in TypeScript and JavaScript, and defines
// their host functions. It runs nothing: package jsrun does that, and Node, which gets a Bundle.
//
// Read splits a program into tokens and makes one async function of it. Plain or Build parses
// that; Build first lets esbuild join it with the modules that it imports and remove the types.
// Every position in the program's own text is kept. Ask lets the caller check the program.
package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A Program is a program to read, check and bundle.
type Program = sandbox.Request

// Warm is a small program that uses everything: reading it makes later programs faster, because
// esbuild and goja build tables on first use.
var Warm = Program{
	Language: sandbox.TypeScript,
	Code: "import { ping } from './servers/warm';\n" +
		"const xs: number[] = await Promise.all([ping({ n: 1 }), warm.ping({ n: 2 })]);\n" +
		"console.log(JSON.stringify(xs), { a: new Map([[1, /x/]]) });\nreturn xs;",
	Modules: []sandbox.Module{{
		Path:    "servers/warm",
		Source:  "import { callMCPTool } from './helpers/callMCPTool';\nexport const ping = (input) => callMCPTool('warm', input);\n",
		Exports: []string{"ping"},
		Global:  "warm",
	}},
}

// A Tree is a parsed program with its modules. The value of the script is a function of the
// parameters that Read was given, which passes the program to $keep as an async function.
type Tree struct {
	*Source
	Root   *ast.Program
	Text   string               // the parsed text
	Main   *ast.FunctionLiteral // the program itself, or nil if it is not found
	shift  int                  // columns before the first line; 0 for a built script
	parsed sandbox.Parsed
}

// builtFile is the file name of a script that esbuild has built. Positions without a source
// mapping, in esbuild's own helpers, keep that name, and traces leave them out.
const builtFile = "broker-script.js"

const scriptTail = "\n})"

// Plain parses a program as it is, or returns nil if that needs esbuild. A program that does not
// parse may be newer than the parser, or wrong: esbuild lowers or explains it.
func (src *Source) Plain() *Tree {
	if !src.plain {
		return nil
	}
	start := src.head + src.before
	text := start + src.body + src.after + scriptTail
	root, err := parser.ParseFile(nil, src.File, text, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil
	}
	return src.tree(root, text, len(start))
}

// Build bundles a program and parses the result; mode allows the regular expressions of another
// engine. The error, a *Refusal, is for the agent.
func (src *Source) Build(mode parser.Mode) (*Tree, error) {
	out, err := src.buildAny()
	if err != nil {
		return nil, err
	}
	if src.built, err = out.sourceMap(src); err != nil {
		return nil, src.Unsupported(err)
	}
	text := src.head + "\n" + string(out.code) + scriptTail
	root, err := parser.ParseFile(nil, builtFile, text, mode, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, src.Unsupported(err)
	}
	root.File.SetSourceMap(src.built.consumer)
	return src.tree(root, text, 0), nil
}

// SourceMap returns the sources and the mappings of a built script, whose text begins a
// line before them, and the number of columns before the program's first line.
func (t *Tree) SourceMap() (sources []string, mappings string, before int) {
	sources, mappings = t.built.parts()
	return sources, mappings, t.built.before
}

// Asked reports whether the program determines its result by "export default".
func (t *Tree) Asked() bool { return t.asked }

// Unknown returns the names that the program uses and does not declare.
func (t *Tree) Unknown() []sandbox.FreeName { return t.parsed.Names }

func (src *Source) tree(root *ast.Program, text string, shift int) *Tree {
	t := &Tree{Source: src, Root: root, Text: text, Main: mainFunction(root), shift: shift}
	if t.Main != nil && src.Check != nil {
		t.parsed = surveyed(root, t.Main, src.offsets(root, text))
	}
	return t
}

// Column converts a column of goja to a column of the program's own text: in a script that is not
// built, goja counts bytes, including the text before the first line.
func (t *Tree) Column(line, column int) int {
	if t.shift == 0 {
		return t.built.column(line, column)
	}
	if line == 1 {
		column -= t.shift
	}
	return t.Lines.Column(line, column-1)
}

// Unsupported returns the error of code that esbuild accepts and goja does not.
func (src *Source) Unsupported(err error) error {
	message := err.Error()
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		if list[0].Message == "Invalid destructuring binding target" { // [a = [b = 1] = []]
			list[0].Message = "a default inside of an array that has a default itself"
		}
		message = src.File + ": " + list[0].Message
		if line, column, ok := src.built.origin(src.File, list[0].Position.Line, list[0].Position.Column); ok {
			message = fmt.Sprintf("%s:%d:%d: %s", src.File, line, column, list[0].Message)
		}
	}
	message = strings.TrimPrefix(message, "SyntaxError: ")
	return &Refusal{Problems: []string{message + "\nhint: this JavaScript engine does not know it; write it in another way"}}
}

// mainFunction returns the function that is passed to $keep.
func mainFunction(tree *ast.Program) *ast.FunctionLiteral {
	if len(tree.Body) != 1 {
		return nil
	}
	outer, ok := Expression(tree.Body[0]).(*ast.FunctionLiteral)
	if !ok {
		return nil
	}
	for _, s := range outer.Body.List {
		call, ok := Expression(s).(*ast.CallExpression)
		if !ok || len(call.ArgumentList) != 1 {
			continue
		}
		if name, ok := call.Callee.(*ast.Identifier); ok && name.Name == "$keep" {
			main, _ := call.ArgumentList[0].(*ast.FunctionLiteral)
			return main
		}
	}
	return nil
}

// withoutDirective drops the generated "use strict", which is for esbuild: the function around the
// script has its own.
func withoutDirective(list []ast.Statement) []ast.Statement {
	if len(list) > 0 {
		if t, ok := Expression(list[0]).(*ast.StringLiteral); ok && t.Value == "use strict" {
			return list[1:]
		}
	}
	return list
}

// Expression returns the expression of an expression statement, or nil.
func Expression(s ast.Statement) ast.Expression {
	if e, ok := s.(*ast.ExpressionStatement); ok {
		return e.Expression
	}
	return nil
}
