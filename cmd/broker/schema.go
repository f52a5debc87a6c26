package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A schema is a JSON Schema that a server wrote, read as leniently as it takes
// to show it to people and to read what they type.
type schema struct {
	node map[string]any // nil if it is no object
	root map[string]any // what references are looked up in
}

// maxSchemaSteps is how many references or alternatives are followed: they may
// lead back to themselves.
const maxSchemaSteps = 200

func readSchema(raw json.RawMessage) schema {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil {
		return schema{}
	}
	return schema{root, root}
}

// resolved follows references within the schema.
func (s schema) resolved() schema {
	for range maxSchemaSteps {
		ref, _ := s.node["$ref"].(string)
		path, local := strings.CutPrefix(ref, "#/")
		if !local {
			break
		}
		var at any = s.root
		for part := range strings.SplitSeq(path, "/") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		s.node, _ = at.(map[string]any)
	}
	return s
}

// sub is the schema that stands in s under a key.
func (s schema) sub(key string) schema {
	node, _ := s.node[key].(map[string]any)
	return schema{node, s.root}
}

// property is the schema of one property of s.
func (s schema) property(name string) schema { return s.resolved().sub("properties").sub(name) }

// branches are the alternatives of s.
func (s schema) branches() []schema {
	var list []schema
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		of, _ := s.node[key].([]any)
		for _, b := range of {
			node, _ := b.(map[string]any)
			list = append(list, schema{node, s.root})
		}
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
	var list []string
	switch t := s.node["type"].(type) {
	case string:
		list = []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				list = append(list, name)
			}
		}
	default:
		for _, v := range s.values() {
			list = append(list, kindOf(v))
		}
		for _, b := range s.branches() {
			list = append(list, b.typesWithin(steps)...)
		}
		if len(list) == 0 && s.node["properties"] != nil {
			list = []string{"object"}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// values are the only ones that s allows, as JSON; none if others are too.
func (s schema) values() []string {
	list, _ := s.node["enum"].([]any)
	if v, ok := s.node["const"]; ok {
		list = []any{v}
	}
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
