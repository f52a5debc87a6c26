package script

import (
	"encoding/json"
	"math/big"

	"github.com/dop251/goja/ast"
	jstoken "github.com/dop251/goja/token"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Bounds of the reported literals; deeper or wider ones are unknown.
const (
	maxLiteralDepth = 16
	maxLiteralItems = 200
)

// literal returns what the text shows about the value of e.
func (s *survey) literal(e ast.Expression, depth int) sandbox.Literal {
	l := sandbox.Literal{}
	var ok bool
	if l.Offset, ok = s.at(e.Idx0()); !ok || depth > maxLiteralDepth {
		return l
	}
	if t, ok := text(e); ok {
		return knownLiteral(l, t)
	}
	switch e := e.(type) {
	case *ast.BooleanLiteral:
		return knownLiteral(l, e.Value)
	case *ast.NullLiteral:
		return knownLiteral(l, nil)
	case *ast.NumberLiteral:
		return numeric(l, e.Value, 1)
	case *ast.Identifier:
		if e.Name == "undefined" && !s.bound["undefined"] {
			l.Kind = sandbox.LiteralUndefined
		}
	case *ast.UnaryExpression:
		operand, isNumber := e.Operand.(*ast.NumberLiteral)
		switch {
		case e.Operator == jstoken.MINUS && isNumber:
			return numeric(l, operand.Value, -1)
		case e.Operator == jstoken.VOID && isNumber: // how a compiler writes undefined
			l.Kind = sandbox.LiteralUndefined
		}
	case *ast.TemplateLiteral:
		if e.Tag == nil {
			l.Kind = sandbox.LiteralText
		}
	case *ast.ArrayLiteral:
		s.array(&l, e, depth)
	case *ast.ObjectLiteral:
		s.object(&l, e, depth)
	}
	return l
}

// knownLiteral returns a literal with a value that the JSON of literals can express.
func knownLiteral(l sandbox.Literal, v any) sandbox.Literal {
	raw, err := json.Marshal(v)
	if err != nil {
		return l
	}
	l.Kind, l.Value = sandbox.LiteralValue, raw
	return l
}

// numeric returns a literal with a number times sign.
func numeric(l sandbox.Literal, v any, sign int) sandbox.Literal {
	switch v := v.(type) {
	case int64:
		return knownLiteral(l, v*int64(sign))
	case float64:
		return knownLiteral(l, v*float64(sign))
	case *big.Int:
		return knownLiteral(l, new(big.Int).Mul(v, big.NewInt(int64(sign))))
	}
	return l
}

func (s *survey) array(l *sandbox.Literal, e *ast.ArrayLiteral, depth int) {
	l.Kind = sandbox.LiteralArray
	if l.Open = len(e.Value) > maxLiteralItems; l.Open {
		return
	}
	for _, item := range e.Value {
		if _, spread := item.(*ast.SpreadElement); spread {
			l.Open, l.Items = true, nil
			return
		}
		if item == nil { // a hole is null in JSON
			l.Items = append(l.Items, knownLiteral(sandbox.Literal{Offset: l.Offset}, nil))
			continue
		}
		l.Items = append(l.Items, s.literal(item, depth+1))
	}
}

// object reads the keys of an object literal. A spread leaves it open, and may change the keys
// before it.
func (s *survey) object(l *sandbox.Literal, e *ast.ObjectLiteral, depth int) {
	l.Kind = sandbox.LiteralObject
	index := make(map[string]int)
	set := func(name string, f sandbox.LiteralField) {
		if i, again := index[name]; again {
			l.Fields[i] = f
			return
		}
		index[name] = len(l.Fields)
		l.Fields = append(l.Fields, f)
	}
	open := func() {
		l.Open = true
		for i := range l.Fields {
			l.Fields[i].Value = sandbox.Literal{Offset: l.Fields[i].Value.Offset}
		}
	}
	for _, p := range e.Value {
		if len(l.Fields) >= maxLiteralItems {
			open()
			return
		}
		switch p := p.(type) {
		case *ast.PropertyShort:
			offset, _ := s.at(p.Name.Idx)
			name := p.Name.Name.String()
			set(name, sandbox.LiteralField{Name: name, Offset: offset, Value: s.literal(&p.Name, depth+1)})
		case *ast.PropertyKeyed:
			key, ok := p.Key.(*ast.StringLiteral)
			if !ok || p.Kind != ast.PropertyKindValue && p.Kind != ast.PropertyKindMethod {
				open()
				continue
			}
			name := key.Value.String()
			if name == "toJSON" { // toJSON determines the value
				*l = sandbox.Literal{Offset: l.Offset}
				return
			}
			if name == "__proto__" {
				continue // not a key of the object
			}
			offset, _ := s.at(key.Idx)
			set(name, sandbox.LiteralField{Name: name, Offset: offset, Value: s.literal(p.Value, depth+1)})
		default:
			open()
		}
	}
}
