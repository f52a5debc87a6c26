package schema

import (
	"cmp"
	"errors"
	"slices"
)

// ErrCostly reports that the check of a value would take too long, with schemas that branch
// repeatedly or nest ever deeper.
var ErrCostly = errors.New("too costly to check: the schema branches too often for a value of this size")

// maxCost bounds the cost of checking one value. The library takes about a second for a million.
const maxCost = 2_000_000

// pieceBytes is the number of bytes of a value, printed into an error, that cost as much as one
// schema.
const pieceBytes = 64

// maxDepth bounds the depth of the library's recursion, through schemas for the same value and
// through parts of it: each step takes some kilobytes of stack.
const maxDepth = 10_000

// The library writes an error for each schema of anyOf and oneOf that does not match,
// with nested errors and paths. freeDepth is the number of enclosing schemas from which
// that costs more than the check itself.
const freeDepth = 64

// A use is a schema that is applied to a value, with the number of applications and the highest
// number of enclosing schemas.
type use struct {
	*node
	times, depth int
}

// An estimate bounds the cost of checking a value: the applications of schemas, weighted by the
// size of the compared values and of error texts.
type estimate struct{ cost int }

// costly reports whether checking v would take too long. It visits each part of v once, with all
// schemas for it.
func (g *graph) costly(v any) bool {
	var e estimate
	e.walk(v, []use{{g.root, 1, 1}})
	return e.cost > maxCost
}

func (e *estimate) add(times, each int) {
	if e.cost <= maxCost { // stop counting here, to avoid an overflow
		e.cost += min(times, maxCost) * min(each, maxCost)
	}
}

// walk adds the cost of applying schemas to v, and returns the approximate length of v as JSON.
func (e *estimate) walk(v any, uses []use) (size int) {
	uses = expand(uses)
	switch v := v.(type) {
	case map[string]any:
		size = 2
		for key, part := range v {
			size += len(key) + 4 + e.walk(part, within(uses, func(n *node) nodes { return n.ofProperty(key) }))
			e.walk(key, within(uses, func(n *node) nodes { return n.names }))
		}
	case []any:
		size = 2
		for i, part := range v {
			size += 1 + e.walk(part, within(uses, func(n *node) nodes { return n.ofItem(i) }))
		}
	case string:
		size = len(v)
		for _, u := range uses {
			if u.schema.Pattern != "" {
				e.add(u.times, size)
			}
		}
	default:
		size = 8
	}
	for _, u := range uses {
		if u.depth > maxDepth {
			e.add(maxCost, 2)
		}
		each := 1 + (len(u.schema.Enum)+len(u.schema.Required))/8 + size/pieceBytes
		if deeper := u.depth - freeDepth; deeper > 0 && len(u.schema.AnyOf)+len(u.schema.OneOf) > 0 {
			each += deeper * (1 + len(u.path)/pieceBytes)
		}
		e.add(u.times, each)
	}
	return size
}

// expand adds the schemas that others lead to for the same value, each once.
func expand(uses []use) []use {
	byRank := func(a, b use) int { return cmp.Compare(a.rank, b.rank) }
	var all []use
	insert := func(u use) {
		i, there := slices.BinarySearchFunc(all, u, byRank)
		if there {
			all[i].times, all[i].depth = min(all[i].times+u.times, maxCost+1), max(all[i].depth, u.depth)
			return
		}
		all = slices.Insert(all, i, u)
	}
	for _, u := range uses {
		insert(u)
	}
	for i := 0; i < len(all); i++ { // inserted schemas have a greater rank
		for _, to := range all[i].same {
			insert(use{to, all[i].times, all[i].depth + 1})
		}
	}
	return all
}

// within returns the schemas for a part of a value.
func within(uses []use, of func(*node) nodes) (list []use) {
	for _, u := range uses {
		for _, to := range of(u.node) {
			list = append(list, use{to, u.times, u.depth + 1})
		}
	}
	return list
}

// ofProperty returns the schemas for a property. It assumes that patterns match.
func (n *node) ofProperty(name string) nodes {
	own, known := n.properties[name]
	if !known && len(n.patterns) == 0 {
		return n.others
	}
	var list nodes
	if known {
		list = append(list, own)
	}
	for _, to := range n.patterns {
		list = append(list, to)
	}
	return append(list, n.others...)
}

func (n *node) ofItem(i int) nodes {
	switch {
	case len(n.firstItems) == 0 && len(n.allItems) == 0:
		return n.rest
	case i < len(n.firstItems):
		return append(slices.Clip(n.allItems), n.firstItems[i])
	}
	return slices.Concat(n.allItems, n.rest)
}
