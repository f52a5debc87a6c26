package jsrun

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// errorReads is what of errors a program may read.
type errorReads struct {
	message, stack bool
	// computed says that it has "stack" as a text of its own, which may become
	// the name of a property.
	computed bool
}

// errorReads finds out what of errors the program mentions.
func (src *source) errorReads() (reads errorReads) {
	lex := src.lexed
	for i := range lex.tokens {
		switch lex.text(i) {
		case "message":
			reads.message = true
		case "stack":
			reads.stack = true
		case `"message"`, "'message'", "`message`":
			reads.message = true
		case `"stack"`, "'stack'", "`stack`":
			reads.stack = true
			reads.computed = reads.computed || lex.text(i-1) != "[" || lex.text(i+1) != "]"
		}
	}
	return reads
}

// mends is the function that mends an error whose property is to be read; it is
// empty for a property that needs none.
func (a *amender) mends(name unistring.String) unistring.String {
	switch {
	case name == "stack" && a.reads.stack:
		return traceName
	case name == "message" && a.reads.message:
		return wordsName
	}
	return ""
}

// changeRead makes $broker_trace(e).stack of e.stack.
func (a *amender) changeRead(object *ast.Expression, name unistring.String) {
	if f := a.mends(name); f != "" {
		a.mend(object, f)
	}
}

// mend puts a call of f around the object of a member. What stands in front of
// a "?." is left when it is nullish, which must not happen inside of a call.
func (a *amender) mend(object *ast.Expression, f unistring.String) {
	switch e := (*object).(type) {
	case *ast.SuperExpression:
		return
	case *ast.ThisExpression:
		if f == wordsName { // no error of the engine has methods of the program
			return
		}
	case *ast.Optional:
		inner := e.Expression
		if optional(inner) {
			inner = &ast.OptionalChain{Expression: inner}
		}
		e.Expression = callOf(f, inner, inner)
		return
	}
	if optional(*object) {
		return // a call around it would end the chain where it must throw
	}
	*object = callOf(f, *object, *object)
}

// optional reports whether a "?." is among the members that e consists of.
func optional(e ast.Expression) bool {
	for {
		switch x := e.(type) {
		case *ast.Optional:
			return true
		case *ast.DotExpression:
			e = x.Left
		case *ast.PrivateDotExpression:
			e = x.Left
		case *ast.BracketExpression:
			e = x.Left
		case *ast.CallExpression:
			e = x.Callee
		default:
			return false
		}
	}
}

// changeTaken does the same for const { message, stack } = e.
func (a *amender) changeTaken(p *ast.ObjectPattern, value *ast.Expression) {
	if f := a.takes(p); f != "" {
		*value = callOf(f, *value, *value)
	}
}

// takes is what mends a value that p takes apart; the trace has the message in it.
func (a *amender) takes(p *ast.ObjectPattern) (f unistring.String) {
	for _, p := range p.Properties {
		var name unistring.String
		switch p := p.(type) {
		case *ast.PropertyShort:
			name = p.Name.Name
		case *ast.PropertyKeyed:
			if key, ok := p.Key.(*ast.StringLiteral); ok {
				name = key.Value
			}
		}
		if m := a.mends(name); m == traceName || f == "" {
			f = m
		}
	}
	return f
}

// caughtName holds what was caught until it is taken apart. It is in the tree
// only, and none that a program can write.
const caughtName = "caught value"

// changeCaught does the same for catch ({ message }).
func (a *amender) changeCaught(c *ast.CatchStatement) {
	p, ok := c.Parameter.(*ast.ObjectPattern)
	if !ok {
		return
	}
	f := a.takes(p)
	if f == "" {
		return
	}
	name := &ast.Identifier{Name: caughtName, Idx: p.Idx0()}
	c.Parameter = name
	taken := &ast.LexicalDeclaration{
		Idx:   p.Idx0(),
		Token: gojatoken.LET,
		List:  []*ast.Binding{{Target: p, Initializer: callOf(f, name, name)}},
	}
	c.Body.List = append([]ast.Statement{taken}, c.Body.List...)
}
