package amend

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// nameIn returns the name of a variable or property, or "".
func nameIn(e ast.Expression) unistring.String {
	switch e := e.(type) {
	case *ast.Identifier:
		return e.Name
	case *ast.DotExpression:
		return e.Identifier.Name
	case *ast.PrivateDotExpression:
		return e.Identifier.Name
	case *ast.PrivateIdentifier:
		return e.Name
	case *ast.StringLiteral: // the key of a property or a field
		return e.Value
	}
	return ""
}

// isText reports whether the value of e is certainly a string.
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

// changeAssignment replaces s += x and s = s + x by s = $broker_join(s, x) if s is a string.
// $broker_join behaves like + for all operands.
func (a *amender) changeAssignment(e *ast.AssignExpression) {
	switch {
	case e.Operator == gojatoken.ASSIGN:
		chain, first := plusChain(e.Right)
		if len(chain) == 0 || !a.text[nameIn(first)] || !same(e.Left, first) {
			return
		}
		for i := len(chain) - 1; i >= 0; i-- {
			first = script.CallOf(JoinName, first, first, chain[i].Right)
		}
		e.Right = first
	case e.Operator == gojatoken.PLUS && repeatable(e.Left) && (a.text[nameIn(e.Left)] || isText(e.Right)):
		e.Operator = gojatoken.ASSIGN
		e.Right = script.CallOf(JoinName, e.Left, e.Left, e.Right)
	}
}

// plusChain splits first + x + y; the last operation comes first.
func plusChain(e ast.Expression) (chain []*ast.BinaryExpression, first ast.Expression) {
	for b, _ := e.(*ast.BinaryExpression); b != nil && b.Operator == gojatoken.PLUS; b, _ = b.Left.(*ast.BinaryExpression) {
		chain = append(chain, b)
		first = b.Left
	}
	return chain, first
}

// repeatable reports whether e may be evaluated twice.
func repeatable(e ast.Expression) bool { return same(e, e) }

// same reports whether two expressions are the same variable, or the same member of a variable or
// of this.
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
