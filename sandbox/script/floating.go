package script

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// If a statement starts something without awaiting it, such as main() or setTimeout(f, 9000), that
// is intended: the run continues until it has ended. Other things that are left behind, such as
// the timer of a Promise.race, are only waited for during the grace period.

// FloatName and AbsentName are functions that every script gets as parameters. Programs are
// unlikely to use these names themselves.
const (
	FloatName  = "$broker_float"
	AbsentName = "$broker_absent"
)

// noteFloating changes the statements main() and void main() of the program to
// $broker_float(main()), and statements that set timers to $broker_float(setTimeout(f), true).
// Calls of tools are excluded at run time.
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

// CallOf returns a call of a parameter of the script at the position of e.
func CallOf(name unistring.String, e ast.Expression, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: name, Idx: e.Idx0()},
		LeftParenthesis:  e.Idx0(),
		ArgumentList:     args,
		RightParenthesis: e.Idx1() - 1,
	}
}
