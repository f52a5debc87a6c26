package codegen

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

const (
	// maxDepth bounds the nesting of a type, not counting references.
	maxDepth = 40
	// maxNodes bounds the visited schemas of one document.
	maxNodes = 50_000
	// maxNamed bounds the targets of references that get a name.
	maxNamed = 1_000
)

// A builder builds types from the schemas of one JSON document. Unsupported parts become unknown:
// a wrong schema makes a vague type, never an error.
type builder struct {
	root     *object
	rootName string      // the name of references to the whole document
	names    *tsname.Set // of types, shared by the documents of one file
	docs     bool        // read descriptions too
	declared bool        // for a declared result, as the server sends it
	named    []*named    // in the order of their first reference
	byTarget map[*object]*named
	aliases  map[*object]*typ // of schemas that are only a reference
	nodes    int
}

func newBuilder(root *object, rootName string, names *tsname.Set) *builder {
	return &builder{root: root, rootName: rootName, names: names, byTarget: make(map[*object]*named), aliases: make(map[*object]*typ)}
}

// build returns the type of schema v, and appends to b.named the types that it refers to.
func (b *builder) build(v value) *typ {
	t := b.schemaType(v, 0)
	for i := 0; i < len(b.named); i++ {
		n := b.named[i]
		n.typ = b.schemaType(n.schema, 0)
	}
	if t = b.cutLoops(t); b.declared {
		t = b.withReferences(t)
	}
	return t
}

// schemaType returns the type of schema v at the given depth.
func (b *builder) schemaType(v value, depth int) *typ {
	s, ok := v.(*object)
	if !ok {
		if v == false {
			return never
		}
		return unknown
	}
	if b.nodes++; depth > maxDepth || b.nodes > maxNodes || b.embedded(s) {
		return unknown
	}
	own := b.ownType(s, depth)
	t := own
	if ref := s.Text("$ref"); ref != "" {
		t = intersect(t, b.reference(ref))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.List(key); len(branches) > 0 && !slices.ContainsFunc(branches, restricting) {
			continue // it only says which keys belong together, which the comment says
		} else if len(branches) > 0 {
			t = intersect(t, b.union(branches, depth))
		}
	}
	for _, branch := range s.List("allOf") {
		t = intersect(t, b.schemaType(branch, depth+1))
	}
	if t == never && own != never {
		return unknown // its parts contradict each other: better vague than useless
	}
	if s.Get("nullable") == true && !s.Has("enum") && !s.Has("const") && t != unknown {
		t = unite(t, null)
	}
	return t
}

// restricting reports whether a branch of anyOf or oneOf says more than which keys are required.
func restricting(branch value) bool {
	s, ok := branch.(*object)
	if !ok {
		return true
	}
	for _, k := range s.Keys {
		if k != "required" && k != "not" && k != "description" && k != "title" {
			return true
		}
	}
	return false
}

func (b *builder) union(branches []value, depth int) *typ {
	types := make([]*typ, len(branches))
	for i, branch := range branches {
		if restricting(branch) {
			types[i] = b.schemaType(branch, depth+1)
		} else {
			types[i] = unknown
		}
	}
	return unite(types...)
}

// ownType returns the type of a schema without its references and combinators, or unknown.
func (b *builder) ownType(s *object, depth int) *typ {
	kinds, stated := statedKinds(s)
	if values, ok := s.Values(); ok && (len(values) > 0 || s.Has("const")) {
		return literals(values, kinds, stated)
	}
	if !stated {
		switch {
		case s.Has("properties") || s.Has("patternProperties") || s.Has("required") || hasExtra(s):
			return b.object(s, depth)
		case s.Has("items") || s.Has("prefixItems"):
			return b.array(s, depth)
		}
		return unknown
	}
	types := make([]*typ, 0, len(kinds))
	for _, k := range kinds {
		types = append(types, b.kind(k, s, depth))
	}
	return unite(types...)
}

// hasExtra reports whether additionalProperties is restricted.
func hasExtra(s *object) bool {
	extra := s.Get("additionalProperties")
	o, ok := extra.(*object)
	return ok && o.Size() > 0 || extra == false
}

// statedKinds returns the names in the schema's type. It ignores names that JSON Schema does not
// define.
func statedKinds(s *object) (kinds []string, stated bool) {
	kinds = s.Types()
	for _, k := range kinds {
		switch k {
		case "string", "boolean", "null", "number", "integer", "array", "object":
		default:
			return nil, false
		}
	}
	if s.Get("nullable") == true && len(kinds) > 0 && s.Has("enum") {
		kinds = append(kinds, "null")
	}
	return kinds, len(kinds) > 0
}

