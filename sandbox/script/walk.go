package script

import "github.com/dop251/goja/ast"

// A Walk visits a syntax tree in the order of the text, and may change it. Nil functions are not
// called.
type Walk struct {
	// Visit is called for every statement and expression before its children; if it returns false,
	// they are skipped. Names that are only labels or members are not nodes.
	Visit func(n ast.Node) bool
	// Leave is called with the slot of every expression that is read, after its children were
	// visited; it may replace the expression.
	Leave func(slot *ast.Expression)
	// Bound is called for the target of a declaration, a parameter or a property, with its initial
	// value, which may be nil.
	Bound func(target ast.Expression, initial ast.Expression)
	// Caught is called for every catch clause.
	Caught func(c *ast.CatchStatement)
}

func (w *Walk) enter(n ast.Node) bool { return w.Visit == nil || w.Visit(n) }

func (w *Walk) bind(target, initial ast.Expression) {
	if w.Bound != nil {
		w.Bound(target, initial)
	}
}

// Statements visits a list.
func (w *Walk) Statements(list []ast.Statement) {
	for _, s := range list {
		w.statement(s)
	}
}

func (w *Walk) statement(s ast.Statement) {
	if s == nil || !w.enter(s) {
		return
	}
	switch s := s.(type) {
	case *ast.BlockStatement:
		w.block(s)
	case *ast.ExpressionStatement:
		w.expr(&s.Expression)
	case *ast.VariableStatement:
		w.bindings(s.List)
	case *ast.LexicalDeclaration:
		w.bindings(s.List)
	case *ast.FunctionDeclaration:
		w.expression(s.Function)
	case *ast.ClassDeclaration:
		w.class(s.Class)
	case *ast.ReturnStatement:
		w.expr(&s.Argument)
	case *ast.ThrowStatement:
		w.expr(&s.Argument)
	case *ast.IfStatement:
		w.expr(&s.Test)
		w.statement(s.Consequent)
		w.statement(s.Alternate)
	case *ast.LabelledStatement:
		w.statement(s.Statement)
	case *ast.TryStatement:
		w.block(s.Body)
		if s.Catch != nil {
			if s.Catch.Parameter != nil {
				w.target(s.Catch.Parameter, nil)
			}
			w.block(s.Catch.Body)
			if w.Caught != nil {
				w.Caught(s.Catch)
			}
		}
		w.block(s.Finally)
	case *ast.SwitchStatement:
		w.expr(&s.Discriminant)
		for _, c := range s.Body {
			w.expr(&c.Test)
			w.Statements(c.Consequent)
		}
	default:
		w.loop(s)
	}
}

func (w *Walk) loop(s ast.Statement) {
	switch s := s.(type) {
	case *ast.WhileStatement:
		w.expr(&s.Test)
		w.statement(s.Body)
	case *ast.DoWhileStatement:
		w.statement(s.Body)
		w.expr(&s.Test)
	case *ast.ForInStatement:
		w.into(s.Into)
		w.expr(&s.Source)
		w.statement(s.Body)
	case *ast.ForOfStatement:
		w.into(s.Into)
		w.expr(&s.Source)
		w.statement(s.Body)
	case *ast.ForStatement:
		switch init := s.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			w.expr(&init.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			w.bindings(init.List)
		case *ast.ForLoopInitializerLexicalDecl:
			w.bindings(init.LexicalDeclaration.List)
		}
		w.expr(&s.Test)
		w.expr(&s.Update)
		w.statement(s.Body)
	case *ast.WithStatement:
		w.expr(&s.Object)
		w.statement(s.Body)
	}
}

func (w *Walk) block(b *ast.BlockStatement) {
	if b != nil {
		w.Statements(b.List)
	}
}

func (w *Walk) into(into ast.ForInto) {
	switch into := into.(type) {
	case *ast.ForIntoVar:
		w.target(into.Binding.Target, nil)
		w.expr(&into.Binding.Initializer)
	case *ast.ForDeclaration:
		w.target(into.Target, nil)
	case *ast.ForIntoExpression:
		w.target(into.Expression, nil)
	}
}

func (w *Walk) bindings(list []*ast.Binding) {
	for _, b := range list {
		w.target(b.Target, b.Initializer)
		w.expr(&b.Initializer)
	}
}

