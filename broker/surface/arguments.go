package surface

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// Arguments are a tool's arguments, read leniently: models send numbers as
// strings, and nest or stringify the whole object.
type Arguments map[string]json.RawMessage

// ArgumentKeys are the names under which models send what a tool takes.
var ArgumentKeys = []string{"arguments", "args", "input", "parameters", "params"}

// ParseArguments reads raw. When it holds none of the names but is one object
// or string around another object, that one is taken.
func ParseArguments(raw json.RawMessage, names ...string) (Arguments, error) {
	var a Arguments
	if len(raw) == 0 || string(raw) == "null" {
		return Arguments{}, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("arguments are one object with %s", strings.Join(names, ", "))
	}
	if slices.ContainsFunc(names, a.Has) {
		return a, nil
	}
	for _, wrapper := range []string{"arguments", "args", "input", "parameters"} {
		if inner, ok := a[wrapper]; ok && len(a) == 1 {
			return ParseArguments(inner, names...)
		}
	}
	return a, nil
}

// Has reports whether there is a value under name.
func (a Arguments) Has(name string) bool { _, ok := a[name]; return ok }

// Given reports whether there is a value under name that is not null: models
// send null for what they leave out.
func (a Arguments) Given(name string) bool { return a.Has(name) && string(a[name]) != "null" }

// Known is an error if a has something, and none of the names.
func (a Arguments) Known(names ...string) error {
	if len(a) == 0 || slices.ContainsFunc(names, a.Has) {
		return nil
	}
	return fmt.Errorf("there is no argument %s: use %s",
		strings.Join(slices.Sorted(maps.Keys(a)), ", "), strings.Join(names, ", "))
}

// Text is a string argument; null is none, and any other JSON value is its
// text.
func (a Arguments) Text(name string) string {
	raw := a[name]
	if string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Number returns a number, which may be written as a string, or 0.
func (a Arguments) Number(name string) (float64, error) {
	text := strings.TrimSpace(a.Text(name))
	if text == "" || text == "null" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s is %s: use a number", name, gate.Compact(text))
	}
	return n, nil
}

// Int is Number for sizes and places: within what an int holds everywhere.
func (a Arguments) Int(name string) (int, error) {
	n, err := a.Number(name)
	return int(max(min(n, 1e9), -1)), err
}

// Only refuses an argument that none of names is.
func (a Arguments) Only(names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if slices.Contains(names, name) {
			continue
		}
		if near := nearest.Names(name, names, 1); len(near) > 0 {
			return fmt.Errorf("unknown option %q: did you mean %s?", name, near[0])
		}
		return fmt.Errorf("unknown option %q: use %s", name, strings.Join(names, ", "))
	}
	return nil
}
