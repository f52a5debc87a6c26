package schema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The library follows every reference: a schema that refers back to itself for the same value
// overflows the stack, which crashes a Go program, and one that branches at each of thirty
// references takes an hour. A graph detects the former when it is created, and the latter for each
// value before the library sees it.

// maxNodes bounds the schemas within a schema.
const maxNodes = 100_000

// A node is a schema within a schema.
type node struct {
	schema *jsonschema.Schema
	path   string // JSON pointer
	same   nodes  // schemas for the same value
	rank   int    // less than the ranks of same
	state  visit

	// Schemas for parts of a value: properties by name and by pattern, other properties, property
	// names, the first items, the items after those, and all items.
	properties, patterns                      map[string]*node
	others, names, firstItems, rest, allItems nodes
}

type nodes []*node

// String returns the schema's path for an error.
func (n *node) String() string {
	return strconv.Quote("#" + n.path)
}

type visit uint8

const (
	unseen visit = iota
	entered
	left
)

// A graph contains the schemas within a schema and their relations. It is immutable.
type graph struct {
	root  *node
	nodes map[string]*node // by JSON pointer, and anchors by "#name"
	apart nodes            // schemas with an $id of their own
}

// newGraph builds the graph of a schema that the library could resolve. It rejects infinite
// recursion, and references that are not supported.
func newGraph(s *jsonschema.Schema) (*graph, error) {
	g := &graph{nodes: map[string]*node{}}
	var err error
	if g.root, err = g.add(s, ""); err != nil {
		return nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(g.nodes)) {
		if err := g.link(g.nodes[at]); err != nil {
			return nil, err
		}
	}
	var order nodes
	for _, n := range g.reachable() {
		if order, err = n.sorted(order); err != nil {
			return nil, err
		}
	}
	for i, n := range order {
		n.rank = len(order) - i
	}
	return g, nil
}

// add adds a schema and the schemas within it.
func (g *graph) add(s *jsonschema.Schema, path string) (*node, error) {
	n := &node{schema: s, path: path}
	if len(g.nodes) >= maxNodes {
		return nil, fmt.Errorf("more than %d schemas", maxNodes)
	}
	g.nodes[path] = n
	if err := g.identify(n); err != nil {
		return nil, err
	}
	for _, t := range append(slices.Clone(s.Types), s.Type) {
		if t != "" && !slices.Contains(types, t) {
			return nil, fmt.Errorf("%s: unknown type %q: types are %s", n, t, strings.Join(types, ", "))
		}
	}
	var failed error
	one := func(key string, sub *jsonschema.Schema) nodes {
		if sub == nil || failed != nil {
			return nil
		}
		var made *node
		if made, failed = g.add(sub, path+"/"+key); failed != nil {
			return nil
		}
		return nodes{made}
	}
	list := func(key string, subs []*jsonschema.Schema) (made nodes) {
		for i, sub := range subs {
			made = append(made, one(key+"/"+strconv.Itoa(i), sub)...)
		}
		return made
	}
	table := func(key string, subs map[string]*jsonschema.Schema) map[string]*node {
		made := make(map[string]*node, len(subs))
		for _, name := range slices.Sorted(maps.Keys(subs)) {
			for _, n := range one(key+"/"+escape.Replace(name), subs[name]) {
				made[name] = n
			}
		}
		return made
	}

	n.same = slices.Concat(one("not", s.Not), one("if", s.If), one("then", s.Then), one("else", s.Else),
		list("allOf", s.AllOf), list("anyOf", s.AnyOf), list("oneOf", s.OneOf),
		inOrder(table("dependentSchemas", s.DependentSchemas)), inOrder(table("dependencies", s.DependencySchemas)))
	n.properties, n.patterns = table("properties", s.Properties), table("patternProperties", s.PatternProperties)
	n.others = slices.Concat(one("additionalProperties", s.AdditionalProperties), one("unevaluatedProperties", s.UnevaluatedProperties))
	n.names = one("propertyNames", s.PropertyNames)
	n.firstItems = slices.Concat(list("prefixItems", s.PrefixItems), list("items", s.ItemsArray))
	n.rest = slices.Concat(one("items", s.Items), one("additionalItems", s.AdditionalItems))
	n.allItems = slices.Concat(one("contains", s.Contains), one("unevaluatedItems", s.UnevaluatedItems))
	table("$defs", s.Defs)
	table("definitions", s.Definitions)
	one("contentSchema", s.ContentSchema)
	return n, failed
}

