package script

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
)

// An Ending determines the result of a program without a return.
type Ending struct {
	Kind EndingKind
	Body []ast.Statement // of the program, without trailing empty statements
	Name *ast.Identifier // of the function to call
}

// An EndingKind is a way in which a program ends.
type EndingKind uint8

// The ways in which programs end.
const (
	EndsAsItIs    EndingKind = iota
	EndsWithValue            // the value of the last expression, if the program prints nothing
	EndsWithCall             // a call of the last expression, a function
	EndsWithName             // a call of a declared function
)

// endingOf returns how a program ends: it is called if it is a function, or only declares
// functions, and otherwise its result is the value of the last expression.
func endingOf(list []ast.Statement) Ending {
	for len(list) > 0 {
		if _, empty := list[len(list)-1].(*ast.EmptyStatement); !empty {
			break
		}
		list = list[:len(list)-1]
	}
	e := Ending{Body: list}
	if len(list) == 0 || returns(list) {
		return e
	}
	last := Expression(list[len(list)-1])
	switch {
	case last != nil && isOnlyStatement(list) && isFunction(last):
		e.Kind = EndsWithCall
	case last != nil && !effectOnly(last):
		e.Kind = EndsWithValue
	case last == nil:
		if e.Name = entryPoint(list); e.Name != nil {
			e.Kind = EndsWithName
		}
	}
	return e
}

// Ending returns how the program ends, ignoring "export default".
func (t *Tree) Ending() Ending { return endingOf(withoutDirective(t.Main.Body.List)) }

// Idle returns a note about a program that only declares functions, unless it is clear
// which one to call, or "".
func (t *Tree) Idle() string {
	if t.Main == nil || t.asked {
		return ""
	}
	e := t.Ending()
	if e.Kind != EndsAsItIs {
		return ""
	}
	first := ""
	for _, s := range e.Body {
		name, _, inert := declared(s)
		if !inert {
			return ""
		}
		if name != nil && first == "" {
			first = name.Name.String()
		}
	}
	if first == "" {
		return ""
	}
	return "nothing ran: the script only declares functions; call one, as in return " + first + "(…)"
}

// Finish gives a program its result, and changes statements that start and do not await main() to
// $broker_float(main()). It reports whether the result is that of an expression, which counts only
// if the program prints nothing.
func (t *Tree) Finish() (implicit bool) {
	if t.Main == nil {
		return false
	}
	body := t.Main.Body
	body.List = withoutDirective(body.List)
	defer func() { noteFloating(body.List) }()
	if t.asked {
		return false
	}
	e := endingOf(body.List)
	end := len(e.Body) - 1
	switch e.Kind {
	case EndsWithValue:
		e.Body[end] = returning(Expression(e.Body[end]))
	case EndsWithCall:
		e.Body[end] = returning(call(Expression(e.Body[end])))
	case EndsWithName:
		body.List = append(e.Body, returning(call(e.Name)))
	}
	return e.Kind == EndsWithValue
}

// isOnlyStatement reports whether the last statement is the only one, ignoring empty statements and
// directives.
func isOnlyStatement(list []ast.Statement) bool {
	for _, s := range list[:len(list)-1] {
		if _, empty := s.(*ast.EmptyStatement); empty {
			continue
		}
		if _, directive := Expression(s).(*ast.StringLiteral); !directive {
			return false
		}
	}
	return true
}

func isFunction(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}

func call(callee ast.Expression) ast.Expression {
	return &ast.CallExpression{Callee: callee, LeftParenthesis: callee.Idx0(), RightParenthesis: callee.Idx1()}
}

func returning(e ast.Expression) ast.Statement {
	return &ast.ReturnStatement{Return: e.Idx0(), Argument: e}
}

// silent are functions whose value is not meant as a result.
var silent = set("setTimeout setInterval setImmediate clearTimeout clearInterval queueMicrotask")

func effectOnly(e ast.Expression) bool {
	c, ok := e.(*ast.CallExpression)
	if !ok {
		return false
	}
	switch callee := c.Callee.(type) {
	case *ast.Identifier:
		return silent[callee.Name.String()]
	case *ast.DotExpression:
		object, ok := callee.Left.(*ast.Identifier)
		return ok && object.Name == "console"
	}
	return false
}