// target visits the target of an assignment: names are bound, not read.
func (w *Walk) target(t, initial ast.Expression) {
	switch t := t.(type) {
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			w.target(e, nil)
		}
		w.target(t.Rest, nil)
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				w.bind(&p.Name, p.Initializer)
				w.expr(&p.Initializer)
			case *ast.PropertyKeyed:
				if p.Computed {
					w.expr(&p.Key)
				}
				w.target(p.Value, nil)
			}
		}
		w.target(t.Rest, nil)
	case *ast.AssignExpression: // a default value in a pattern
		w.target(t.Left, t.Right)
		w.expr(&t.Right)
	case *ast.Binding:
		w.target(t.Target, t.Initializer)
		w.expr(&t.Initializer)
	case *ast.DotExpression:
		w.enter(t)
		w.bind(t, initial)
		w.expr(&t.Left)
	case *ast.PrivateDotExpression:
		w.bind(t, initial)
		w.expr(&t.Left)
	case *ast.BracketExpression:
		w.enter(t)
		w.expr(&t.Left)
		w.expr(&t.Member)
	case *ast.Identifier:
		w.bind(t, initial)
	}
}

func (w *Walk) function(f *ast.FunctionLiteral) {
	if f.Name != nil {
		w.bind(f.Name, f)
	}
	w.parameters(f.ParameterList)
	w.block(f.Body)
}

func (w *Walk) parameters(list *ast.ParameterList) {
	if list == nil {
		return
	}
	w.bindings(list.List)
	w.target(list.Rest, nil)
}

func (w *Walk) class(c *ast.ClassLiteral) {
	if c.Name != nil {
		w.bind(c.Name, c)
	}
	w.expr(&c.SuperClass)
	for _, e := range c.Body {
		switch e := e.(type) {
		case *ast.FieldDefinition:
			w.key(&e.Key, e.Computed, e.Initializer)
			w.expr(&e.Initializer)
		case *ast.MethodDefinition:
			w.key(&e.Key, e.Computed, nil)
			w.expression(e.Body)
		case *ast.ClassStaticBlock:
			w.block(e.Block)
		}
	}
}

// key visits the key of a member, which is an expression or a name.
func (w *Walk) key(slot *ast.Expression, computed bool, initial ast.Expression) {
	if computed {
		w.expr(slot)
	} else {
		w.bind(*slot, initial)
	}
}

func (w *Walk) list(slots []ast.Expression) {
	for i := range slots {
		w.expr(&slots[i])
	}
}

// expr visits the expression at slot, which may be nil.
func (w *Walk) expr(slot *ast.Expression) {
	if *slot == nil {
		return
	}
	w.expression(*slot)
	if w.Leave != nil {
		w.Leave(slot)
	}
}

// expression visits an expression that cannot be replaced.
func (w *Walk) expression(e ast.Expression) {
	if w.enter(e) {
		w.below(e)
	}
}

func (w *Walk) below(e ast.Expression) {
	switch e := e.(type) {
	case *ast.AssignExpression:
		w.target(e.Left, e.Right)
		w.expr(&e.Right)
	case *ast.BinaryExpression:
		w.expr(&e.Left)
		w.expr(&e.Right)
	case *ast.BracketExpression:
		w.expr(&e.Left)
		w.expr(&e.Member)
	case *ast.CallExpression:
		w.expr(&e.Callee)
		w.list(e.ArgumentList)
	case *ast.NewExpression:
		w.expr(&e.Callee)
		w.list(e.ArgumentList)
	case *ast.ConditionalExpression:
		w.expr(&e.Test)
		w.expr(&e.Consequent)
		w.expr(&e.Alternate)
	case *ast.DotExpression:
		w.expr(&e.Left)
	case *ast.PrivateDotExpression:
		w.expr(&e.Left)
	case *ast.OptionalChain:
		w.expr(&e.Expression)
	case *ast.Optional:
		w.expr(&e.Expression)
	case *ast.SpreadElement:
		w.expr(&e.Expression)
	case *ast.SequenceExpression:
		w.list(e.Sequence)
	case *ast.UnaryExpression:
		w.expr(&e.Operand)
	case *ast.AwaitExpression:
		w.expr(&e.Argument)
	case *ast.YieldExpression:
		w.expr(&e.Argument)
	default:
		w.literal(e)
	}
}

func (w *Walk) literal(e ast.Expression) {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		w.list(e.Value)
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			w.property(p)
		}
	case *ast.TemplateLiteral:
		w.expr(&e.Tag)
		w.list(e.Expressions)
	case *ast.FunctionLiteral:
		w.function(e)
	case *ast.ClassLiteral:
		w.class(e)
	case *ast.ArrowFunctionLiteral:
		w.parameters(e.ParameterList)
		switch body := e.Body.(type) {
		case *ast.BlockStatement:
			w.block(body)
		case *ast.ExpressionBody:
			w.expr(&body.Expression)
		}
	}
}

func (w *Walk) property(p ast.Property) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		w.expression(&p.Name)
	case *ast.PropertyKeyed:
		w.key(&p.Key, p.Computed, p.Value)
		w.expr(&p.Value)
	case *ast.SpreadElement:
		w.expr(&p.Expression)
	}
}
