package jsrun

import "github.com/dop251/goja/ast"

// A walker visits a syntax tree in the order of the text. enter is called for
// each node before those below it; false leaves those out. Names that are only
// labels or members are no nodes of their own.
type walker struct {
	enter func(ast.Node) bool
	// bind is called for each identifier that a declaration, a parameter or a
	// pattern names, in place of enter.
	bind func(*ast.Identifier)
}

func (w *walker) statements(list []ast.Statement) {
	for _, s := range list {
		w.node(s)
	}
}

func (w *walker) expressions(list []ast.Expression) {
	for _, e := range list {
		w.node(e)
	}
}

// node visits n and what is below it. A nil pointer in an interface is how the
// parser writes that an optional part is missing.
func (w *walker) node(n ast.Node) {
	if n == nil || isNil(n) || !w.enter(n) {
		return
	}
	if e, ok := n.(ast.Expression); ok {
		w.below(e)
		return
	}
	switch n := n.(type) {
	case *ast.BlockStatement:
		w.statements(n.List)
	case *ast.ExpressionStatement:
		w.node(n.Expression)
	case *ast.VariableStatement:
		w.bindings(n.List)
	case *ast.LexicalDeclaration:
		w.bindings(n.List)
	case *ast.FunctionDeclaration:
		w.name(n.Function.Name)
		w.node(n.Function)
	case *ast.ClassDeclaration:
		w.name(n.Class.Name)
		w.node(n.Class)
	case *ast.ReturnStatement:
		w.node(n.Argument)
	case *ast.ThrowStatement:
		w.node(n.Argument)
	case *ast.IfStatement:
		w.node(n.Test)
		w.node(n.Consequent)
		w.node(n.Alternate)
	case *ast.LabelledStatement:
		w.node(n.Statement)
	case *ast.TryStatement:
		w.node(n.Body)
		if n.Catch != nil {
			w.target(n.Catch.Parameter)
			w.node(n.Catch.Body)
		}
		w.node(n.Finally)
	case *ast.SwitchStatement:
		w.node(n.Discriminant)
		for _, c := range n.Body {
			w.node(c.Test)
			w.statements(c.Consequent)
		}
	case *ast.WithStatement:
		w.node(n.Object)
		w.node(n.Body)
	default:
		w.loop(n)
	}
}

func (w *walker) loop(n ast.Node) {
	switch n := n.(type) {
	case *ast.ForStatement:
		switch init := n.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			w.node(init.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			w.bindings(init.List)
		case *ast.ForLoopInitializerLexicalDecl:
			w.bindings(init.LexicalDeclaration.List)
		}
		w.node(n.Test)
		w.node(n.Update)
		w.node(n.Body)
	case *ast.ForInStatement:
		w.into(n.Into)
		w.node(n.Source)
		w.node(n.Body)
	case *ast.ForOfStatement:
		w.into(n.Into)
		w.node(n.Source)
		w.node(n.Body)
	case *ast.WhileStatement:
		w.node(n.Test)
		w.node(n.Body)
	case *ast.DoWhileStatement:
		w.node(n.Body)
		w.node(n.Test)
	}
}

func (w *walker) into(n ast.ForInto) {
	switch n := n.(type) {
	case *ast.ForIntoVar:
		w.bindings([]*ast.Binding{n.Binding})
	case *ast.ForDeclaration:
		w.target(n.Target)
	case *ast.ForIntoExpression:
		w.assigned(n.Expression)
	}
}

// below visits what an expression is made of.
func (w *walker) below(e ast.Expression) {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		w.expressions(e.Value)
	case *ast.ObjectLiteral:
		w.properties(e.Value)
	case *ast.AssignExpression:
		w.assigned(e.Left)
		w.node(e.Right)
	case *ast.AwaitExpression:
		w.node(e.Argument)
	case *ast.YieldExpression:
		w.node(e.Argument)
	case *ast.BinaryExpression:
		w.node(e.Left)
		w.node(e.Right)
	case *ast.BracketExpression:
		w.node(e.Left)
		w.node(e.Member)
	case *ast.DotExpression:
		w.node(e.Left)
	case *ast.PrivateDotExpression:
		w.node(e.Left)
	case *ast.CallExpression:
		w.node(e.Callee)
		w.expressions(e.ArgumentList)
	case *ast.NewExpression:
		w.node(e.Callee)
		w.expressions(e.ArgumentList)
	case *ast.ConditionalExpression:
		w.node(e.Test)
		w.node(e.Consequent)
		w.node(e.Alternate)
	case *ast.OptionalChain:
		w.node(e.Expression)
	case *ast.Optional:
		w.node(e.Expression)
	case *ast.SequenceExpression:
		w.expressions(e.Sequence)
	case *ast.SpreadElement:
		w.node(e.Expression)
	case *ast.TemplateLiteral:
		w.node(e.Tag)
		w.expressions(e.Expressions)
	case *ast.UnaryExpression:
		w.node(e.Operand)
	default:
		w.function(e)
	}
}

