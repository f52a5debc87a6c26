package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Literal is the known part of a value: all of it when a call is made, and before that what the
// program's text contains. Offset is passed on to findings.
type Literal struct {
	Kind   Kind
	Offset int
	// Value is the value of a KnownValue: a string, a json.Number, a bool or nil.
	Value any
	// Open reports that an object may have more keys than Fields, or an array elements other than
	// Items.
	Open   bool
	Fields []Field
	Items  []Literal
}

// A Field is a known key of an object, and its value.
type Field struct {
	Name   string
	Offset int
	Value  Literal
}

// A Kind is the known kind of a value.
type Kind string

// The kinds of literals.
const (
	Unknown     Kind = ""          // nothing
	KnownValue  Kind = "value"     // a string, a number, a boolean or null
	KnownText   Kind = "text"      // a string with unknown content
	Undefined   Kind = "undefined" // it will not be sent
	KnownObject Kind = "object"
	KnownArray  Kind = "array"
)

// ParseLiteral returns JSON as a literal that is completely known.
func ParseLiteral(raw json.RawMessage) (Literal, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return Literal{}, err
	}
	return literalOf(v), nil
}

func literalOf(v any) Literal {
	switch v := v.(type) {
	case map[string]any:
		l := Literal{Kind: KnownObject}
		for name, value := range v {
			l.Fields = append(l.Fields, Field{Name: name, Value: literalOf(value)})
		}
		slices.SortFunc(l.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		return l
	case []any:
		l := Literal{Kind: KnownArray}
		for _, item := range v {
			l.Items = append(l.Items, literalOf(item))
		}
		return l
	}
	return Literal{Kind: KnownValue, Value: v}
}

// without returns the value of l, which is completely known, without some fields.
func (l Literal) without(omitted []*Field) any {
	switch l.Kind {
	case KnownObject:
		o := make(map[string]any, len(l.Fields))
		for i := range l.Fields {
			if f := &l.Fields[i]; !slices.Contains(omitted, f) {
				o[f.Name] = f.Value.without(omitted)
			}
		}
		return o
	case KnownArray:
		a := make([]any, len(l.Items))
		for i, item := range l.Items {
			a[i] = item.without(omitted)
		}
		return a
	}
	return l.Value
}

func (l Literal) isNull() bool { return l.Kind == KnownValue && l.Value == nil }

// typeName returns the JSON Schema type of l, or "" if it is unknown.
func (l Literal) typeName() string {
	switch l.Kind {
	case KnownText:
		return "string"
	case KnownObject:
		return "object"
	case KnownArray:
		return "array"
	case KnownValue:
		switch l.Value.(type) {
		case nil:
			return "null"
		case string:
			return "string"
		case bool:
			return "boolean"
		case json.Number:
			return "number"
		}
	}
	return ""
}

// String returns l as messages show it.
func (l Literal) String() string {
	switch l.Kind {
	case KnownValue:
		return gate.Cut(compact(l.Value), 60)
	case KnownText:
		return "a string"
	case KnownObject:
		return "an object"
	case KnownArray:
		return "an array"
	}
	return "nothing"
}

// compact writes a value as JSON without the escapes of HTML.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
