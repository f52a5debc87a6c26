package script

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// What a program starts with a statement of its own and does not await, such as
// main() or setTimeout(f, 9000), is meant: the run goes on until it has ended. What
// is left behind in other ways, such as the timer of a Promise.race, is not worth
// waiting for, but for the grace period.

// FloatName and AbsentName are functions that every script gets as parameters. No program is likely
// to have them, and would hide them.
const (
	FloatName  = "$broker_float"
	AbsentName = "$broker_absent"
)

// noteFloating makes $broker_float(main()) of main() and of void main(), where that is a
// statement of the program, and $broker_float(setTimeout(f), true) of the timers that
// statements set. Calls of tools are left out when it runs.
func noteFloating(list []ast.Statement) {
	EachFloating(list, func(e *ast.Expression) {
		args := []ast.Expression{*e}
		if setsTimer(*e) {
			args = append(args, &ast.BooleanLiteral{Idx: (*e).Idx0(), Literal: "true", Value: true})
		}
		*e = CallOf(FloatName, *e, args...)
	})
}

// EachFloating calls f with the expressions whose value may be an unawaited promise.
func EachFloating(list []ast.Statement, f func(*ast.Expression)) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExpressionStatement:
			if c, ok := s.Expression.(*ast.CallExpression); ok && (!effectOnly(c) || setsTimer(c)) {
				f(&s.Expression)
			}
			if u, ok := s.Expression.(*ast.UnaryExpression); ok && u.Operator == gojatoken.VOID {
				if _, ok := u.Operand.(*ast.CallExpression); ok {
					f(&u.Operand)
				}
			}
		case *ast.LexicalDeclaration:
			eachTimer(s.List, f)
		case *ast.VariableStatement:
			eachTimer(s.List, f)
		}
	}
}

func eachTimer(list []*ast.Binding, f func(*ast.Expression)) {
	for _, b := range list {
		if setsTimer(b.Initializer) {
			f(&b.Initializer)
		}
	}
}

func setsTimer(e ast.Expression) bool {
	c, ok := e.(*ast.CallExpression)
	if !ok {
		return false
	}
	name, ok := c.Callee.(*ast.Identifier)
	return ok && (name.Name == "setTimeout" || name.Name == "setInterval")
}

// CallOf is a call of a parameter of the script in the place of e.
func CallOf(name unistring.String, e ast.Expression, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: name, Idx: e.Idx0()},
		LeftParenthesis:  e.Idx0(),
		ArgumentList:     args,
		RightParenthesis: e.Idx1() - 1,
	}
}
