package jsrun

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// The names of what amended programs call, parameters of the function around
// every script. No program is likely to have them, and would hide them.
const (
	joinName   = "$broker_join"
	absentName = "$broker_absent"
	wordsName  = "$broker_words"
	traceName  = "$broker_trace"
	spreadName = "$broker_spread"
	listName   = "$broker_list"
	atName     = "$broker_at"
	putName    = "$broker_put"
	fillName   = "$broker_fill"
	concatName = "$broker_concat"
)

// An amender changes what goja does otherwise than other engines, or so slowly
// that it matters, in the syntax tree of a program:
//
//   - s += x copies s, and so does what grows in another way: where s is text, a
//     builder appends to it (amendtext.go);
//   - \p{…} in a regular expression is spelled out;
//   - what reads the message or the trace of an error gets it mended, as
//     trace.go and words.go say;
//   - [...list, x] asks an iterator for each element, where a list could be copied;
//   - a < b < c is read as a < (b < c);
//   - a name that other runtimes have and this one does not says what to use
//     instead, and typeof of it is "undefined".
type amender struct {
	text   map[unistring.String]bool // variables and properties that begin as text
	bound  map[unistring.String]bool // names that the program binds itself
	absent map[string]bool           // withheld names that it uses
	reads  errorReads                // of errors
	err    error                     // of a regular expression
}

// amend does so to the tree of text. Most programs need nothing of it, and are not walked through.
// The error is about a regular expression that no engine would take.
func (src *source) amend(tree *ast.Program, text string) error {
	a := amender{text: map[unistring.String]bool{}, bound: map[unistring.String]bool{}, absent: src.absent(), reads: src.errorReads()}
	chains := src.chains()
	if !src.appends() && !src.spreads() && !src.hasClasses() && !chains && len(a.absent) == 0 && a.reads == (errorReads{}) {
		return nil
	}
	before := pass{bound: a.learn, enter: a.learnCall}
	if chains {
		g := &grouper{text: text, base: tree.File.Base()}
		before.enter = func(e ast.Expression) {
			g.regroup(e)
			a.learnCall(e)
		}
	}
	before.statements(tree.Body)
	after := pass{leave: a.change, returned: a.changeReturned}
	if a.reads != (errorReads{}) {
		after.taken, after.caught = a.changeTaken, a.changeCaught
	}
	after.statements(tree.Body)
	if a.err != nil {
		return &refusal{problems: []string{src.file + ": " + a.err.Error()}}
	}
	return nil
}

// appends reports whether the program may have an s += x, or what does the same.
func (src *source) appends() bool {
	lex := src.lexed
	for i, t := range lex.tokens {
		switch lex.text(i) {
		case "reduce":
			return true
		case "=": // s += x, s = s + x, s = s.concat(x), s[k] = s[k] + x, s = (s ?? '') + x, s = `${s}…`
			switch lex.text(i + 2) {
			case "+", ".", "[":
				return true
			}
			if lex.text(i-1) == "+" || lex.text(i+1) == "(" || lex.kind(i+1) == template {
				return true
			}
		case "+": // return s + 'x'
			if lex.kind(i+1) == str || lex.kind(i+1) == template {
				return true
			}
		case "set": // map.set(k, map.get(k) + x)
			if lex.text(i-1) == "." && t.kind == word {
				return true
			}
		}
	}
	return false
}

// spreads reports whether the program may have a list with others in it.
func (src *source) spreads() bool {
	for i := range src.lexed.tokens {
		if before := src.lexed.text(i - 1); src.lexed.text(i) == "..." && (before == "[" || before == ",") {
			return arrayFields() != nil
		}
	}
	return false
}

// hasClasses reports whether a regular expression of the program needs to be
// spelled out.
func (src *source) hasClasses() bool {
	for i, t := range src.lexed.tokens {
		if text := src.lexed.text(i); t.kind == regex && (hasClass(text) || strings.ContainsAny(text[strings.LastIndexByte(text, '/')+1:], "dv")) {
			return true
		}
	}
	return false
}

// absent are the withheld names that the program mentions.
func (src *source) absent() map[string]bool {
	names := make(map[string]bool)
	for name := range withheld {
		if src.names[name] {
			names[name] = true
		}
	}
	return names
}

// learn notes what a name, or a property, begins as.
func (a *amender) learn(target, initial ast.Expression) {
	switch t := target.(type) {
	case *ast.Identifier:
		a.bound[t.Name] = true
		a.noteText(t.Name, initial)
	case *ast.DotExpression:
		a.noteText(t.Identifier.Name, initial)
	case *ast.PrivateDotExpression:
		a.noteText(t.Identifier.Name, initial)
	case *ast.PrivateIdentifier:
		a.noteText(t.Name, initial)
	case *ast.StringLiteral: // the key of a property or a field
		a.noteText(t.Value, initial)
	}
}

func (a *amender) noteText(name unistring.String, initial ast.Expression) {
	if initial != nil && isText(initial) {
		a.text[name] = true
	}
}

// learnCall notes the first parameter of list.reduce((s, x) => …, ”).
func (a *amender) learnCall(e ast.Expression) {
	if list, _ := reduction(e); list != nil && len(list.List) > 0 {
		if name, ok := list.List[0].Target.(*ast.Identifier); ok {
			a.text[name.Name] = true
		}
	}
}