func inOrder(table map[string]*node) (list nodes) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, table[name])
	}
	return list
}

// types are the names of types (JSON Schema Validation 2020-12, 6.1.1).
var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// escape escapes a name as a segment of a JSON pointer (RFC 6901, 3).
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// identify records the anchors of a node, and whether it has an $id of its own.
func (g *graph) identify(n *node) error {
	s := n.schema
	anchor, isAnchor := strings.CutPrefix(s.ID, "#") // as in draft-07
	switch {
	case s.DynamicRef != "":
		return fmt.Errorf("%s: $dynamicRef is not supported: use $ref", n)
	case isAnchor:
		g.nodes["#"+anchor] = n
	case s.ID != "" && n.path != "":
		g.apart = append(g.apart, n)
	}
	for _, anchor := range []string{s.Anchor, s.DynamicAnchor} {
		if anchor != "" {
			g.nodes["#"+anchor] = n
		}
	}
	return nil
}

// link resolves the reference of a node.
func (g *graph) link(n *node) error {
	if n.schema.Ref == "" {
		return nil
	}
	// Within a schema with an $id of its own, a reference has another base.
	if slices.ContainsFunc(g.apart, func(a *node) bool { return n == a || strings.HasPrefix(n.path, a.path+"/") }) {
		return fmt.Errorf("%s: a $ref below an $id of its own is not supported: leave that out, and refer to \"#/…\"", n)
	}
	base, err := url.Parse(g.root.schema.ID)
	if err != nil {
		return fmt.Errorf("invalid $id %q: %w", g.root.schema.ID, err)
	}
	ref, err := base.Parse(n.schema.Ref)
	if err != nil {
		return fmt.Errorf("%s: invalid $ref %q: %w", n, n.schema.Ref, err)
	}
	fragment := ref.Fragment
	ref.Fragment, base.Fragment = "", ""
	if ref.String() != base.String() {
		return fmt.Errorf("%s: $ref %q is outside the schema: other documents are not fetched", n, n.schema.Ref)
	}
	if fragment != "" && fragment[0] != '/' {
		fragment = "#" + fragment
	}
	target := g.nodes[fragment]
	if target == nil {
		return fmt.Errorf("%s: $ref %q does not point to a schema", n, n.schema.Ref)
	}
	n.same = append(n.same, target)
	return nil
}

// reachable returns the nodes that apply to a value or its parts.
func (g *graph) reachable() nodes {
	found, seen := nodes{g.root}, map[*node]bool{g.root: true}
	for i := 0; i < len(found); i++ {
		n := found[i]
		for _, to := range slices.Concat(n.same, inOrder(n.properties), inOrder(n.patterns), n.others, n.names, n.firstItems, n.rest, n.allItems) {
			if !seen[to] {
				seen[to] = true
				found = append(found, to)
			}
		}
	}
	return found
}

// sorted appends a node after the nodes that it leads to for the same value. It fails for a node
// that leads back to itself.
func (n *node) sorted(order nodes) (_ nodes, err error) {
	switch n.state {
	case left:
		return order, nil
	case entered:
		return nil, fmt.Errorf("%s refers back to itself for the same value, without end", n)
	}
	n.state = entered
	for _, to := range n.same {
		if order, err = to.sorted(order); err != nil {
			return nil, err
		}
	}
	n.state = left
	return append(order, n), nil
}
