package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	schemas "github.com/mcpbroker/mcpbroker/internal/schema"
)

// A schema is a JSON Schema that a server wrote, read as leniently as it takes
// to show it to people and to read what they type.
type schema struct {
	node *schemas.Object // nil if not an object
	doc  schemas.Document
}

// maxSchemaSteps is how many alternatives are followed: they may lead back to themselves.
const maxSchemaSteps = 200

func readSchema(raw json.RawMessage) schema {
	d := schemas.Read(raw)
	return schema{d.Object(), d}
}

// resolved follows references within the schema.
func (s schema) resolved() schema { return schema{s.doc.Resolve(s.node), s.doc} }

// sub is the schema that stands in s under a key.
func (s schema) sub(key string) schema { return schema{s.node.Object(key), s.doc} }

// property is the schema of one property of s.
func (s schema) property(name string) schema { return s.resolved().sub("properties").sub(name) }

// branches are the alternatives of s.
func (s schema) branches() []schema {
	var list []schema
	for _, b := range s.node.Branches("anyOf", "oneOf", "allOf") {
		node, _ := b.(*schemas.Object)
		list = append(list, schema{node, s.doc})
	}
	return list
}

// types are the JSON types that s allows, as far as it says.
func (s schema) types() []string {
	steps := maxSchemaSteps
	return s.typesWithin(&steps)
}

func (s schema) typesWithin(steps *int) []string {
	if *steps--; *steps < 0 {
		return nil
	}
	s = s.resolved()
	list := s.node.Types()
	if !s.node.Has("type") {
		for _, v := range s.values() {
			list = append(list, kindOf(v))
		}
		for _, b := range s.branches() {
			list = append(list, b.typesWithin(steps)...)
		}
		if len(list) == 0 && s.node.Has("properties") {
			list = []string{"object"}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// values are the only ones that s allows, as JSON; none if others are too.
func (s schema) values() []string {
	list, _ := s.node.Values()
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = jsonText(v)
	}
	return texts
}

func jsonText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was JSON
	return strings.TrimSpace(b.String())
}

// kindOf is the type of a value in JSON.
func kindOf(text string) string {
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// typed is what somebody means who types text as a value of s: JSON where the
// schema allows a value of its type, else the text itself.
func (s schema) typed(text string) any {
	trimmed := strings.TrimSpace(text)
	if !json.Valid([]byte(trimmed)) {
		return text
	}
	kind, types := kindOf(trimmed), s.types()
	if kind != "string" && (slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer")) {
		return json.RawMessage(trimmed)
	}
	return text
}

// typeName is the type of s in a few words, such as string[] or "m" | "km".
func (s schema) typeName() string {
	s = s.resolved()
	list := s.values()
	if len(list) == 0 {
		list = s.types()
	}
	for i, t := range list {
		if items := s.sub("items").resolved(); t == "array" && items.node != nil {
			if list[i] = strings.Join(items.types(), " | "); len(items.types()) != 1 {
				list[i] = "(" + cmp.Or(list[i], "any") + ")"
			}
			list[i] += "[]"
		}
	}
	return cmp.Or(strings.Join(list, " | "), "any")
}

// A parameter is one row of what a tool takes.
type parameter struct {
	name, kind, usual, description string
	required                       bool
}

// maxParameters is how many rows of parameters are shown, and maxNested how deep
// those of objects are.
const (
	maxParameters = 300
	maxNested     = 3
)

// parameters are the properties of s, and below each those of the objects in it:
// required ones first, in the order of the schema, then the others by name.
func (s schema) parameters() []parameter {
	var rows []parameter
	s.addParameters(&rows, "", maxNested)
	return rows
}

func (s schema) addParameters(rows *[]parameter, prefix string, depth int) {
	s = s.resolved()
	properties := s.sub("properties")
	names := slices.DeleteFunc(s.node.Required(), func(name string) bool { return properties.node.Get(name) == nil })
	first := len(names)
	for _, name := range properties.names() {
		if !slices.Contains(names[:first], name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if len(*rows) >= maxParameters || depth == 0 {
			return
		}
		p := properties.sub(name)
		full := p.resolved()
		row := parameter{name: oneLine(prefix+name, 40), kind: oneLine(p.typeName(), 30), required: i < first}
		row.description = cmp.Or(p.text("description"), full.text("description"))
		for _, at := range []schema{full, p} {
			if at.node.Has("default") {
				row.usual = oneLine(jsonText(at.node.Get("default")), 20)
			}
		}
		*rows = append(*rows, row)
		full.addParameters(rows, prefix+name+".", depth-1)
		full.sub("items").addParameters(rows, prefix+name+"[].", depth-1)
	}
}

func (s schema) text(key string) string { return s.node.Text(key) }

// names are the keys of s, sorted.
func (s schema) names() []string {
	if s.node == nil {
		return nil
	}
	return slices.Sorted(slices.Values(s.node.Keys))
}

// choices are what may be typed as a value of s, if there is a choice.
func (s schema) choices() []string {
	s = s.resolved()
	list := s.values()
	if len(list) == 0 && slices.Equal(s.types(), []string{"boolean"}) {
		list = []string{"false", "true"}
	}
	for i, v := range list {
		if text := ""; json.Unmarshal([]byte(v), &text) == nil {
			list[i] = text
		}
	}
	return list
}