// reduction takes a call apart that reduces a list to a text.
func reduction(e ast.Expression) (params *ast.ParameterList, body ast.Node) {
	c, ok := e.(*ast.CallExpression)
	if !ok || len(c.ArgumentList) != 2 || !isText(c.ArgumentList[1]) {
		return nil, nil
	}
	if d, ok := c.Callee.(*ast.DotExpression); !ok || d.Identifier.Name != "reduce" {
		return nil, nil
	}
	switch f := c.ArgumentList[0].(type) {
	case *ast.ArrowFunctionLiteral:
		return f.ParameterList, f.Body
	case *ast.FunctionLiteral:
		return f.ParameterList, f.Body
	}
	return nil, nil
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
		a.changeAssignment(slot, e)
	case *ast.CallExpression:
		if _, body := reduction(e); body != nil {
			a.changeReduction(body)
		}
		a.changeStored(e)
	case *ast.ArrowFunctionLiteral:
		if body, ok := e.Body.(*ast.ExpressionBody); ok {
			a.changeReturned(&body.Expression)
		}
	case *ast.ArrayLiteral:
		changeList(slot, e)
	case *ast.DotExpression:
		a.changeRead(&e.Left, e.Identifier.Name)
	case *ast.BracketExpression:
		if name, ok := text(e.Member); ok {
			a.changeRead(&e.Left, unistring.NewFromString(name))
		} else if a.reads.computed {
			a.mend(&e.Left, traceName)
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
		if a.absent[e.Name.String()] && !a.bound[e.Name] {
			name := &ast.StringLiteral{Idx: e.Idx, Literal: e.Name.String(), Value: e.Name}
			*slot = callOf(absentName, e, name)
		}
	}
}

func textLiteral(at file.Idx, text string) *ast.StringLiteral {
	return &ast.StringLiteral{Idx: at, Literal: text, Value: unistring.NewFromString(text)}
}

func isAbsent(c *ast.CallExpression) bool {
	name, ok := c.Callee.(*ast.Identifier)
	return ok && name.Name == absentName
}

// callOf is a call of one of our own functions in the place of e.
func callOf(name unistring.String, e ast.Expression, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: name, Idx: e.Idx0()},
		LeftParenthesis:  e.Idx0(),
		ArgumentList:     args,
		RightParenthesis: e.Idx1() - 1,
	}
}

// changeAssignment makes s = $broker_join(s, x) of s += x and of s = s + x where s is
// text. $broker_join means what + does, whatever its operands are.
func (a *amender) changeAssignment(slot *ast.Expression, e *ast.AssignExpression) {
	switch {
	case e.Operator == gojatoken.ASSIGN:
		if _, pattern := e.Left.(ast.Pattern); !pattern {
			a.changeSum(&e.Right, func(first ast.Expression) bool { return a.begins(first, e.Left) })
			a.changeConcat(&e.Right, e.Left)
		}
	case e.Operator != gojatoken.PLUS:
	case !repeatable(e.Left):
		a.changeMember(slot, e)
	case a.isKnown(e.Left) || isText(e.Right):
		e.Operator = gojatoken.ASSIGN
		e.Right = callOf(joinName, e.Left, e.Left, e.Right)
	}
}

// changeReduction does the same to what the function returns.
func (a *amender) changeReduction(body ast.Node) {
	known := func(first ast.Expression) bool { return a.begins(first, nil) }
	switch body := body.(type) {
	case *ast.ExpressionBody:
		a.changeSum(&body.Expression, known)
	case *ast.BlockStatement:
		for _, s := range body.List {
			if s, ok := s.(*ast.ReturnStatement); ok && s.Argument != nil {
				a.changeSum(&s.Argument, known)
			}
		}
	}
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

// repeatable reports whether reading e's object twice is as good as once.
func repeatable(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier:
		return true
	case *ast.DotExpression:
		return isName(e.Left)
	case *ast.PrivateDotExpression:
		return isName(e.Left)
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

// same reports whether two expressions of names and members are one.
func same(x, y ast.Expression) bool {
	switch x := x.(type) {
	case *ast.Identifier:
		y, ok := y.(*ast.Identifier)
		return ok && x.Name == y.Name
	case *ast.DotExpression:
		y, ok := y.(*ast.DotExpression)
		return ok && x.Identifier.Name == y.Identifier.Name && same(x.Left, y.Left)
	case *ast.PrivateDotExpression:
		y, ok := y.(*ast.PrivateDotExpression)
		return ok && x.Identifier.Name == y.Identifier.Name && same(x.Left, y.Left)
	case *ast.BracketExpression:
		y, ok := y.(*ast.BracketExpression)
		return ok && same(x.Member, y.Member) && same(x.Left, y.Left)
	case *ast.ThisExpression:
		_, ok := y.(*ast.ThisExpression)
		return ok
	case *ast.StringLiteral:
		y, ok := y.(*ast.StringLiteral)
		return ok && x.Value == y.Value
	case *ast.NumberLiteral:
		y, ok := y.(*ast.NumberLiteral)
		return ok && x.Value == y.Value
	}
	return false
}