// literals returns the union of the values of the stated kinds. If there are none, the schema
// contradicts itself, and it returns the kinds.
func literals(values []value, kinds []string, stated bool) *typ {
	types := make([]*typ, 0, len(values))
	for _, v := range values {
		if !stated || slices.ContainsFunc(kinds, func(k string) bool { return isKind(v, k) }) {
			types = append(types, literalOf(v))
		}
	}
	if len(types) > 0 {
		return unite(types...)
	}
	for _, k := range kinds {
		types = append(types, simple(k))
	}
	return unite(types...)
}

func isKind(v value, kind string) bool {
	is := schema.KindOf(v)
	return is == kind || is == "number" && kind == "integer"
}

// simple returns the widest type of a kind.
func simple(kind string) *typ {
	switch kind {
	case "string":
		return text
	case "boolean":
		return boolean
	case "null":
		return null
	case "number", "integer":
		return numeric
	case "array":
		return anyArray
	case "object":
		return anyObject
	}
	return unknown
}

func (b *builder) kind(kind string, s *object, depth int) *typ {
	switch kind {
	case "array":
		return b.array(s, depth)
	case "object":
		return b.object(s, depth)
	}
	return simple(kind)
}

func (b *builder) array(s *object, depth int) *typ {
	first, rest, hasRest := s.Items()
	elem := unknown
	if hasRest {
		elem = b.schemaType(rest, depth+1)
	}
	if first == nil {
		return &typ{kind: kindArray, elem: elem}
	}
	t := &typ{kind: kindTuple, items: make([]*typ, len(first)), elem: elem}
	for i, item := range first {
		t.items[i] = b.schemaType(item, depth+1)
	}
	t.min = min(integer(s.Get("minItems"), 0), len(first))
	if elem == never || integer(s.Get("maxItems"), len(first)+1) <= len(first) {
		t.elem = nil
	}
	return t
}

// integer returns a small integer of a schema, or otherwise.
func integer(v value, otherwise int) int {
	n, ok := v.(number)
	if !ok || len(n) > 9 {
		return otherwise
	}
	i := 0
	for _, c := range n {
		if c < '0' || c > '9' {
			return otherwise
		}
		i = 10*i + int(c-'0')
	}
	return i
}

func (b *builder) object(s *object, depth int) *typ {
	props := s.Object("properties")
	required := requiredNames(s)
	t := &typ{kind: kindObject, fields: make([]field, 0, props.Size())}
	for i := range props.Size() {
		f := field{name: props.Keys[i], typ: b.schemaType(props.Vals[i], depth+1)}
		if f.optional = !required[f.name]; !f.optional {
			delete(required, f.name)
		}
		if b.docs {
			f.doc = docOf(props.Vals[i])
		}
		t.fields = append(t.fields, f)
	}
	extra, open := b.extra(s, depth, len(t.fields) == 0 && len(required) == 0)
	for _, name := range requiredOrder(s, required) {
		of := unknown
		if open {
			of = extra
		}
		t.fields = append(t.fields, field{name: name, typ: of})
	}
	t.rest, t.restOptional = b.rest(s, t.fields, extra, open, depth)
	t.closed = s.Get("additionalProperties") == false
	return t
}

// extra returns the type of undeclared keys, and whether they are allowed. If the schema does not
// say, they are forbidden if any key is declared: an undeclared key is nearly always misspelt.
func (b *builder) extra(s *object, depth int, nothingDeclared bool) (*typ, bool) {
	switch e := s.Get("additionalProperties").(type) {
	case bool:
		return unknown, e
	case *object:
		return b.schemaType(e, depth+1), true
	}
	return unknown, nothingDeclared || s.Object("patternProperties").Size() > 0
}

// requiredNames returns the names of required keys.
func requiredNames(s *object) map[string]bool {
	names := make(map[string]bool)
	for _, name := range s.Required() {
		names[name] = true
	}
	return names
}

// requiredOrder returns the names in left, in the order of the schema.
func requiredOrder(s *object, left map[string]bool) []string {
	var names []string
	for _, name := range s.Required() {
		if left[name] {
			delete(left, name)
			names = append(names, name)
		}
	}
	return names
}

// rest returns the type of the undeclared keys of an object, which unites all patterns, or nil if
// there are none. TypeScript requires declared keys to have that type as well, so it includes
// their types, and undefined if one of them is optional.
func (b *builder) rest(s *object, fields []field, extra *typ, open bool, depth int) (rest *typ, optional bool) {
	var types []*typ
	if open {
		types = append(types, extra)
	}
	patterns := s.Object("patternProperties")
	for i := range patterns.Size() {
		types = append(types, b.schemaType(patterns.Vals[i], depth+1))
	}
	if len(types) == 0 {
		return nil, false
	}
	for _, f := range fields {
		types = append(types, f.typ)
		optional = optional || f.optional
	}
	return unite(types...), optional
}
