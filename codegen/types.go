package codegen

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A printer writes the TypeScript type of one JSON Schema on one line. What it
// cannot say is "unknown": a wrong schema makes a vague type, never an error.
type printer struct {
	root *object
	// enumMax is how many literals of a union are shown; the rest is elided.
	enumMax int
	// comments adds the first sentence of each property's description.
	comments bool
	// refs are the references being expanded, which ends recursion.
	refs []string
	// nodes counts the schemas visited, which ends expansion bombs.
	nodes int
}

const (
	maxNodes = 2000
	maxDepth = 12
)

// typeOf returns the type of schema v at the given depth.
func (p *printer) typeOf(v value, depth int) string {
	p.nodes++
	s, ok := v.(*object)
	if !ok || depth > maxDepth || p.nodes > maxNodes {
		if b, isBool := v.(bool); isBool && !b {
			return "never"
		}
		return "unknown"
	}
	if ref := s.text("$ref"); ref != "" {
		return p.reference(ref, depth)
	}
	t := p.own(s, depth)
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); len(branches) > 0 {
			t = intersect(t, p.union(branches, depth))
		}
	}
	for _, branch := range s.list("allOf") {
		t = intersect(t, p.typeOf(branch, depth+1))
	}
	if s.get("nullable") == true {
		t = unite([]string{t, "null"})
	}
	return t
}

// reference expands a reference within the document. Recursive, dangling and
// remote ones are unknown.
func (p *printer) reference(ref string, depth int) string {
	if slices.Contains(p.refs, ref) || !strings.HasPrefix(ref, "#") {
		return "unknown"
	}
	var at value = p.root
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~", "%20", " ").Replace(part)
		o, ok := at.(*object)
		if !ok || !o.has(part) {
			return "unknown"
		}
		at = o.get(part)
	}
	p.refs = append(p.refs, ref)
	defer func() { p.refs = p.refs[:len(p.refs)-1] }()
	return p.typeOf(at, depth+1)
}

// own is the type that a schema says by itself, without its combinators;
// empty when it says nothing.
func (p *printer) own(s *object, depth int) string {
	if s.has("const") {
		return literal(s.get("const"))
	}
	if values := s.list("enum"); len(values) > 0 {
		return p.enum(values)
	}
	var kinds []string
	switch t := s.get("type").(type) {
	case string:
		kinds = []string{t}
	case []value:
		for _, k := range t {
			if k, ok := k.(string); ok {
				kinds = append(kinds, k)
			}
		}
	default:
		switch {
		case s.has("properties") || s.has("additionalProperties"):
			kinds = []string{"object"}
		case s.has("items") || s.has("prefixItems"):
			kinds = []string{"array"}
		default:
			return ""
		}
	}
	types := make([]string, 0, len(kinds))
	for _, k := range kinds {
		types = append(types, p.kind(k, s, depth))
	}
	return unite(types)
}

func (p *printer) kind(kind string, s *object, depth int) string {
	switch kind {
	case "string", "boolean", "null":
		return kind
	case "number", "integer":
		return "number"
	case "array":
		return p.array(s, depth)
	case "object":
		return p.object(s, depth)
	}
	return "unknown"
}

func (p *printer) array(s *object, depth int) string {
	tuple := s.list("prefixItems")
	if tuple == nil {
		tuple = s.list("items")
	}
	if tuple != nil {
		parts := make([]string, len(tuple))
		for i, item := range tuple {
			parts[i] = p.typeOf(item, depth+1)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if !s.has("items") {
		return "unknown[]"
	}
	return parens(orUnknown(p.typeOf(s.get("items"), depth+1))) + "[]"
}

func (p *printer) object(s *object, depth int) string {
	props := s.object("properties")
	var fields []string
	required := s.list("required")
	if props != nil {
		for _, name := range props.keys {
			opt := "?"
			if slices.Contains(required, value(name)) {
				opt = ""
			}
			field := key(name) + opt + ": " + orUnknown(p.typeOf(props.get(name), depth+1))
			if p.comments {
				field += p.comment(props.object(name))
			}
			fields = append(fields, field)
		}
	}
	extra := s.get("additionalProperties")
	if len(fields) == 0 {
		switch e := extra.(type) {
		case *object:
			return "Record<string, " + orUnknown(p.typeOf(e, depth+1)) + ">"
		case bool:
			if !e {
				return "{}"
			}
		}
		return "Record<string, unknown>"
	}
	if o, ok := extra.(*object); ok && len(o.keys) > 0 || extra == true {
		fields = append(fields, "[key: string]: unknown")
	}
	return "{ " + strings.Join(fields, "; ") + " }"
}

// comment is the short note behind a property: its description's first
// sentence and its default.
func (p *printer) comment(s *object) string {
	if s == nil {
		return ""
	}
	text := FirstSentence(s.text("description"), 80)
	if d := s.get("default"); d != nil {
		if text != "" {
			text += "; "
		}
		text += "default " + literal(d)
	}
	if text == "" {
		return ""
	}
	return " /* " + strings.ReplaceAll(text, "*/", "* /") + " */"
}

func (p *printer) enum(values []value) string {
	shown := values
	if p.enumMax > 0 && len(values) > p.enumMax {
		shown = values[:p.enumMax]
	}
	types := make([]string, 0, len(shown))
	for _, v := range shown {
		types = append(types, literal(v))
	}
	t := unite(types)
	if left := len(values) - len(shown); left > 0 {
		t += " | …"
	}
	return t
}

func (p *printer) union(branches []value, depth int) string {
	var types []string
	for _, b := range branches {
		t := p.typeOf(b, depth+1)
		if t == "" {
			// A branch of only "required" or the like restricts nothing that
			// a type can say.
			continue
		}
		types = append(types, t)
	}
	return unite(types)
}

// unite joins types with "|", each once; unknown swallows the others.
func unite(types []string) string {
	var kept []string
	for _, t := range types {
		if t == "unknown" {
			return "unknown"
		}
		if t != "" && !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, " | ")
}

func intersect(a, b string) string {
	switch {
	case a == "" || a == "unknown" || a == "Record<string, unknown>" && strings.HasPrefix(b, "{"):
		return b
	case b == "" || b == "unknown" || a == b:
		return a
	}
	return parens(a) + " & " + parens(b)
}

// parens wraps a type whose parts would be torn apart by what follows it.
func parens(t string) string {
	depth, quoted := 0, false
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[' || c == '(' || c == '<':
			depth++
		case c == '}' || c == ']' || c == ')' || c == '>':
			depth--
		case (c == '|' || c == '&') && depth == 0:
			return "(" + t + ")"
		}
	}
	return t
}

func orUnknown(t string) string {
	if t == "" {
		return "unknown"
	}
	return t
}

// key is a property name as TypeScript writes it.
func key(name string) string {
	if tsname.IsIdentifier(name) {
		return name
	}
	return quote(name)
}

// literal is a JSON value as a TypeScript literal type.
func literal(v value) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case nil:
		return "null"
	}
	return "unknown"
}

// quote is s as a string literal on one line, safe inside a comment too.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