// returns reports whether a statement returns, ignoring nested functions.
func returns(list []ast.Statement) (found bool) {
	w := Walk{Visit: func(n ast.Node) bool {
		_, is := n.(*ast.ReturnStatement)
		found = found || is
		_, expression := n.(ast.Expression)
		return !expression && !found
	}}
	w.Statements(list)
	return found
}

// entryPoint returns the function to call in a program that only declares: main, run, or the only
// function if it takes no arguments.
func entryPoint(list []ast.Statement) *ast.Identifier {
	var found []*ast.Identifier
	others := false
	only := true
	for _, s := range list {
		name, params, inert := declared(s)
		if !inert {
			return nil
		}
		if name == nil {
			_, empty := s.(*ast.EmptyStatement)
			others = others || !empty
			continue
		}
		found = append(found, name)
		only = only && params == 0
	}
	for _, want := range []string{"main", "run"} {
		for _, f := range found {
			// esbuild appends a number to a name that a module also has.
			if name := f.Name.String(); name == want || strings.TrimRight(name, "0123456789") == want {
				return useOf(f)
			}
		}
	}
	if len(found) == 1 && only && !others {
		return useOf(found[0])
	}
	return nil
}

// useOf returns a use of a declared name.
func useOf(name *ast.Identifier) *ast.Identifier {
	return &ast.Identifier{Name: name.Name, Idx: name.Idx}
}

// declared returns the function that a declaration declares, if any, and its number of parameters.
// inert reports that running the declaration does nothing else.
func declared(s ast.Statement) (name *ast.Identifier, params int, inert bool) {
	var bindings []*ast.Binding
	switch s := s.(type) {
	case *ast.EmptyStatement, *ast.ClassDeclaration:
		return nil, 0, true
	case *ast.FunctionDeclaration:
		return s.Function.Name, len(s.Function.ParameterList.List), true
	case *ast.LexicalDeclaration:
		bindings = s.List
	case *ast.VariableStatement:
		bindings = s.List
	default:
		return nil, 0, false
	}
	for _, b := range bindings {
		target, ok := b.Target.(*ast.Identifier)
		switch f := b.Initializer.(type) {
		case *ast.FunctionLiteral:
			name, params = target, len(f.ParameterList.List)
		case *ast.ArrowFunctionLiteral:
			name, params = target, len(f.ParameterList.List)
		default:
			if !isData(f) {
				return nil, 0, false
			}
		}
		if !ok {
			return nil, 0, false
		}
	}
	return name, params, true
}

// isData reports whether an initializer is a literal, without effects.
func isData(e ast.Expression) bool {
	switch e := e.(type) {
	case nil, *ast.StringLiteral, *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral, *ast.RegExpLiteral:
		return true
	case *ast.UnaryExpression:
		return isData(e.Operand)
	case *ast.TemplateLiteral:
		return e.Tag == nil && len(e.Expressions) == 0
	case *ast.ArrayLiteral:
		return !slices.ContainsFunc(e.Value, func(item ast.Expression) bool { return !isData(item) })
	case *ast.ObjectLiteral:
		return !slices.ContainsFunc(e.Value, func(p ast.Property) bool {
			keyed, ok := p.(*ast.PropertyKeyed)
			return !ok || keyed.Computed || !isData(keyed.Value) && !isFunction(keyed.Value)
		})
	}
	return false
}

// ReturnsValue reports whether the program ends with a return of a value that is neither awaited
// nor deliberately undefined, and has no return without a value.
func (t *Tree) ReturnsValue() bool {
	if t.Main == nil || t.asked || len(t.Main.Body.List) == 0 {
		return false
	}
	last, ok := t.Main.Body.List[len(t.Main.Body.List)-1].(*ast.ReturnStatement)
	if !ok || last.Argument == nil {
		return false
	}
	switch e := last.Argument.(type) {
	case *ast.AwaitExpression, *ast.UnaryExpression:
		return false
	case *ast.Identifier:
		if e.Name == "undefined" {
			return false
		}
	}
	valued := true
	w := Walk{Visit: func(n ast.Node) bool {
		if s, ok := n.(*ast.ReturnStatement); ok && s.Argument == nil {
			valued = false
		}
		e, ok := n.(ast.Expression)
		return !ok || !isFunction(e)
	}}
	w.Statements(t.Main.Body.List)
	return valued
}
