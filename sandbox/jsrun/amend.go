package jsrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// The names of what amended programs call, parameters of the function around
// every script. No program is likely to have them, and would hide them.
const (
	joinName   = "$broker_join"
	absentName = "$broker_absent" // of package script
	caughtName = "$broker_caught"
	spreadName = "$broker_spread"
	listName   = "$broker_list"
	queueName  = "$broker_queue"
)

// An amender changes what goja does otherwise than other engines, or so slowly
// that it matters, in the syntax tree of a program:
//
//   - s += x and s = s + x copy s: where s is text, a builder appends to it;
//   - \p{…} in a regular expression is spelled out;
//   - what a program catches is given the message and the trace that other engines
//     have, if it mentions either (trace.go and words.go);
//   - [...list, x] asks an iterator for each element, where a list could be copied;
//   - an array that is a queue moves all of its elements (queue.go);
//   - a < b < c is read as a < (b < c), and refused;
//   - a name that other runtimes have and this one does not says what to use
//     instead, and typeof of it is "undefined".
type amender struct {
	text            map[unistring.String]bool // variables and properties that begin as text
	bound           map[unistring.String]bool // names that the program binds itself
	absent          map[string]bool           // withheld names that it uses
	reads           errorReads                // of errors
	arrays, regexps bool                      // whether the program has queues or lists with others in them, and the name RegExp
	err             error                     // of a regular expression, or a comparison
}

// errorReads is what of errors a program may read.
type errorReads struct{ message, stack bool }

func (e errorReads) any() bool { return e.message || e.stack }

// errorReads finds out what of errors the program mentions.
func (src *source) errorReads() (reads errorReads) {
	for i := range src.Tokens.List {
		switch strings.Trim(src.Tokens.Text(i), "\"'`") {
		case "message", "structuredClone":
			reads.message = true
		case "getOwnPropertyNames", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "ownKeys":
			reads.message, reads.stack = true, true
		case "stack":
			before := src.Tokens.Text(i - 1)
			reads.stack = reads.stack || src.Tokens.Kind(i) != script.Word || before == "." || before == "?." || before == "{" || before == ","
		}
	}
	return reads
}

// races reports whether the program may have a Promise.race or a Promise.any.
func (src *source) races() bool {
	return slices.ContainsFunc(src.Tokens.List, func(t script.Token) bool {
		text := src.Tokens.Src[t.Start:t.End]
		return t.Kind == script.Word && (text == "race" || text == "any")
	})
}

// amend does so to the tree, and notes what the program needs of lib. The error is about what no engine would take, or would read in another way.
func (src *prepared) amend() error {
	a := amender{text: map[unistring.String]bool{}, bound: map[unistring.String]bool{}, absent: src.Absent(), reads: src.errorReads()}
	q := newQueues()
	before := script.Walk{Bound: func(target, initial ast.Expression) {
		a.learn(target, initial)
		q.bind(target, initial)
	}, Visit: func(n ast.Node) bool {
		a.err = cmp.Or(a.err, compared(n))
		q.visit(n)
		return true
	}}
	before.Statements(src.Root.Body)
	if !src.Names["eval"] {
		a.arrays = q.change()
	}
	after := script.Walk{Leave: a.change}
	if a.reads.any() {
		after.Caught = changeCaught
	}
	after.Statements(src.Root.Body)
	if a.err != nil {
		return &script.Refusal{Problems: []string{src.File + ": " + a.err.Error()}}
	}
	src.arrays, src.regexps = a.arrays, a.regexps
	return nil
}

// learn notes what a name, or a property, begins as.
func (a *amender) learn(target, initial ast.Expression) {
	var name unistring.String
	switch t := target.(type) {
	case *ast.Identifier:
		a.bound[t.Name] = true
		name = t.Name
	case *ast.DotExpression:
		name = t.Identifier.Name
	case *ast.PrivateDotExpression:
		name = t.Identifier.Name
	case *ast.PrivateIdentifier:
		name = t.Name
	case *ast.StringLiteral: // the key of a property or a field
		name = t.Value
	}
	if initial != nil && isText(initial) {
		a.text[name] = true
	}
}

