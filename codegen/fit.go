package codegen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// FitSchema returns a JSON Schema in at most limit bytes if shorter descriptions are
// enough for that: it cuts the longest to one length, then removes them, titles and
// examples. If the schema then still exceeds most bytes, FitSchema also removes
// enumeration values, deep levels and finally optional properties, and leaves a
// $comment for each. Invalid JSON becomes the schema of any object.
func FitSchema(schema json.RawMessage, limit, most int) json.RawMessage {
	v, err := decode(schema)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if len(schema) <= limit {
		return schema
	}
	text := withShortTexts(v, limit)
	for depth := 8; len(text) > most && depth > 0; depth-- {
		text = encode(pruned(v, depth, enumShown))
	}
	if len(text) > most {
		text = encode(narrowed(v, most))
	}
	return json.RawMessage(text)
}

// enumShown is the number of enumeration values that stay in a schema that is too
// large.
const enumShown = 20

// shortestText is the length below which a description is removed.
const shortestText = 24

// withShortTexts cuts the descriptions of schema v to the longest common length with
// which it takes at most limit bytes, or removes them.
func withShortTexts(v value, limit int) string {
	var texts []*value
	eachSchema(v, 0, func(s *object) {
		for i, k := range s.Keys {
			if _, ok := s.Vals[i].(string); ok && k == "description" {
				texts = append(texts, &s.Vals[i])
			}
		}
	})
	whole := make([]string, len(texts))
	longest := 0
	for i, t := range texts {
		whole[i] = (*t).(string)
		longest = max(longest, utf8.RuneCountInString(whole[i]))
	}
	at := func(length int) string {
		for i, t := range texts {
			*t = cutWords(whole[i], length)
		}
		return encode(v)
	}
	low, high, best := shortestText, longest, ""
	for low <= high {
		middle := (low + high) / 2
		if text := at(middle); len(text) <= limit {
			best, low = text, middle+1
		} else {
			high = middle - 1
		}
	}
	if best != "" {
		return best
	}
	eachSchema(v, 0, func(s *object) {
		remove(s, func(key string, v value) bool {
			_, text := v.(string)
			return text && (key == "description" || key == "title" || key == "$comment") || key == "examples"
		})
	})
	return encode(v)
}

// remove removes the members for which f returns true.
func remove(o *object, f func(key string, v value) bool) {
	var kept object
	for i, k := range o.Keys {
		if !f(k, o.Vals[i]) {
			kept.Set(k, o.Vals[i])
		}
	}
	*o = kept
}

// eachSchema calls f with schema v and its subschemas, outer ones first.
func eachSchema(v value, depth int, f func(*object)) {
	s, ok := v.(*object)
	if !ok || depth > maxNesting {
		return
	}
	f(s)
	for i, k := range s.Keys {
		switch in := s.Vals[i].(type) {
		case *object:
			if holdsSchemas[k] {
				for _, one := range in.Vals {
					eachSchema(one, depth+1, f)
				}
			} else if isSchema[k] {
				eachSchema(in, depth+1, f)
			}
		case []value:
			if isSchema[k] {
				for _, one := range in {
					eachSchema(one, depth+1, f)
				}
			}
		}
	}
}

// holdsSchemas are the keywords whose members are schemas, and isSchema those whose value is a
// schema or a list of schemas.
var (
	holdsSchemas = wordSet("properties patternProperties $defs definitions dependentSchemas")
	isSchema     = wordSet("items prefixItems additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames not if then else anyOf oneOf allOf")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// pruned returns a copy of schema v without levels below depth, and with at most the
// given number of enumeration values.
func pruned(v value, depth, values int) value {
	s, ok := v.(*object)
	if !ok {
		return v
	}
	out := &object{}
	for i, k := range s.Keys {
		switch in := s.Vals[i].(type) {
		case *object:
			switch {
			case depth == 0 && (holdsSchemas[k] || isSchema[k]):
				out.Set("$comment", "its parts are left out")
			case holdsSchemas[k]:
				all := &object{}
				for j, name := range in.Keys {
					all.Set(name, pruned(in.Vals[j], depth-1, values))
				}
				out.Set(k, all)
			case isSchema[k]:
				out.Set(k, pruned(in, depth-1, values))
			default:
				out.Set(k, in)
			}
		case []value:
			switch {
			case depth == 0 && isSchema[k]:
				out.Set("$comment", "its parts are left out")
			case isSchema[k]:
				all := make([]value, len(in))
				for j := range in {
					all[j] = pruned(in[j], depth-1, values)
				}
				out.Set(k, all)
			case k == "enum" && len(in) > values:
				out.Set(k, slices.Clone(in[:values]))
				out.Set("$comment", fmt.Sprintf("%d more values", len(in)-values))
			default:
				out.Set(k, in)
			}
		default:
			out.Set(k, in)
		}
	}
	return out
}

// narrowed returns the top level of schema v in at most most bytes: required properties
// first, then as many others as fit.
func narrowed(v value, most int) value {
	root, _ := v.(*object)
	out := &object{}
	out.Set("type", "object")
	if root == nil {
		return out
	}
	props, left := &object{}, 0
	all := root.Object("properties")
	required := map[string]bool{}
	for _, r := range root.List("required") {
		if name, ok := r.(string); ok {
			required[name] = true
		}
	}
	var listed []value
	room := most - 200
	add := func(want bool) {
		for i := range all.Size() {
			name := all.Keys[i]
			if required[name] != want {
				continue
			}
			one := pruned(all.Vals[i], 0, 4)
			if room -= len(encode(name))*2 + len(encode(one)) + 3; room < 0 {
				left++
				continue
			}
			props.Set(name, one)
			if want {
				listed = append(listed, name)
			}
		}
	}
	add(true)
	add(false)
	out.Set("properties", props)
	if len(listed) > 0 {
		out.Set("required", listed)
	}
	if left > 0 {
		out.Set("$comment", fmt.Sprintf("%d more properties", left))
	}
	return out
}
