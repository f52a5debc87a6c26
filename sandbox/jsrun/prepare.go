package jsrun

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A script is a program ready to run. Its value is a function of
// ($keep, $call, $error, $broker_join, $broker_absent, $broker_float, $broker_caught,
// $broker_spread, $broker_list, $broker_queue) that gives $keep the program as an async function.
type script struct {
	program  *goja.Program
	file     string // what its frames are called
	shift    int    // columns that frames on the first line are off by
	regexes  bool   // it makes regular expressions while it runs
	implicit bool   // its value is that of its last expression, without return
	source   *source
	parsed   sandbox.Parsed    // if the program is to be checked
	reads    map[spot]readSite // likewise
}

// The function around every script: the program's modules find the bridge in
// its parameters, where no program can replace it.
const (
	scriptHead = `(function($keep,$call,$error,$broker_join,$broker_absent,$broker_float,$broker_caught,$broker_spread,$broker_list,$broker_queue){"use strict";`
	scriptTail = "\n})"
)

// builtFile is what a script that esbuild has built is called. Positions in it
// that the source map has nothing for, in esbuild's own helpers, keep that name,
// and traces leave them out.
const builtFile = "broker-script.js"

// prepare compiles a program. The error, a *refusal, is for the agent to read.
func prepare(p Program) (*script, error) {
	src, err := readProgram(&p)
	if err != nil {
		return nil, err
	}
	src.check = p.Check != nil
	if src.plain {
		text := scriptHead + src.head + src.body + src.tail + scriptTail
		if tree, err := parser.ParseFile(nil, src.file, text, 0, parser.WithDisableSourceMaps); err == nil {
			if s, err := src.compile(tree, text); err == nil {
				s.shift = len(scriptHead) + len(src.head)
				return s, nil
			}
		}
		// What goja cannot read may be newer than goja, or wrong: esbuild
		// lowers the one and explains the other.
	}
	out, err := src.buildAny(p)
	if err != nil {
		return nil, err
	}
	m, err := out.sourceMap(src)
	if err != nil {
		return nil, src.engineError(err)
	}
	tree, text, err := src.parseBuilt(scriptHead+"\n"+string(out.code)+scriptTail, m, 0)
	if err != nil {
		return nil, err
	}
	return src.compile(tree, text)
}

// parseBuilt reads the text of a script that esbuild has built, and returns it with
// its source map.
func (src *source) parseBuilt(text string, m sourceMap, mode parser.Mode) (*ast.Program, string, error) {
	text += "\n" + m.comment()
	tree, err := parser.ParseFile(nil, builtFile, text, mode, parser.WithSourceMapLoader(noSourceMaps))
	if err != nil {
		return nil, "", src.engineError(err)
	}
	return tree, text, nil
}

// readProgram reads the text of p, whose language it settles.
func readProgram(p *Program) (*source, error) {
	if p.Language == "" {
		p.Language = sandbox.TypeScript
	}
	if p.Language != sandbox.TypeScript && p.Language != sandbox.JavaScript {
		return nil, fmt.Errorf("language %q does not run here; use typescript or javascript\n0 tools called", p.Language)
	}
	return readSource(*p)
}

// buildAny builds p in its language, or in TypeScript if it is that under the
// wrong name.
func (src *source) buildAny(p Program) (built, error) {
	loader := api.LoaderTS
	if p.Language == sandbox.JavaScript {
		loader = api.LoaderJS
	}
	out, err := src.build(p, loader)
	if err != nil && loader == api.LoaderJS {
		if typed, failed := src.build(p, api.LoaderTS); failed == nil {
			return typed, nil
		}
	}
	return out, err
}

// noSourceMaps refuses every source map that is not inside of the text.
func noSourceMaps(string) ([]byte, error) {
	return nil, errors.New("source maps are not read from files")
}

// compile settles what the result of a whole script is, and compiles it.
func (src *source) compile(tree *ast.Program, text string) (*script, error) {
	s := &script{file: src.file, source: src, regexes: src.names["RegExp"] || src.hasClasses()}
	main := mainFunction(tree)
	if main != nil && src.check {
		s.parsed = surveyed(tree, main, src.places(tree, text))
		s.reads = readSites(tree, treePlace(tree))
	}
	if err := src.amend(tree, text); err != nil {
		return nil, err
	}
	if main != nil {
		main.Body.List = withoutDirective(main.Body.List)
	}
	if main != nil && !src.asked {
		s.implicit = finish(main.Body)
	}
	if main != nil {
		noteFloating(main.Body.List)
	}
	var err error
	if s.program, err = goja.CompileAST(tree, false); err != nil {
		return nil, src.engineError(err)
	}
	return s, nil
}

// engineError is about code that esbuild took and goja does not.
func (src *source) engineError(err error) error {
	message := err.Error()
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		if list[0].Message == "Invalid destructuring binding target" { // [a = [b = 1] = []]
			list[0].Message = "a default inside of an array that has a default itself"
		}
		message = src.file + ": " + list[0].Message
		if line, column, ok := src.built.origin(src.file, list[0].Position.Line, list[0].Position.Column); ok {
			message = fmt.Sprintf("%s:%d:%d: %s", src.file, line, column, list[0].Message)
		}
	}
	message = strings.TrimPrefix(message, "SyntaxError: ")
	return &refusal{problems: []string{message + "\nhint: this JavaScript engine does not know it; write it in another way"}}
}

// mainFunction finds the function that $keep gets.
func mainFunction(tree *ast.Program) *ast.FunctionLiteral {
	if len(tree.Body) != 1 {
		return nil
	}
	outer, ok := expression(tree.Body[0]).(*ast.FunctionLiteral)
	if !ok {
		return nil
	}
	for _, s := range outer.Body.List {
		call, ok := expression(s).(*ast.CallExpression)
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

// withoutDirective leaves out the "use strict" of our head. It is for esbuild:
// the function around the script says the same to goja.
func withoutDirective(list []ast.Statement) []ast.Statement {
	if len(list) > 0 {
		if t, ok := expression(list[0]).(*ast.StringLiteral); ok && t.Value == "use strict" {
			return list[1:]
		}
	}
	return list
}

func expression(s ast.Statement) ast.Expression {
	if e, ok := s.(*ast.ExpressionStatement); ok {
		return e.Expression
	}
	return nil
}
