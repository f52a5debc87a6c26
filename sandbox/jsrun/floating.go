package jsrun

import (
	"fmt"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	gojatoken "github.com/dop251/goja/token"
)

// What a program starts with a statement of its own and does not await, such as
// main() or setTimeout(f, 9000), is meant: the run goes on until it has ended. What
// is left behind in other ways, such as the timer of a Promise.race, is not worth
// waiting for, but for the grace period.

const floatName = "$broker_float"

// noteFloating makes $broker_float(main()) of main() and of void main(), where that is a
// statement of the program, and $broker_float(setTimeout(f), true) of the timers that
// statements set. Calls of tools are left out when it runs.
func noteFloating(list []ast.Statement) {
	eachFloating(list, func(e *ast.Expression) {
		args := []ast.Expression{*e}
		if setsTimer(*e) {
			args = append(args, &ast.BooleanLiteral{Idx: (*e).Idx0(), Literal: "true", Value: true})
		}
		*e = callOf(floatName, *e, args...)
	})
}

// eachFloating calls f with the expressions whose value may go on by itself.
func eachFloating(list []ast.Statement, f func(*ast.Expression)) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExpressionStatement:
			if c, ok := s.Expression.(*ast.CallExpression); ok && (!effectOnly(c) || setsTimer(c)) {
				f(&s.Expression)
			}
			if u, ok := s.Expression.(*ast.UnaryExpression); ok && u.Operator == gojatoken.VOID {
				if _, ok := u.Operand.(*ast.CallExpression); ok {
					f(&u.Operand)
				}
			}
		case *ast.LexicalDeclaration:
			eachTimer(s.List, f)
		case *ast.VariableStatement:
			eachTimer(s.List, f)
		}
	}
}

func eachTimer(list []*ast.Binding, f func(*ast.Expression)) {
	for _, b := range list {
		if setsTimer(b.Initializer) {
			f(&b.Initializer)
		}
	}
}

func setsTimer(e ast.Expression) bool {
	c, ok := e.(*ast.CallExpression)
	if !ok {
		return false
	}
	name, ok := c.Callee.(*ast.Identifier)
	return ok && (name.Name == "setTimeout" || name.Name == "setInterval")
}

// float notes the value of a statement, which is the number of a timer if the second
// argument says so.
func (r *runtime) float(c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if o, ok := v.(*goja.Object); ok {
		if o.ExportType() == promiseType {
			p := o.Export().(*goja.Promise)
			if c := r.loop.callOf(p); c != nil {
				c.stated = true
			} else if p.State() == goja.PromiseStatePending {
				r.floating = append(r.floating, p)
			}
		}
	} else if id, ok := v.Export().(int64); ok && c.Argument(1).ToBoolean() {
		if t := r.loop.byID[id]; t != nil {
			t.kept = true
		}
	}
	return v
}

// goesOn reports whether something that was started with a statement is still
// under way and can go on, before the deadline if there is one.
func (r *runtime) goesOn(deadline time.Time, limited bool) bool {
	for _, t := range r.loop.timers {
		if t.kept && t.every == 0 && (!limited || t.due.Before(deadline)) {
			return true
		}
	}
	if len(r.loop.calls) == 0 && len(r.loop.timers) == 0 {
		return false
	}
	for _, p := range r.floating {
		if p.State() == goja.PromiseStatePending {
			return true
		}
	}
	return false
}

// timerNotes says which timers of statements have not come to their end.
func (r *runtime) timerNotes() (notes []string) {
	var intervals, timeouts int
	for _, t := range r.loop.timers {
		switch {
		case t.kept && t.every > 0:
			intervals++
		case t.kept:
			timeouts++
		}
	}
	if intervals > 0 {
		notes = append(notes, "a setInterval was still set when the script ended, and was cleared: clear it, or await a promise that it resolves")
	}
	if timeouts > 0 {
		notes = append(notes, fmt.Sprintf("%d setTimeout %s still set when the script ended, for after the time limit: what it does was not done",
			timeouts, map[bool]string{true: "was", false: "were"}[timeouts == 1]))
	}
	return notes
}
