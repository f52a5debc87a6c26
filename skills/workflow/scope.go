package workflow

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// A scope is what {{…}} can name at one moment.
type scope struct {
	*state
	w      *Workflow
	inside string // as that of a node: where steps are looked for first
	host   Host
}

// roots are what a path can begin with.
var roots = []string{"params", "answer", "result", "steps", "all", "visits", "store", "host", "tools"}

// find returns the value of a path such as params.repo or steps.list.items.0.
// The names of steps and tools may hold dots and slashes.
func (st scope) find(path string) (any, bool) {
	root, rest, _ := strings.Cut(path, ".")
	var v any
	switch root {
	case "params":
		v = st.params
	case "answer":
		v = st.answer
	case "result":
		v = st.result
	case "store":
		v = st.stores
	case "host":
		return HostNamed(st.host.Name), rest == ""
	case "tools":
		return true, rest != "" && st.host.has(rest)
	case "steps", "all", "visits":
		return st.ofStep(root, rest)
	default:
		return nil, false
	}
	return inside(v, rest)
}

// ofStep returns what the step that a path begins with has given: the last
// time, or all times, or how often it was come to.
func (st scope) ofStep(root, path string) (any, bool) {
	a := st.w.areas[st.area]
	n, rest := st.w.stepIn(a, st.inside, path)
	if n == nil {
		return nil, false
	}
	switch root {
	case "visits":
		times, ok := st.visits[a.prefix+n.local]
		return json.Number(strconv.Itoa(times)), ok && rest == ""
	case "all":
		list, ok := st.all[n.local]
		if !ok {
			return nil, false
		}
		return inside(list, rest)
	}
	return inside(st.steps[n.local], rest)
}

// stepIn finds the step of an area that a path begins with, the one with the
// longest name, and the rest of the path. In a part its own steps are found
// before those around it.
func (w *Workflow) stepIn(a *area, inside, path string) (n *node, rest string) {
	for {
		for name := path; name != ""; name = name[:max(0, strings.LastIndex(name, "."))] {
			if n := w.steps[a.prefix+inside+name]; n != nil && n.area == a && n.ends == "" {
				return n, strings.TrimPrefix(strings.TrimPrefix(path, name), ".")
			}
		}
		if inside == "" {
			return nil, ""
		}
		inside = inside[:strings.LastIndex(strings.TrimSuffix(inside, "/"), "/")+1]
	}
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

var variable = regexp.MustCompile(`\{\{\s*([^{}\s]+)\s*\}\}`)

// written is a value as a text: a text stands for itself, other values are JSON,
// and what is not there is empty.
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
func (st scope) holds(c *Condition) bool {
	if c == nil {
		return true
	}
	v, there := st.find(c.Path)
	var met bool
	switch {
	case c.Exists != nil:
		met = there == *c.Exists
	case c.Equals != nil:
		met = there && equal(v, c.Equals)
	case c.In != nil:
		for _, e := range c.In {
			met = met || there && equal(v, e)
		}
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
	if aok && bok && a != b { // 1 and 1.0 are one number
		x, xerr := a.Float64()
		y, yerr := b.Float64()
		return xerr == nil && yerr == nil && x == y
	}
	return reflect.DeepEqual(v, want)
}