// isText reports whether the value of e is a string, as far as e itself says.
func isText(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return true
	case *ast.TemplateLiteral:
		return e.Tag == nil
	case *ast.BinaryExpression:
		return e.Operator == gojatoken.PLUS && (isText(e.Left) || isText(e.Right))
	}
	return false
}

// change amends one expression; those below it are.
func (a *amender) change(slot *ast.Expression) {
	switch e := (*slot).(type) {
	case *ast.AssignExpression:
		a.changeAssignment(e)
	case *ast.ArrayLiteral:
		a.arrays = changeList(slot, e) || a.arrays
	case *ast.NewExpression:
		if a.reads.stack { // of an error that is not thrown
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

// changeList makes $broker_list([x], $broker_spread(list)) of [x, ...list].
func changeList(slot *ast.Expression, e *ast.ArrayLiteral) bool {
	var parts []ast.Expression
	var run *ast.ArrayLiteral
	spread := false
	for _, v := range e.Value {
		if v == nil {
			return false // a hole
		}
		if s, ok := v.(*ast.SpreadElement); ok {
			parts = append(parts, script.CallOf(spreadName, s.Expression, s.Expression))
			spread, run = true, nil
			continue
		}
		if run == nil {
			run = &ast.ArrayLiteral{LeftBracket: e.LeftBracket, RightBracket: e.RightBracket}
			parts = append(parts, run)
		}
		run.Value = append(run.Value, v)
	}
	switch {
	case !spread:
	case len(parts) == 1:
		*slot = parts[0]
	default:
		*slot = script.CallOf(listName, e, parts...)
	}
	return spread
}

// changeAssignment makes s = $broker_join(s, x) of s += x and of s = s + x where s is
// text. $broker_join means what + does, whatever its operands are.
func (a *amender) changeAssignment(e *ast.AssignExpression) {
	switch {
	case e.Operator == gojatoken.ASSIGN:
		chain, first := plusChain(e.Right)
		if len(chain) == 0 || !a.isKnown(first) || !same(e.Left, first) {
			return
		}
		for i := len(chain) - 1; i >= 0; i-- {
			first = script.CallOf(joinName, first, first, chain[i].Right)
		}
		e.Right = first
	case e.Operator == gojatoken.PLUS && repeatable(e.Left) && (a.isKnown(e.Left) || isText(e.Right)):
		e.Operator = gojatoken.ASSIGN
		e.Right = script.CallOf(joinName, e.Left, e.Left, e.Right)
	}
}

// plusChain takes first + x + y apart; the last operation comes first.
func plusChain(e ast.Expression) (chain []*ast.BinaryExpression, first ast.Expression) {
	for b, _ := e.(*ast.BinaryExpression); b != nil && b.Operator == gojatoken.PLUS; b, _ = b.Left.(*ast.BinaryExpression) {
		chain = append(chain, b)
		first = b.Left
	}
	return chain, first
}

// isKnown reports whether e is a variable or a property that began as text.
func (a *amender) isKnown(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier:
		return a.text[e.Name]
	case *ast.DotExpression:
		return a.text[e.Identifier.Name]
	case *ast.PrivateDotExpression:
		return a.text[e.Identifier.Name]
	}
	return false
}

// repeatable reports whether reading e twice is as good as once.
func repeatable(e ast.Expression) bool { return same(e, e) }

// same reports whether two expressions are one variable, or one member of one
// variable or of this.
func same(x, y ast.Expression) bool {
	switch x := x.(type) {
	case *ast.Identifier:
		y, ok := y.(*ast.Identifier)
		return ok && x.Name == y.Name
	case *ast.ThisExpression:
		_, ok := y.(*ast.ThisExpression)
		return ok
	case *ast.DotExpression:
		y, ok := y.(*ast.DotExpression)
		return ok && x.Identifier.Name == y.Identifier.Name && isName(x.Left) && same(x.Left, y.Left)
	case *ast.PrivateDotExpression:
		y, ok := y.(*ast.PrivateDotExpression)
		return ok && x.Identifier.Name == y.Identifier.Name && isName(x.Left) && same(x.Left, y.Left)
	}
	return false
}

func isName(e ast.Expression) bool {
	switch e.(type) {
	case *ast.Identifier, *ast.ThisExpression:
		return true
	}
	return false
}
