package jsrun

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
)

// changeMember makes list[k] = $broker_join(list[k], x) of list[k] += x, and
// $broker_put($broker_at(f(), k), x) of f()[k] += x, whose object and key must
// not be asked for twice. Numbers are left alone where it can be told.
func (a *amender) changeMember(slot *ast.Expression, e *ast.AssignExpression) {
	var object, key ast.Expression
	switch left := e.Left.(type) {
	case *ast.BracketExpression:
		if isNumeric(e.Right) {
			return
		}
		if isName(left.Left) && isPlainKey(left.Member) {
			e.Operator = gojatoken.ASSIGN
			e.Right = callOf(joinName, e.Left, &ast.BracketExpression{Left: left.Left, Member: left.Member, LeftBracket: left.LeftBracket, RightBracket: left.RightBracket}, e.Right)
			return
		}
		object, key = left.Left, left.Member
	case *ast.DotExpression:
		if !a.isKnown(left) && !isText(e.Right) {
			return
		}
		object, key = left.Left, textLiteral(left.Identifier.Idx, left.Identifier.Name.String())
	default:
		return
	}
	if _, super := object.(*ast.SuperExpression); !super {
		*slot = callOf(putName, e, callOf(atName, e.Left, object, key), e.Right)
	}
}

// isPlainKey reports whether e is the same each time that it is read.
func isPlainKey(e ast.Expression) bool {
	switch e.(type) {
	case *ast.Identifier, *ast.StringLiteral, *ast.NumberLiteral:
		return true
	}
	return false
}

// numbers are the operators that make no text of anything.
var numbers = map[gojatoken.Token]bool{
	gojatoken.MINUS: true, gojatoken.MULTIPLY: true, gojatoken.SLASH: true, gojatoken.REMAINDER: true, gojatoken.EXPONENT: true,
	gojatoken.AND: true, gojatoken.OR: true, gojatoken.EXCLUSIVE_OR: true, gojatoken.SHIFT_LEFT: true, gojatoken.SHIFT_RIGHT: true,
	gojatoken.UNSIGNED_SHIFT_RIGHT: true, gojatoken.INCREMENT: true, gojatoken.DECREMENT: true, gojatoken.BITWISE_NOT: true,
}

// isNumeric reports whether e is no text for certain.
func isNumeric(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.BooleanLiteral:
		return true
	case *ast.UnaryExpression:
		return numbers[e.Operator] || e.Operator == gojatoken.PLUS
	case *ast.BinaryExpression:
		return numbers[e.Operator] || e.Operator == gojatoken.PLUS && isNumeric(e.Left) && isNumeric(e.Right)
	case *ast.ConditionalExpression:
		return isNumeric(e.Consequent) && isNumeric(e.Alternate)
	case *ast.DotExpression:
		return e.Identifier.Name == "length"
	case *ast.CallExpression:
		switch callee := e.Callee.(type) {
		case *ast.Identifier:
			return callee.Name == "Number" || callee.Name == "parseInt" || callee.Name == "parseFloat"
		case *ast.DotExpression:
			name, ok := callee.Left.(*ast.Identifier)
			return ok && name.Name == "Math"
		}
	}
	return false
}

// begins reports whether a text is likely to grow where x + y stands with first in
// front: it is text, or what is there or ”, or another value that head is.
func (a *amender) begins(first, head ast.Expression) bool {
	if b, ok := first.(*ast.BinaryExpression); ok && (b.Operator == gojatoken.COALESCE || b.Operator == gojatoken.LOGICAL_OR) {
		return isText(b.Right)
	}
	if _, member := first.(*ast.BracketExpression); member {
		return head != nil && same(head, first)
	}
	return a.isKnown(first) && (head == nil || same(head, first))
}

// changeTemplate makes $broker_fill(s, `${x}`) of `${s}${x}`, where begin says so of s.
func (a *amender) changeTemplate(slot *ast.Expression, begin func(first ast.Expression) bool) {
	t, ok := (*slot).(*ast.TemplateLiteral)
	if !ok || t.Tag != nil || len(t.Expressions) == 0 || t.Elements[0].Parsed != "" || !begin(t.Expressions[0]) {
		return
	}
	rest := &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Elements: t.Elements[1:], Expressions: t.Expressions[1:]}
	*slot = callOf(fillName, t, t.Expressions[0], rest)
}

// changeChain makes $broker_join($broker_join(s, x), y) of s + x + y likewise.
func (a *amender) changeChain(slot *ast.Expression, begin func(first ast.Expression) bool) {
	chain, first := plusChain(*slot)
	if len(chain) == 0 || isNumeric(chain[len(chain)-1].Right) || !begin(first) {
		return
	}
	for i := len(chain) - 1; i >= 0; i-- {
		first = callOf(joinName, first, first, chain[i].Right)
	}
	*slot = first
}

// changeSum does both.
func (a *amender) changeSum(slot *ast.Expression, begin func(first ast.Expression) bool) {
	a.changeChain(slot, begin)
	a.changeTemplate(slot, begin)
}

// changeConcat makes $broker_concat(s, x) of s = s.concat(x), where s is text.
func (a *amender) changeConcat(slot *ast.Expression, head ast.Expression) {
	c, ok := (*slot).(*ast.CallExpression)
	if !ok {
		return
	}
	d, ok := c.Callee.(*ast.DotExpression)
	if ok && d.Identifier.Name == "concat" && a.isKnown(d.Left) && same(head, d.Left) && !hasSpread(c.ArgumentList) {
		*slot = callOf(concatName, c, append([]ast.Expression{d.Left}, c.ArgumentList...)...)
	}
}

func hasSpread(list []ast.Expression) bool {
	for _, e := range list {
		if _, ok := e.(*ast.SpreadElement); ok {
			return true
		}
	}
	return false
}

// changeReturned does so to what a function returns as s + 'x': it may be called
// with a text that grows.
func (a *amender) changeReturned(slot *ast.Expression) {
	if isText(*slot) {
		a.changeSum(slot, func(first ast.Expression) bool {
			_, ok := first.(*ast.Identifier)
			return ok
		})
	}
}

// changeStored does so in map.set(k, map.get(k) + x).
func (a *amender) changeStored(c *ast.CallExpression) {
	if d, ok := c.Callee.(*ast.DotExpression); ok && d.Identifier.Name == "set" && len(c.ArgumentList) == 2 {
		a.changeSum(&c.ArgumentList[1], func(first ast.Expression) bool { return isGet(first) || a.begins(first, nil) })
	}
}

// isGet reports whether e is map.get(k).
func isGet(e ast.Expression) bool {
	c, ok := e.(*ast.CallExpression)
	if !ok {
		return false
	}
	d, ok := c.Callee.(*ast.DotExpression)
	return ok && d.Identifier.Name == "get"
}

// plusChain takes first + x + y apart; the last operation comes first.
func plusChain(e ast.Expression) (chain []*ast.BinaryExpression, first ast.Expression) {
	for b, _ := e.(*ast.BinaryExpression); b != nil && b.Operator == gojatoken.PLUS; b, _ = b.Left.(*ast.BinaryExpression) {
		chain = append(chain, b)
		first = b.Left
	}
	return chain, first
}
