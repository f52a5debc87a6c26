package script

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	jstoken "github.com/dop251/goja/token"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// maxSites bounds the reported calls, and the reported names, of one program.
const maxSites = 500

// A survey collects what is certain about a program from its text: its host calls with their
// arguments, and the names that it uses without a declaration. It follows names without scopes: a
// name that the program declares or assigns anywhere is not followed, so a reported name never
// means something else.
type survey struct {
	at      func(file.Idx) (int, bool) // the offset in the agent's text
	bridges map[string]bool            // names of callMCPTool
	wrapped map[string]string          // names of functions that pass their argument to callMCPTool, with the target
	outside map[string]bool            // names that modules declare
	bound   map[string]bool            // names that the program declares or assigns
	asked   map[string]bool            // names used with typeof
	called  map[string]file.Idx        // names that it calls, or whose members it calls
	used    map[string]file.Idx        // all names that it uses
	calls   []*ast.CallExpression
	parsed  sandbox.Parsed
}

// surveyed returns the survey of the program, the function main in the tree of a whole script.
func surveyed(tree *ast.Program, main *ast.FunctionLiteral, at func(file.Idx) (int, bool)) sandbox.Parsed {
	s := &survey{
		at:      at,
		bridges: map[string]bool{"callMCPTool": true},
		wrapped: make(map[string]string),
		outside: make(map[string]bool),
		bound:   make(map[string]bool),
		asked:   make(map[string]bool),
		called:  make(map[string]file.Idx),
		used:    make(map[string]file.Idx),
	}
	s.modules(tree, main)
	s.program(main)
	for _, c := range s.calls {
		if len(s.parsed.Calls) < maxSites {
			s.site(c)
		}
	}
	s.names()
	return s.parsed
}

// modules identifies the functions that modules declare.
func (s *survey) modules(tree *ast.Program, main *ast.FunctionLiteral) {
	functions := make(map[string]ast.Expression)
	s.outside["$keep"], s.outside["$call"], s.outside["$error"] = true, true, true
	w := Walk{Bound: func(target, value ast.Expression) {
		id, ok := target.(*ast.Identifier)
		if !ok {
			return
		}
		name := id.Name.String()
		s.outside[name] = true
		if from, ok := value.(*ast.Identifier); ok && from.Name == "$call" {
			s.bridges[name] = true
		} else if isFunction(value) {
			functions[name] = value
		}
	}, Visit: func(n ast.Node) bool { return n != ast.Node(main) }}
	w.Statements(tree.Body)
	for name, f := range functions {
		if target, ok := s.wraps(f); ok {
			s.wrapped[name] = target
		}
	}
}

// wraps recognizes a function that only makes one host call with its own argument.
func (s *survey) wraps(f ast.Expression) (target string, ok bool) {
	var params *ast.ParameterList
	var value ast.Expression
	onlyReturn := func(b *ast.BlockStatement) ast.Expression {
		if b == nil || len(b.List) != 1 {
			return nil
		}
		if r, ok := b.List[0].(*ast.ReturnStatement); ok {
			return r.Argument
		}
		return nil
	}
	switch f := f.(type) {
	case *ast.FunctionLiteral:
		params, value = f.ParameterList, onlyReturn(f.Body)
	case *ast.ArrowFunctionLiteral:
		params = f.ParameterList
		switch body := f.Body.(type) {
		case *ast.ExpressionBody:
			value = body.Expression
		case *ast.BlockStatement:
			value = onlyReturn(body)
		}
	}
	call, ok := value.(*ast.CallExpression)
	if !ok || params == nil || len(params.List) != 1 || params.Rest != nil || len(call.ArgumentList) != 2 {
		return "", false
	}
	callee, isName := call.Callee.(*ast.Identifier)
	id, isText := call.ArgumentList[0].(*ast.StringLiteral)
	input, passes := call.ArgumentList[1].(*ast.Identifier)
	param, plain := params.List[0].Target.(*ast.Identifier)
	if !isName || !isText || !passes || !plain || !s.bridges[callee.Name.String()] || input.Name != param.Name {
		return "", false
	}
	return id.Value.String(), true
}

