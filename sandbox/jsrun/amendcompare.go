package jsrun

import (
	"fmt"

	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
)

// goja reads a < b < c as a < (b < c), and so for every operator of this kind.
var relational = map[gojatoken.Token]bool{
	gojatoken.LESS:             true,
	gojatoken.LESS_OR_EQUAL:    true,
	gojatoken.GREATER:          true,
	gojatoken.GREATER_OR_EQUAL: true,
	gojatoken.INSTANCEOF:       true,
	gojatoken.IN:               true,
}

// compared is the error of a < b < c, which goja's tree does not tell from a < (b < c).
func compared(n ast.Node) error {
	b, ok := n.(*ast.BinaryExpression)
	if !ok || !relational[b.Operator] {
		return nil
	}
	if right, ok := b.Right.(*ast.BinaryExpression); ok && relational[right.Operator] {
		return fmt.Errorf("a %s b %s c compares the result of a comparison, which is not supported here: write a %s b && b %s c, or use a variable",
			b.Operator, right.Operator, b.Operator, right.Operator)
	}
	return nil
}
