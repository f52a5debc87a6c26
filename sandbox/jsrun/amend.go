package jsrun

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// The names of what amended programs call, parameters of the function around
// every script. No program is likely to have them, and would hide them.
const (
	absentName = "$broker_absent" // of package script
	caughtName = "$broker_caught"
	queueName  = "$broker_queue"
	evalName   = "$broker_eval"
	joinName   = "$broker_join"
)

// An amender changes what goja does otherwise than other engines, or so slowly
// that it matters, in the syntax tree of a program:
//
//   - s += x and s = s + x copy s: where s is text, a builder appends to it;
//   - \p{…} in a regular expression is spelled out;
//   - what a program catches is given the message and the trace that other engines
//     have, if it mentions either (trace.go and words.go);
//   - an array that is a queue moves all of its elements (queue.go);
//   - a < b < c is read as a < (b < c) (chains.go);
//   - a name that other runtimes have and this one does not says what to use
//     instead, and typeof of it is "undefined".
type amender struct {
	text    map[unistring.String]bool // variables and properties that begin as text
	bound   map[unistring.String]bool // names that the program binds itself
	absent  map[string]bool           // withheld names that it uses
	needs   needs
	regexps bool  // whether the program has the name RegExp
	err     error // of a regular expression
}

// needs are what a program's text asks for of the runtime: it would cost every run
// that does not.
type needs struct {
	message, stack bool // of errors
	races          bool // Promise.race or Promise.any
	empty          bool // all matches of a regular expression that can match nothing
}

func needsOf(src *script.Source) (n needs) {
	n.empty = src.Names["eval"] || src.Names["Function"]
	split := strings.Contains(src.Code, "split")
	for i, t := range src.Tokens.List {
		text := src.Tokens.Text(i)
		switch strings.Trim(text, "\"'`") {
		case "message", "structuredClone":
			n.message = true
		case "getOwnPropertyNames", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "ownKeys":
			n.message, n.stack = true, true
		case "stack":
			before := src.Tokens.Text(i - 1)
			n.stack = n.stack || t.Kind != script.Word || before == "." || before == "?." || before == "{" || before == ","
		case "race", "any":
			n.races = true
		}
		if t.Kind == script.Regexp {
			end := max(strings.LastIndexByte(text, '/'), 1)
			n.empty = n.empty || (split || strings.ContainsAny(text[end:], "gy")) && canBeEmpty(text[1:end], text[end:])
		}
	}
	return n
}

// amend does so to the tree, and notes what the program needs of lib. The error is
// about what no engine would take.
func (src *prepared) amend() error {
	a := amender{text: map[unistring.String]bool{}, bound: map[unistring.String]bool{}, absent: src.Absent(), needs: src.needs}
	q := newQueues()
	c := chains{root: src.Root, text: src.Text}
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
	before.Statements(src.Root.Body)
	if !src.Names["eval"] {
		src.queues = q.change()
	}
	after := script.Walk{Leave: a.change}
	if a.needs.message || a.needs.stack {
		after.Caught = changeCaught
	}
	after.Statements(src.Root.Body)
	if a.err != nil {
		return &script.Refusal{Problems: []string{src.File + ": " + a.err.Error()}}
	}
	src.regexps = a.regexps
	return nil
}

// change amends one expression; those below it are.
func (a *amender) change(slot *ast.Expression) {
	switch e := (*slot).(type) {
	case *ast.AssignExpression:
		a.changeAssignment(e)
	case *ast.CallExpression:
		a.changeEval(e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		a.changeEval(e.Callee, e.ArgumentList)
		if a.needs.stack { // of an error that is not thrown
			*slot = script.CallOf(caughtName, e, e)
		}
	case *ast.RegExpLiteral:
		pattern, err := spellOut(e.Pattern, e.Flags)
		if err != nil {
			a.err = cmp.Or(a.err, fmt.Errorf("invalid regular expression %s: %w", e.Literal, err))
			return
		}
		e.Pattern = pattern
	case *ast.UnaryExpression:
		// change has been at the operand already.
		if c, ok := e.Operand.(*ast.CallExpression); ok && e.Operator == gojatoken.TYPEOF && isAbsent(c) {
			*slot = &ast.StringLiteral{Idx: e.Idx, Literal: `"undefined"`, Value: "undefined"}
		}
	case *ast.Identifier:
		a.regexps = a.regexps || e.Name == "RegExp" // esbuild writes it, too
		if a.absent[e.Name.String()] && !a.bound[e.Name] {
			name := &ast.StringLiteral{Idx: e.Idx, Literal: e.Name.String(), Value: e.Name}
			*slot = script.CallOf(absentName, e, name)
		}
	}
}

// changeEval makes eval($broker_eval(text)) of eval(text), and likewise of the body
// that Function is given.
func (a *amender) changeEval(callee ast.Expression, args []ast.Expression) {
	name, ok := callee.(*ast.Identifier)
	if ok && len(args) > 0 && (name.Name == "eval" || name.Name == "Function") {
		last := &args[len(args)-1]
		*last = script.CallOf(evalName, *last, *last)
	}
}

func isAbsent(c *ast.CallExpression) bool {
	name, ok := c.Callee.(*ast.Identifier)
	return ok && name.Name == absentName
}

// changeCaught makes catch (e) { $broker_caught(e); … } of catch (e) { … }. A
// pattern takes apart what a name of ours holds, which no program can write.
func changeCaught(c *ast.CatchStatement) {
	name, ok := c.Parameter.(*ast.Identifier)
	if c.Parameter == nil {
		return
	}
	var first ast.Statement
	if ok {
		first = &ast.ExpressionStatement{Expression: script.CallOf(caughtName, name, name)}
	} else {
		p := c.Parameter
		name = &ast.Identifier{Name: "caught value", Idx: p.Idx0()}
		c.Parameter = name
		first = &ast.LexicalDeclaration{
			Idx:   p.Idx0(),
			Token: gojatoken.LET,
			List:  []*ast.Binding{{Target: p, Initializer: script.CallOf(caughtName, name, name)}},
		}
	}
	c.Body.List = append([]ast.Statement{first}, c.Body.List...)
}