// program reads the program's own part of the tree.
func (s *survey) program(main *ast.FunctionLiteral) {
	bind := func(i *ast.Identifier) { s.bound[i.Name.String()] = true }
	w := Walk{Bound: names(bind)}
	w.Visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			if name := n.Name.String(); s.used[name] == 0 {
				s.used[name] = n.Idx
			}
		case *ast.UnaryExpression:
			name, ok := n.Operand.(*ast.Identifier)
			if ok && n.Operator == jstoken.TYPEOF {
				s.asked[name.Name.String()] = true
			}
			if ok && (n.Operator == jstoken.INCREMENT || n.Operator == jstoken.DECREMENT) {
				bind(name)
			}
		case *ast.AssignExpression: // globalThis.name = … declares a name too
			if member, ok := n.Left.(*ast.DotExpression); ok {
				bind(&member.Identifier)
			}
			if member, ok := n.Left.(*ast.BracketExpression); ok {
				if name, ok := text(member.Member); ok {
					s.bound[name] = true
				}
			}
		case *ast.CallExpression:
			s.calls = append(s.calls, n)
			callee := withoutOptional(n.Callee)
			if member, ok := callee.(*ast.DotExpression); ok {
				callee = withoutOptional(member.Left)
			}
			if name, ok := callee.(*ast.Identifier); ok && s.called[name.Name.String()] == 0 {
				s.called[name.Name.String()] = name.Idx
			}
		}
		return true
	}
	w.block(main.Body)
}

// names returns a Bound function for Walk that passes the bound names to f.
func names(f func(*ast.Identifier)) func(target, _ ast.Expression) {
	return func(target, _ ast.Expression) {
		if name, ok := target.(*ast.Identifier); ok {
			f(name)
		}
	}
}

// withoutOptional removes the nodes for "?." around an expression.
func withoutOptional(e ast.Expression) ast.Expression {
	for {
		switch x := e.(type) {
		case *ast.OptionalChain:
			e = x.Expression
		case *ast.Optional:
			e = x.Expression
		default:
			return e
		}
	}
}

// site records a call if its host call is certain.
func (s *survey) site(c *ast.CallExpression) {
	callee, ok := withoutOptional(c.Callee).(*ast.Identifier)
	if !ok {
		return
	}
	name := callee.Name.String()
	if s.bound[name] {
		return
	}
	args := c.ArgumentList
	target, wrapper := s.wrapped[name]
	switch {
	case wrapper:
	case s.bridges[name]:
		if target, args, ok = rawTarget(args); !ok {
			return
		}
	default:
		return
	}
	offset, ok := s.at(callee.Idx)
	if !ok {
		return
	}
	input := sandbox.Literal{Kind: sandbox.LiteralUndefined, Offset: offset}
	if len(args) > 0 {
		input = s.literal(args[0], 0)
	}
	s.parsed.Calls = append(s.parsed.Calls, sandbox.CallSite{Target: target, Offset: offset, Input: input})
}

// rawTarget reads the target of a call of callMCPTool itself, like package jsrun at run time,
// and returns the arguments after it.
func rawTarget(args []ast.Expression) (target string, rest []ast.Expression, ok bool) {
	if len(args) == 0 {
		return "", nil, false
	}
	first, ok := text(args[0])
	if !ok || first == "" {
		return "", nil, false
	}
	if len(args) == 1 {
		return first, nil, true
	}
	if second, ok := text(args[1]); ok {
		return sandbox.JoinTarget(first, second), args[2:], true
	}
	switch args[1].(type) {
	case *ast.ObjectLiteral, *ast.NullLiteral:
		return first, args[1:], true
	}
	return "", nil, false // it may be the tool's name, or spread arguments
}

// text returns the string value of an expression, if it is constant.
func text(e ast.Expression) (string, bool) {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return e.Value.String(), true
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) == 0 && len(e.Elements) == 1 {
			return e.Elements[0].Parsed.String(), true
		}
	}
	return "", false
}

// names records undeclared names. Those of the runtime are removed later. A program that uses
// globalThis may declare names in ways that are not visible.
func (s *survey) names() {
	certain := s.used["globalThis"] == 0
	for name, idx := range s.used {
		if s.bound[name] || s.outside[name] || name == "undefined" || name == "arguments" {
			continue
		}
		if offset, ok := s.at(idx); ok {
			_, called := s.called[name]
			s.parsed.Names = append(s.parsed.Names, sandbox.FreeName{Name: name, Offset: offset, Called: called && certain && !s.asked[name]})
		}
	}
	slices.SortFunc(s.parsed.Names, func(a, b sandbox.FreeName) int { return a.Offset - b.Offset })
}

// offsets returns a function that maps positions in a parsed script to offsets in the agent's
// text.
func (src *Source) offsets(tree *ast.Program, text string) func(file.Idx) (int, bool) {
	if start := strings.Index(text, src.body); strings.HasPrefix(text, src.head+src.before) && start == len(src.head)+len(src.before) {
		return func(i file.Idx) (int, bool) { // not compiled: every byte is at its position
			offset := int(i) - tree.File.Base() - start
			return offset, 0 <= offset && offset <= len(src.Code)
		}
	}
	return func(i file.Idx) (int, bool) {
		p := tree.File.Position(int(i) - tree.File.Base())
		if p.Filename != src.File {
			return 0, false
		}
		return src.Lines.Offset(p.Line, src.built.column(p.Line, p.Column))
	}
}
