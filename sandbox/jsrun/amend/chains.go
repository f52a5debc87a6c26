package amend

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	gojatoken "github.com/dop251/goja/token"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

var relational = []gojatoken.Token{
	gojatoken.LESS, gojatoken.LESS_OR_EQUAL, gojatoken.GREATER, gojatoken.GREATER_OR_EQUAL, gojatoken.INSTANCEOF, gojatoken.IN,
}

// A chains corrects a < b < c, which goja parses as a < (b < c). Only the text shows whether the
// program has these parentheses.
type chains struct {
	root   *ast.Program
	text   string
	tokens *script.Tokens // of text, or nil before they are needed
}

func comparison(e ast.Node) *ast.BinaryExpression {
	if b, ok := e.(*ast.BinaryExpression); ok && slices.Contains(relational, b.Operator) {
		return b
	}
	return nil
}

// visit replaces a < b < c with (a < b) < c, and reports whether n was such an expression.
func (c *chains) visit(n ast.Node) (found bool) {
	b := comparison(n)
	if b == nil {
		return false
	}
	for right := comparison(b.Right); right != nil && !c.enclosed(right); right = comparison(b.Right) {
		b.Left = &ast.BinaryExpression{Operator: b.Operator, Left: b.Left, Right: right.Left}
		b.Operator, b.Right = right.Operator, right.Right
		found = true
	}
	return found
}

// enclosed reports whether b is in parentheses of its own.
func (c *chains) enclosed(b *ast.BinaryExpression) bool {
	if c.tokens == nil {
		c.tokens = script.Scan(c.text)
	}
	base := c.root.File.Base()
	first, right := int(b.Left.Idx0())-base, int(b.Right.Idx0())-base
	i := slices.IndexFunc(c.tokens.List, func(t script.Token) bool { return t.Start >= first })
	for i--; c.tokens.Text(i) == "("; i-- {
		if end := c.tokens.Closing(i); end >= 0 && c.tokens.List[end].Start > right {
			return true
		}
	}
	return false
}

// Chained reports whether the text of a function contains an a < b < c that goja would parse
// differently.
func Chained(body string) (found bool) {
	text := "(async function*(){" + body + "\n})"
	root, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return false // goja reports the mistake
	}
	c := chains{root: root, text: text}
	w := script.Walk{Visit: func(n ast.Node) bool { found = c.visit(n) || found; return true }}
	w.Statements(root.Body)
	return found
}