func (w *walker) function(e ast.Expression) {
	switch e := e.(type) {
	case *ast.FunctionLiteral:
		w.name(e.Name)
		w.parameters(e.ParameterList)
		w.node(e.Body)
	case *ast.ArrowFunctionLiteral:
		w.parameters(e.ParameterList)
		switch body := e.Body.(type) {
		case *ast.BlockStatement:
			w.node(body)
		case *ast.ExpressionBody:
			w.node(body.Expression)
		}
	case *ast.ClassLiteral:
		w.name(e.Name)
		w.node(e.SuperClass)
		for _, member := range e.Body {
			w.member(member)
		}
	}
}

func (w *walker) member(m ast.ClassElement) {
	switch m := m.(type) {
	case *ast.FieldDefinition:
		if m.Computed {
			w.node(m.Key)
		}
		w.node(m.Initializer)
	case *ast.MethodDefinition:
		if m.Computed {
			w.node(m.Key)
		}
		w.node(m.Body)
	case *ast.ClassStaticBlock:
		w.node(m.Block)
	}
}

func (w *walker) properties(list []ast.Property) {
	for _, p := range list {
		switch p := p.(type) {
		case *ast.PropertyShort:
			w.node(&p.Name)
		case *ast.PropertyKeyed:
			if p.Computed {
				w.node(p.Key)
			}
			w.node(p.Value)
		case *ast.SpreadElement:
			w.node(p.Expression)
		}
	}
}

func (w *walker) parameters(p *ast.ParameterList) {
	if p == nil {
		return
	}
	w.bindings(p.List)
	w.target(p.Rest)
}

func (w *walker) bindings(list []*ast.Binding) {
	for _, b := range list {
		w.target(b.Target)
		w.node(b.Initializer)
	}
}

func (w *walker) name(n *ast.Identifier) {
	if n != nil {
		w.bind(n)
	}
}

// assigned visits what an assignment writes to: a pattern like a declaration's,
// or any expression that names a place.
func (w *walker) assigned(e ast.Expression) {
	switch e.(type) {
	case *ast.Identifier, *ast.ObjectPattern, *ast.ArrayPattern:
		w.target(e)
	default:
		w.node(e)
	}
}

// target visits what a declaration binds. Values inside of it, such as
// defaults and computed keys, are visited as what they are.
func (w *walker) target(e ast.Expression) {
	if e == nil || isNil(e) {
		return
	}
	switch e := e.(type) {
	case *ast.Identifier:
		w.bind(e)
	case *ast.AssignExpression: // with a default
		w.assigned(e.Left)
		w.node(e.Right)
	case *ast.Binding:
		w.bindings([]*ast.Binding{e})
	case *ast.SpreadElement:
		w.target(e.Expression)
	case *ast.ArrayPattern:
		for _, item := range e.Elements {
			w.target(item)
		}
		w.target(e.Rest)
	case *ast.ObjectPattern:
		for _, p := range e.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				w.bind(&p.Name)
				w.node(p.Initializer)
			case *ast.PropertyKeyed:
				if p.Computed {
					w.node(p.Key)
				}
				w.target(p.Value)
			}
		}
		w.target(e.Rest)
	default:
		w.node(e)
	}
}

// isNil reports whether an interface holds a nil pointer of the kinds that the
// parser leaves out.
func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStatement:
		return n == nil
	case *ast.FunctionLiteral:
		return n == nil
	case *ast.Identifier:
		return n == nil
	}
	return false
}
