// Package amend changes the syntax tree of a program where goja differs from other engines, or is
// too slow. It runs nothing: package jsrun has the functions that an amended program calls.
package amend

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// The names that amended programs call, parameters of the function around every script. Programs
// are unlikely to use these names themselves.
const (
	CaughtName = "$broker_caught"
	QueueName  = "$broker_queue"
	EvalName   = "$broker_eval"
	JoinName   = "$broker_join"
)

// An amender changes a program:
//
//   - s += x and s = s + x copy s: where s is text, a builder appends to it;
//   - \p{…} in a regular expression is spelled out;
//   - what a program catches is given the message and the trace that other engines
//     have, if it mentions either;
//   - an array that is a queue moves all of its elements (queue.go);
//   - a < b < c is read as a < (b < c) (chains.go);
//   - a name that other runtimes have and this one does not says what to use
//     instead, and typeof of it is "undefined".
type amender struct {
	text   map[unistring.String]bool // variables and properties that are initially strings
	bound  map[unistring.String]bool // names that the program binds itself
	absent map[string]bool           // withheld names that it uses
	needs  Needs
	err    error // of a regular expression
}

// Needs are the features of the runtime that a program needs and that would slow down other runs.
type Needs struct {
	Message, Stack bool // of errors
	Races          bool // Promise.race or Promise.any
	RegExp         bool // by name, or all matches of an expression that can match an empty string
	Queues         bool // it calls QueueName
}

func needsOf(src *script.Source) (n Needs) {
	n.RegExp = src.Names["eval"] || src.Names["Function"]
	split := strings.Contains(src.Code, "split")
	for i, t := range src.Tokens.List {
		text := src.Tokens.Text(i)
		switch strings.Trim(text, "\"'`") {
		case "message", "structuredClone":
			n.Message = true
		case "getOwnPropertyNames", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "ownKeys":
			n.Message, n.Stack = true, true
		case "stack":
			before := src.Tokens.Text(i - 1)
			n.Stack = n.Stack || t.Kind != script.Word || before == "." || before == "?." || before == "{" || before == ","
		case "race", "any":
			n.Races = true
		}
		if t.Kind == script.Regexp {
			end := max(strings.LastIndexByte(text, '/'), 1)
			n.RegExp = n.RegExp || (split || strings.ContainsAny(text[end:], "gy")) && CanBeEmpty(text[1:end], text[end:])
		}
	}
	return n
}

// Tree changes the tree of a program. The error, a *script.Refusal, is about a mistake that every
// engine rejects.
func Tree(t *script.Tree) (Needs, error) {
	a := amender{text: map[unistring.String]bool{}, bound: map[unistring.String]bool{}, absent: t.Absent(), needs: needsOf(t.Source)}
	q := newQueues()
	c := chains{root: t.Root, text: t.Text}
	before := script.Walk{Bound: func(target, initial ast.Expression) {
		if name, ok := target.(*ast.Identifier); ok {
			a.bound[name.Name] = true
		}
		if initial != nil && isText(initial) {
			a.text[nameIn(target)] = true
		}
		q.bind(target, initial)
	}, Visit: func(n ast.Node) bool {
		c.visit(n)
		q.visit(n)
		return true
	}}
	before.Statements(t.Root.Body)
	if !t.Names["eval"] {
		a.needs.Queues = q.change()
	}
	after := script.Walk{Leave: a.change}
	if a.needs.Message || a.needs.Stack {
		after.Caught = changeCaught
	}
	after.Statements(t.Root.Body)
	if a.err != nil {
		return Needs{}, &script.Refusal{Problems: []string{t.File + ": " + a.err.Error()}}
	}
	return a.needs, nil
}

// change amends one expression, after its children.
func (a *amender) change(slot *ast.Expression) {
	switch e := (*slot).(type) {
	case *ast.AssignExpression:
		a.changeAssignment(e)
	case *ast.CallExpression:
		a.changeEval(e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		a.changeEval(e.Callee, e.ArgumentList)
		if a.needs.Stack { // of an error that is not thrown
			*slot = script.CallOf(CaughtName, e, e)
		}
	case *ast.RegExpLiteral:
		pattern, err := SpellOut(e.Pattern, e.Flags)
		if err != nil {
			a.err = cmp.Or(a.err, fmt.Errorf("invalid regular expression %s: %w", e.Literal, err))
			return
		}
		e.Pattern = pattern
	case *ast.UnaryExpression:
		// change has amended the operand already.
		if c, ok := e.Operand.(*ast.CallExpression); ok && e.Operator == gojatoken.TYPEOF && isAbsent(c) {
			*slot = &ast.StringLiteral{Idx: e.Idx, Literal: `"undefined"`, Value: "undefined"}
		}
	case *ast.Identifier:
		a.needs.RegExp = a.needs.RegExp || e.Name == "RegExp" // esbuild writes it too
		if a.absent[e.Name.String()] && !a.bound[e.Name] {
			name := &ast.StringLiteral{Idx: e.Idx, Literal: e.Name.String(), Value: e.Name}
			*slot = script.CallOf(script.AbsentName, e, name)
		}
	}
}

// changeEval replaces eval(text) with eval($broker_eval(text)), and likewise the body for
// Function.
func (a *amender) changeEval(callee ast.Expression, args []ast.Expression) {
	name, ok := callee.(*ast.Identifier)
	if ok && len(args) > 0 && (name.Name == "eval" || name.Name == "Function") {
		last := &args[len(args)-1]
		*last = script.CallOf(EvalName, *last, *last)
	}
}

func isAbsent(c *ast.CallExpression) bool {
	name, ok := c.Callee.(*ast.Identifier)
	return ok && name.Name == script.AbsentName
}

// changeCaught replaces catch (e) { … } with catch (e) { $broker_caught(e); … }. A pattern
// destructures a variable with a name that no program can write.
func changeCaught(c *ast.CatchStatement) {
	name, ok := c.Parameter.(*ast.Identifier)
	if c.Parameter == nil {
		return
	}
	var first ast.Statement
	if ok {
		first = &ast.ExpressionStatement{Expression: script.CallOf(CaughtName, name, name)}
	} else {
		p := c.Parameter
		name = &ast.Identifier{Name: "caught value", Idx: p.Idx0()}
		c.Parameter = name
		first = &ast.LexicalDeclaration{
			Idx:   p.Idx0(),
			Token: gojatoken.LET,
			List:  []*ast.Binding{{Target: p, Initializer: script.CallOf(CaughtName, name, name)}},
		}
	}
	c.Body.List = append([]ast.Statement{first}, c.Body.List...)
}
