package amend

import (
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// An array moves all its elements when the first one is removed, which takes seconds to minutes
// for a queue of 100,000 elements. If the text shows that an array is only used as a queue, it
// becomes one (class Queue of lib/arrays.js): its name is bound once, to a new array, and the
// program uses the name only for its length and for calls of these methods.
var queueMethods = map[unistring.String]bool{"shift": true, "unshift": true, "push": true, "pop": true}

// queues finds the names of such arrays.
type queues struct {
	made  map[unistring.String]*ast.Expression // the new array that a name is bound to
	bound map[unistring.String]int
	uses  map[unistring.String]int // the number of uses other than as a queue
	takes map[unistring.String]bool
}

func newQueues() *queues {
	return &queues{map[unistring.String]*ast.Expression{}, map[unistring.String]int{}, map[unistring.String]int{}, map[unistring.String]bool{}}
}

// bind records the binding of a name, and assignments to its members.
func (q *queues) bind(target, _ ast.Expression) {
	switch t := target.(type) {
	case *ast.Identifier:
		q.bound[t.Name]++
	case *ast.DotExpression:
		q.note(t.Left, 1)
	}
}

func (q *queues) note(e ast.Expression, uses int) {
	if name, ok := e.(*ast.Identifier); ok {
		q.uses[name.Name] += uses
	}
}

// visit counts the uses of names, except uses as a queue.
func (q *queues) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.LexicalDeclaration:
		for _, b := range n.List {
			if name, ok := b.Target.(*ast.Identifier); ok && isNewArray(b.Initializer) {
				q.made[name.Name] = &b.Initializer
			}
		}
	case *ast.Identifier:
		q.uses[n.Name]++
	case *ast.DotExpression:
		if n.Identifier.Name == "length" {
			q.note(n.Left, -1)
		}
	case *ast.UnaryExpression:
		if d, ok := n.Operand.(*ast.DotExpression); ok && n.Operator != gojatoken.NOT {
			q.note(d.Left, 1) // q.length--
		}
	case *ast.CallExpression:
		if d, ok := n.Callee.(*ast.DotExpression); ok && queueMethods[d.Identifier.Name] {
			q.note(d.Left, -1)
			if name, ok := d.Left.(*ast.Identifier); ok && d.Identifier.Name != "push" && d.Identifier.Name != "pop" {
				q.takes[name.Name] = true
			}
		}
	}
}

// isNewArray reports whether e is [...], Array.from(...), Object.keys(...), Object.values(...) or
// Object.entries(...).
func isNewArray(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		return true
	case *ast.CallExpression:
		d, ok := e.Callee.(*ast.DotExpression)
		if !ok {
			return false
		}
		owner, ok := d.Left.(*ast.Identifier)
		if !ok {
			return false
		}
		switch owner.Name + "." + d.Identifier.Name {
		case "Array.from", "Object.keys", "Object.values", "Object.entries":
			return true
		}
	}
	return false
}

// change replaces the arrays that are queues by $broker_queue([]), and reports whether there are
// any.
func (q *queues) change() (found bool) {
	for name, slot := range q.made {
		if q.takes[name] && q.bound[name] == 1 && q.uses[name] == 0 {
			*slot = script.CallOf(QueueName, *slot, *slot)
			found = true
		}
	}
	return found
}
