package workflow

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// roots are what a path can begin with.
var roots = []string{"params", "answer", "result", "steps", "all", "visits", "store", "host", "tools"}

// find returns the value of a path such as params.repo or steps.list.items.0.
func (st *state) find(path string) (any, bool) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "params":
		return inside(st.params, rest)
	case "answer":
		return inside(st.answer, rest)
	case "result":
		return inside(st.result, rest)
	case "store":
		return inside(st.stores, rest)
	case "host":
		return HostNamed(st.host.Name), rest == ""
	case "tools":
		if st.host.has(rest) {
			return true, true
		}
		return nil, false
	}
	step, rest, _ := strings.Cut(rest, ".")
	switch root {
	case "steps":
		return inside(st.steps[step], rest)
	case "all":
		list, ok := st.all[step]
		if !ok {
			return nil, false
		}
		return inside(list, rest)
	case "visits":
		times, ok := st.visits[(&area{name: st.area}).prefix()+step]
		return json.Number(strconv.Itoa(times)), ok && rest == ""
	}
	return nil, false
}

// inside follows a path into a value.
func inside(v any, path string) (any, bool) {
	if path == "" {
		return v, v != nil
	}
	for key := range strings.SplitSeq(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[key]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

var variable = lazyregexp.New(`\{\{\s*([^{}\s]+)\s*\}\}`)

// variables are the paths in a template.
func variables(template string) (paths []string) {
	for _, m := range variable.FindAllStringSubmatch(template, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

// written is a value as a text: a string as it is, other values as JSON, and
// nothing for one that does not exist.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(encode(v))
}

// holds reports whether a condition is met.
func (st *state) holds(c *Condition) bool {
	if c == nil {
		return true
	}
	v, exists := st.find(c.Path)
	var met bool
	switch {
	case c.Exists != nil:
		met = exists == *c.Exists
	case c.Equals != nil:
		met = exists && equal(v, c.Equals)
	case c.In != nil:
		met = exists && slices.ContainsFunc(c.In, func(e json.RawMessage) bool { return equal(v, e) })
	default:
		n, ok := v.(json.Number)
		f, err := n.Float64()
		met = ok && err == nil && (c.Above != nil && f > *c.Above || c.Below != nil && f < *c.Below)
	}
	return met != c.Not
}

func equal(v any, raw json.RawMessage) bool {
	want, err := decode(raw)
	if err != nil {
		return false
	}
	a, aok := v.(json.Number)
	b, bok := want.(json.Number)
	if aok && bok && a != b { // 1 and 1.0 are the same number
		x, xerr := a.Float64()
		y, yerr := b.Float64()
		return xerr == nil && yerr == nil && x == y
	}
	return reflect.DeepEqual(v, want)
}
