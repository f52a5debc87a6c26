package script

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	jstoken "github.com/dop251/goja/token"
)

// A ReadSite is the way in which a program reads a property.
type ReadSite uint8

// The ways to read a property.
const (
	// ReadPlain is a read whose value is used unchecked.
	ReadPlain ReadSite = iota + 1
	// ReadTested is a read that the program expects to be undefined at times: before ?. or ??, in
	// a condition, in a comparison.
	ReadTested
	// ReadDynamic is a read of a property that the text does not name.
	ReadDynamic
)

// A Spot is a position as in the frames of a trace.
type Spot struct{ Line, Column int }

// ReadSites returns how properties are read at each position in the tree, which at names. A
// position with reads of several kinds counts as the mildest of them.
func ReadSites(tree *ast.Program, at func(file.Idx) Spot) map[Spot]ReadSite {
	t := &testedReads{at: at, tested: make(map[ast.Node]bool), sites: make(map[Spot]ReadSite)}
	w := Walk{Visit: func(n ast.Node) bool {
		t.marks(n)
		switch n := n.(type) {
		case *ast.DotExpression:
			t.note(n.Identifier.Idx, n, ReadPlain)
		case *ast.BracketExpression:
			kind := ReadPlain
			if _, named := n.Member.(*ast.StringLiteral); !named {
				kind = ReadDynamic
			}
			t.note(n.LeftBracket, n, kind)
		}
		return true
	}}
	w.Statements(tree.Body)
	return t.sites
}

type testedReads struct {
	at     func(file.Idx) Spot
	tested map[ast.Node]bool // expressions with a tested value
	sites  map[Spot]ReadSite
}

func (t *testedReads) note(idx file.Idx, n ast.Node, kind ReadSite) {
	if t.tested[n] {
		kind = ReadTested
	}
	if at := t.at(idx); t.sites[at] < kind {
		t.sites[at] = kind
	}
}

// Reads returns how the program reads properties at each position, as frames of goja contain it.
func (t *Tree) Reads() map[Spot]ReadSite {
	return ReadSites(t.Root, func(i file.Idx) Spot {
		p := t.Root.File.Position(int(i) - t.Root.File.Base())
		return Spot{p.Line, p.Column}
	})
}

// filters are methods with a callback that returns a condition.
var filters = []string{"filter", "some", "every", "find", "findIndex", "findLast", "findLastIndex"}

// marks marks the operands that n tests. It is called for n before its children.
func (t *testedReads) marks(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStatement:
		t.mark(n.Test)
	case *ast.WhileStatement:
		t.mark(n.Test)
	case *ast.DoWhileStatement:
		t.mark(n.Test)
	case *ast.ForStatement:
		t.mark(n.Test)
	case *ast.SwitchStatement:
		t.mark(n.Discriminant)
	case *ast.ConditionalExpression:
		t.mark(n.Test)
		t.inherit(n, n.Consequent, n.Alternate)
	case *ast.Optional:
		t.mark(n.Expression)
	case *ast.OptionalChain:
		t.mark(n.Expression)
	case *ast.UnaryExpression:
		if n.Operator == jstoken.NOT || n.Operator == jstoken.TYPEOF {
			t.mark(n.Operand)
		}
	case *ast.BinaryExpression:
		t.binary(n)
	case *ast.AssignExpression:
		// a.b ??= 1 and destructuring with a default test what they read.
		if n.Operator == jstoken.LOGICAL_AND || n.Operator == jstoken.LOGICAL_OR || n.Operator == jstoken.COALESCE {
			t.mark(n.Left)
		}
	case *ast.SequenceExpression:
		if len(n.Sequence) > 0 {
			t.inherit(n, n.Sequence[len(n.Sequence)-1])
		}
	case *ast.AwaitExpression:
		t.inherit(n, n.Argument)
	case *ast.CallExpression:
		t.call(n)
	}
}

func (t *testedReads) binary(n *ast.BinaryExpression) {
	switch n.Operator {
	case jstoken.LOGICAL_AND, jstoken.LOGICAL_OR, jstoken.COALESCE:
		t.mark(n.Left)
		t.inherit(n, n.Right)
	case jstoken.EQUAL, jstoken.NOT_EQUAL, jstoken.STRICT_EQUAL, jstoken.STRICT_NOT_EQUAL, jstoken.LESS, jstoken.GREATER,
		jstoken.LESS_OR_EQUAL, jstoken.GREATER_OR_EQUAL, jstoken.IN, jstoken.INSTANCEOF:
		t.mark(n.Left)
		t.mark(n.Right)
	}
}

// call marks what known functions test.
func (t *testedReads) call(n *ast.CallExpression) {
	// The callee of ?.( is marked as Optional.
	switch callee := n.Callee.(type) {
	case *ast.Identifier:
		if callee.Name == "Boolean" {
			t.mark(n.ArgumentList...)
		}
	case *ast.DotExpression:
		name := callee.Identifier.Name.String()
		if owner, ok := callee.Left.(*ast.Identifier); ok && owner.Name == "Array" && name == "isArray" {
			t.mark(n.ArgumentList...)
		}
		if len(n.ArgumentList) == 0 || !slices.Contains(filters, name) {
			return
		}
		if f, ok := n.ArgumentList[0].(*ast.ArrowFunctionLiteral); ok {
			if body, ok := f.Body.(*ast.ExpressionBody); ok {
				t.mark(body.Expression)
			}
		}
	}
}

func (t *testedReads) mark(list ...ast.Expression) {
	for _, e := range list {
		if e != nil {
			t.tested[e] = true
		}
	}
}

// inherit marks parts that have the value of the whole.
func (t *testedReads) inherit(whole ast.Node, parts ...ast.Expression) {
	if t.tested[whole] {
		t.mark(parts...)
	}
}
