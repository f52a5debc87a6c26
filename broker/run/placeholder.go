package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/state"
)

// A plan maps the numbers of calls to their placeholders, and to their results once
// known.
type plan struct {
	marks   map[int][]mark
	results map[int]json.RawMessage
}

// A mark is a string or number in the placeholder of a call that represents the value
// at that path of its result.
type mark struct {
	text string
	path []string
}

const (
	// firstNumber is the first number that is a mark, and marksPerCall bounds the marks of a call.
	firstNumber, marksPerCall = 900_000_000, 1000
	// addressStart is the prefix of addresses that are marks.
	addressStart  = "https://plan.invalid/"
	maxStandDepth = 8
	// maxSketch bounds the values of a placeholder: a schema may refer to itself in each of its
	// properties.
	maxSketch = 5000
)

// dependsOn returns the last call of the plan with a placeholder in args, or 0.
func (p *plan) dependsOn(args json.RawMessage) (last int) {
	for n, marks := range p.marks {
		if n > last && slices.ContainsFunc(marks, func(s mark) bool { return bytes.Contains(args, []byte(s.text)) }) {
			last = n
		}
	}
	return last
}

// fill returns the arguments of a call of the plan with placeholders replaced by results.
func (p *plan) fill(c state.RunCall) json.RawMessage {
	if c.DependsOn == 0 {
		return c.Args
	}
	v := decode(c.Args)
	for n, value := range p.results {
		result := decode(value)
		for _, s := range p.marks[n] {
			if is, ok := at(result, s.path); ok {
				v = replace(v, s.text, is)
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return c.Args
	}
	return b
}

func decode(text json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // invalid JSON decodes as nil
	return v
}

func at(v any, path []string) (any, bool) {
	for _, key := range path {
		switch o := v.(type) {
		case map[string]any:
			if _, ok := o[key]; !ok {
				return nil, false
			}
			v = o[key]
		case []any: // a placeholder has one element
			if len(o) == 0 {
				return nil, false
			}
			v = o[0]
		default:
			return nil, false
		}
	}
	return v, true
}

// replace replaces a text, or a number with that text, with is.
func replace(v any, text string, is any) any {
	switch v := v.(type) {
	case string:
		if v == text {
			return is
		}
		switch is := is.(type) {
		case string:
			return strings.ReplaceAll(v, text, is)
		case json.Number:
			return strings.ReplaceAll(v, text, is.String())
		}
	case json.Number:
		if v.String() == text {
			return is
		}
	case []any:
		for i := range v {
			v[i] = replace(v[i], text, is)
		}
	case map[string]any:
		for k := range v {
			v[k] = replace(v[k], text, is)
		}
	}
	return v
}

// marksOf returns the marks in the placeholder of call n. Values from a schema, such as
// constants, are not marks.
func marksOf(placeholder json.RawMessage, n int) (list []mark) {
	own := func(text, begin string) bool {
		rest, ok := strings.CutPrefix(text, begin+strconv.Itoa(n))
		return ok && (rest == "" || rest == "»" || rest[0] == '.')
	}
	first := int64(firstNumber + n*marksPerCall)
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		switch v := v.(type) {
		case string:
			if own(v, "«") || own(v, addressStart) {
				list = append(list, mark{v, path})
			}
		case json.Number:
			if is, err := v.Int64(); err == nil && is >= first && is < first+marksPerCall {
				list = append(list, mark{v.String(), path})
			}
		case []any:
			for _, e := range v {
				walk(e, append(slices.Clip(path), "0"))
			}
		case map[string]any:
			for k, e := range v {
				walk(e, append(slices.Clip(path), k))
			}
		}
	}
	walk(decode(placeholder), nil)
	return list
}

// placeholder returns a value of the type of a tool's result, which represents the
// result of call n. It is a string if the type is unknown.
func placeholder(raw json.RawMessage, wrapped bool, n int) json.RawMessage {
	s := &sketch{doc: schema.Read(raw), call: n}
	root := s.doc.Root
	if wrapped {
		root, _ = s.doc.Find("#/properties/result")
	}
	b, _ := json.Marshal(s.value(root, "", 0)) // plain values cannot fail
	return b
}

// A sketch makes a value of a JSON Schema.
type sketch struct {
	doc  schema.Document
	call int
	made int // the number of texts and numbers made
	all  int // the number of values visited, also those left out
}

func (s *sketch) value(v any, path string, depth int) any {
	if s.all++; s.all > maxSketch {
		return nil
	}
	o, _ := v.(*schema.Object)
	if ref := o.Text("$ref"); ref != "" && depth < maxStandDepth {
		target, _ := s.doc.Find(ref)
		return s.value(target, path, depth+1)
	}
	if list, _ := o.Values(); len(list) > 0 {
		return list[0]
	}
	for _, of := range o.Branches("anyOf", "oneOf", "allOf") {
		if m, ok := of.(*schema.Object); ok && m.Text("type") != "null" && depth < maxStandDepth {
			return s.value(of, path, depth+1)
		}
	}
	if depth == maxStandDepth || s.made == marksPerCall {
		return nil
	}
	switch typeOf(o) {
	case "object":
		v, members := map[string]any{}, o.Properties()
		if members != nil {
			for _, name := range slices.Sorted(slices.Values(members.Keys)) {
				v[name] = s.value(members.Get(name), path+"."+name, depth+1)
			}
		}
		return v
	case "array":
		return []any{s.value(o.Get("items"), path+".0", depth+1)}
	case "integer", "number":
		s.made++
		return firstNumber + s.call*marksPerCall + s.made - 1
	case "boolean":
		return true
	case "null":
		return nil
	}
	s.made++
	name := fmt.Sprintf("%d%s", s.call, gate.Line(path))
	switch o.Text("format") {
	case "date-time":
		return "2000-01-01T00:00:00Z" // scripts compute with it, but nothing depends on it
	case "uri", "url":
		return addressStart + name
	}
	return "«" + name + "»"
}

// typeOf returns the first type of a schema that is not null, or "" if it declares none.
func typeOf(o *schema.Object) string {
	types := o.Types()
	for _, name := range types {
		if name != "null" || len(types) == 1 {
			return name
		}
	}
	if o.Has("properties") {
		return "object"
	}
	return ""
}
