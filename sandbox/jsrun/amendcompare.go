package jsrun

import (
	"sort"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	gojatoken "github.com/dop251/goja/token"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
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

// chains reports whether the program may have two such operators in a row.
func (src *source) chains() bool {
	seen := make(map[int]bool) // by depth
	for i, t := range src.Tokens.List {
		switch src.Tokens.Text(i) {
		case "<", ">", "in", "instanceof":
			if seen[t.Depth] {
				return true
			}
			seen[t.Depth] = true
		case "(", "[", "{":
			seen[t.Depth+1] = false
		case ";", ",", "&", "|", "?", ":", "=>":
			seen[t.Depth] = false
		}
	}
	return false
}

// A grouper makes (a < b) < c of a < (b < c) where the program has no
// parentheses, which goja's tree does not tell.
type grouper struct {
	text string
	base int // of the places in the tree
	lex  *script.Tokens
}

// regroup does so for a node that a pass visits.
func (g *grouper) regroup(n ast.Node) {
	for b, ok := n.(*ast.BinaryExpression); ok && g.joinsOn(b); {
		inner := b.Right.(*ast.BinaryExpression)
		b.Right, inner.Left, inner.Right = inner.Right, b.Left, inner.Left
		b.Left = inner
		b.Operator, inner.Operator = inner.Operator, b.Operator
		b.Comparison, inner.Comparison = inner.Comparison, b.Comparison
	}
}

// joinsOn reports whether what is right of b is the rest of a chain.
func (g *grouper) joinsOn(b *ast.BinaryExpression) bool {
	right, ok := b.Right.(*ast.BinaryExpression)
	if !ok || !relational[b.Operator] || !relational[right.Operator] {
		return false
	}
	if g.lex == nil {
		g.lex = script.Scan(g.text)
	}
	return g.depthBefore(right.Idx0()) == g.depthBefore(right.Right.Idx0())
}

// depthBefore is how deep the operator in front of an operand is in brackets:
// parentheses of the operand itself do not count.
func (g *grouper) depthBefore(operand file.Idx) int {
	offset, tokens := int(operand)-g.base, g.lex.List
	i := sort.Search(len(tokens), func(i int) bool { return tokens[i].Start >= offset }) - 1
	for i > 0 && g.lex.Text(i) == "(" {
		i--
	}
	return tokens[max(i, 0)].Depth
}
