package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	schemas "github.com/mcpbroker/mcpbroker/internal/schema"
)

// TypedArguments makes an object of words, which are KEY=VALUE. A key that is
// given again, or with something that is not JSON, adds to an array.
func TypedArguments(s Schema, words []string) (json.RawMessage, error) {
	args := make(map[string]any)
	for _, w := range words {
		key, text, _ := strings.Cut(w, "=")
		p := s.Property(key)
		v := p.typed(text)
		types := p.types()
		old, again := args[key]
		list, adds := old.([]any)
		if _, whole := v.(json.RawMessage); !whole && slices.Contains(types, "array") && !slices.Contains(types, "string") && (adds || !again) {
			args[key] = append(list, p.Resolved().Sub("items").typed(text))
			continue
		}
		if again {
			return nil, Usagef("%s is given twice", key)
		}
		args[key] = v
	}
	return json.Marshal(args)
}

// A Schema is a JSON Schema that a server wrote, read as leniently as it takes
// to show it to people and to read what they type.
type Schema struct {
	node *schemas.Object // nil if not an object
	doc  schemas.Document
}

// maxSchemaSteps is how many alternatives are followed: they may lead back to themselves.
const maxSchemaSteps = 200

func ReadSchema(raw json.RawMessage) Schema {
	d := schemas.Read(raw)
	return Schema{d.Object(), d}
}

// Resolved follows references within the schema.
func (s Schema) Resolved() Schema { return Schema{s.doc.Resolve(s.node), s.doc} }

// Sub returns the schema that stands in s under a key.
func (s Schema) Sub(key string) Schema { return Schema{s.node.Object(key), s.doc} }

// Property returns the schema of one property of s.
func (s Schema) Property(name string) Schema { return s.Resolved().Sub("properties").Sub(name) }

// branches are the alternatives of s.
func (s Schema) branches() []Schema {
	var list []Schema
	for _, b := range s.node.Branches("anyOf", "oneOf", "allOf") {
		node, _ := b.(*schemas.Object)
		list = append(list, Schema{node, s.doc})
	}
	return list
}

// types are the JSON types that s allows, as far as it says.
func (s Schema) types() []string {
	steps := maxSchemaSteps
	return s.typesWithin(&steps)
}

func (s Schema) typesWithin(steps *int) []string {
	if *steps--; *steps < 0 {
		return nil
	}
	s = s.Resolved()
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
func (s Schema) values() []string {
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
func (s Schema) typed(text string) any {
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
func (s Schema) typeName() string {
	s = s.Resolved()
	list := s.values()
	if len(list) == 0 {
		list = s.types()
	}
	for i, t := range list {
		if items := s.Sub("items").Resolved(); t == "array" && items.node != nil {
			if list[i] = strings.Join(items.types(), " | "); len(items.types()) != 1 {
				list[i] = "(" + cmp.Or(list[i], "any") + ")"
			}
			list[i] += "[]"
		}
	}
	return cmp.Or(strings.Join(list, " | "), "any")
}

// A Parameter is one row in the table of a tool's parameters.
type Parameter struct {
	Name, Kind, Default, Description string
	Required                         bool
}

// maxParameters is how many rows of parameters are shown, and maxNested how deep
// those of objects are.
const (
	maxParameters = 300
	maxNested     = 3
)

// Parameters returns the properties of s, and below each those of the objects in it:
// required ones first, in the order of the schema, then the others by name.
func (s Schema) Parameters() []Parameter {
	var rows []Parameter
	s.addParameters(&rows, "", maxNested)
	return rows
}

func (s Schema) addParameters(rows *[]Parameter, prefix string, depth int) {
	s = s.Resolved()
	properties := s.Sub("properties")
	names := slices.DeleteFunc(s.node.Required(), func(name string) bool { return properties.node.Get(name) == nil })
	first := len(names)
	for _, name := range properties.Names() {
		if !slices.Contains(names[:first], name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if len(*rows) >= maxParameters || depth == 0 {
			return
		}
		p := properties.Sub(name)
		full := p.Resolved()
		row := Parameter{Name: OneLine(prefix+name, 40), Kind: OneLine(p.typeName(), 30), Required: i < first}
		row.Description = cmp.Or(p.Text("description"), full.Text("description"))
		for _, at := range []Schema{full, p} {
			if at.node.Has("default") {
				row.Default = OneLine(jsonText(at.node.Get("default")), 20)
			}
		}
		*rows = append(*rows, row)
		full.addParameters(rows, prefix+name+".", depth-1)
		full.Sub("items").addParameters(rows, prefix+name+"[].", depth-1)
	}
}

func (s Schema) Text(key string) string { return s.node.Text(key) }

// Names returns the keys of s, sorted.
func (s Schema) Names() []string {
	if s.node == nil {
		return nil
	}
	return slices.Sorted(slices.Values(s.node.Keys))
}

// Choices returns what may be typed as a value of s, if there is a choice.
func (s Schema) Choices() []string {
	s = s.Resolved()
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
